import type { Operations } from "@sluice/client"
import { useState, type ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { FormDialog } from "../../components/overlays/dialog.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { TimeField } from "../../components/time-field.tsx"

const hourMs = 3_600_000

/** Has a source begin again at a time. `changes` are read again afterwards. */
export function RewindSource({
  name,
  changes,
  onClose,
}: {
  readonly name: string
  readonly changes: readonly (keyof Operations)[]
  readonly onClose: () => void
}): ReactNode {
  const [to, setTo] = useState(() => new Date(Date.now() - hourMs).toISOString())
  const toast = useToast()
  const rewind = useApiChange("POST", "rewindSource", { invalidates: changes })
  const onSuccess = (): void => {
    toast(`Rewound ${name}.`)
    onClose()
  }
  return (
    <FormDialog
      onClose={onClose}
      title={`Rewind ${name}`}
      description="The source begins again with what it had at this time, as far as it still has it. Posts that are stored already count as duplicates."
      action="Rewind"
      change={rewind}
      isDisabled={to === ""}
      onSubmit={() => rewind.mutate({ parameters: { name }, body: { to } }, { onSuccess })}
    >
      <TimeField label="Begin again at" value={to} error={undefined} onChange={setTo} />
    </FormDialog>
  )
}
