import type { DisconnectType } from "@sluice/api"
import { useState, type FormEvent, type ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { Field } from "../../components/field.tsx"
import { Panel } from "../../components/panel.tsx"
import { ErrorNote } from "../../components/states.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import styles from "./trouble.module.css"

const messages: Readonly<Record<DisconnectType | "none", string>> = {
  OperationalDisconnect: "OperationalDisconnect",
  UpstreamOperationalDisconnect: "UpstreamOperationalDisconnect",
  ForceDisconnect: "ForceDisconnect",
  UpstreamUncleanDisconnect: "UpstreamUncleanDisconnect",
  SlowReader: "SlowReader",
  InternalError: "InternalError",
  ClientApplicationStateDegraded: "ClientApplicationStateDegraded",
  InvalidRules: "InvalidRules",
  none: "None: the connection is cut",
}

/** Ends the app's stream connections, each with one of X's disconnect messages. */
export function DisconnectForm(): ReactNode {
  const [type, setType] = useState("OperationalDisconnect")
  const disconnect = useApiChange("POST", "troubleDisconnect", { invalidates: [] })
  const toast = useToast()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    disconnect.mutate(
      { body: { disconnect_type: type } },
      { onSuccess: ({ data }) => toast(disconnectedText(data.disconnected)) },
    )
  }
  return (
    <Panel title="Disconnect streams">
      <form className={styles["form"]} onSubmit={submit}>
        <div className={styles["fields"]}>
          <Field label="Last message">
            {(control) => (
              <select {...control} value={type} onChange={({ target }) => setType(target.value)}>
                {Object.entries(messages).map(([value, title]) => (
                  <option key={value} value={value}>
                    {title}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
        <p className={styles["hint"]}>
          Ends every stream connection of the app now, that of the Live page too. A client should connect again, with
          backfill_minutes.
        </p>
        <ErrorNote error={disconnect.error} />
        <div>
          <Button type="submit" isBusy={disconnect.isPending}>
            Disconnect
          </Button>
        </div>
      </form>
    </Panel>
  )
}

function disconnectedText(count: number): string {
  if (count === 0) return "No stream was connected."
  return `Disconnected ${String(count)} ${count === 1 ? "stream" : "streams"}.`
}
