import { descriptionCharactersMax, nameCharactersMax, type WebhookDetail } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { TextField } from "../../components/field.tsx"
import { FormDialog } from "../../components/overlays/dialog.tsx"

/** Names a webhook and describes it. */
export function DescribeWebhook({
  webhook,
  onClose,
}: {
  readonly webhook: WebhookDetail
  readonly onClose: () => void
}): ReactNode {
  const change = useApiChange("PATCH", "webhookDetail", { invalidates: ["webhookDetail", "webhookDetails"] })
  const [name, setName] = useState(webhook.name ?? "")
  const [description, setDescription] = useState(webhook.description ?? "")
  return (
    <FormDialog
      onClose={onClose}
      title="Name and describe the webhook"
      description="Lists show the name. Deliveries stay as they are."
      action="Save"
      change={change}
      onSubmit={() =>
        change.mutate(
          { parameters: { webhook_id: webhook.id }, body: { name, description } },
          { onSuccess: () => onClose() },
        )
      }
    >
      <TextField label="Name" value={name} maxLength={nameCharactersMax} onChange={setName} />
      <TextField
        label="Description"
        value={description}
        maxLength={descriptionCharactersMax}
        onChange={setDescription}
      />
    </FormDialog>
  )
}
