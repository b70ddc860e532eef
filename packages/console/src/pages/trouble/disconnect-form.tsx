import type { DisconnectType } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { nounText } from "../../components/counts.ts"
import { useToast } from "../../components/overlays/toast.tsx"
import { SelectField } from "../../components/field.tsx"
import { FaultForm } from "./fault-form.tsx"

type Message = DisconnectType | "none"

const messages: readonly (readonly [Message, string])[] = [
  ...(
    [
      "OperationalDisconnect",
      "UpstreamOperationalDisconnect",
      "ForceDisconnect",
      "UpstreamUncleanDisconnect",
      "SlowReader",
      "InternalError",
      "ClientApplicationStateDegraded",
      "InvalidRules",
    ] as const
  ).map((type) => [type, type] as const),
  ["none", "None: the connection is closed"],
]

/** Ends the app's stream connections, each with one of X's disconnect messages. */
export function DisconnectForm(): ReactNode {
  const [type, setType] = useState<Message>("OperationalDisconnect")
  const disconnect = useApiChange("POST", "troubleDisconnect", { invalidates: [] })
  const toast = useToast()
  return (
    <FaultForm
      title="Disconnect streams"
      hint="Ends all stream connections of the app now, including the one of the Live page. A client should reconnect with backfill_minutes."
      action="Disconnect"
      change={disconnect}
      onSubmit={() =>
        disconnect.mutate(
          { body: { disconnect_type: type } },
          { onSuccess: ({ data }) => toast(`Disconnected ${nounText(data.disconnected, "stream")}.`) },
        )
      }
    >
      <SelectField label="Disconnect message" value={type} options={messages} onChange={setType} />
    </FaultForm>
  )
}
