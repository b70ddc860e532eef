/** Linking a webhook, and what cannot be undone: unlinking and deleting it. */
import type { WebhookDetail } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { Confirm, Dialog } from "../../components/overlays/dialog.tsx"
import { ErrorNote } from "../../components/states.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { matchesText } from "./condition.ts"
import { FieldChoice, queryOf, type ChosenFields } from "./field-choice.tsx"

const changed = ["webhookDetail", "webhookDetails", "links", "linkDetails"] as const

/** Links a webhook to the stream, with a choice of fields. */
export function LinkWebhook({
  webhookId,
  onClose,
}: {
  readonly webhookId: string
  readonly onClose: () => void
}): ReactNode {
  const [fields, setFields] = useState<ChosenFields>({})
  const toast = useToast()
  const link = useApiChange("POST", "link", { invalidates: changed })
  const onSuccess = (): void => {
    toast("Matches are sent to it from now on.")
    onClose()
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Link to the stream"
      description="Every match from now on is sent to the webhook. What deliveries show cannot be changed later without unlinking."
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            isBusy={link.isPending}
            onClick={() =>
              link.mutate({ parameters: { webhook_id: webhookId }, query: queryOf(fields) }, { onSuccess })
            }
          >
            Link
          </Button>
        </>
      }
    >
      <FieldChoice chosen={fields} onChange={setFields} />
      <ErrorNote error={link.error} />
    </Dialog>
  )
}

/** Unlinks a webhook. */
export function UnlinkWebhook({
  webhook,
  onClose,
}: {
  readonly webhook: WebhookDetail
  readonly onClose: () => void
}): ReactNode {
  const toast = useToast()
  const unlink = useApiChange("DELETE", "link", { invalidates: changed })
  const onSuccess = (): void => {
    toast("Nothing more is sent to it.")
    onClose()
  }
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title="Unlink this webhook?"
      action="Unlink"
      isBusy={unlink.isPending}
      error={unlink.error}
      onConfirm={() => unlink.mutate({ parameters: { webhook_id: webhook.id } }, { onSuccess })}
    >
      No match is sent to {webhook.url} any more. {lossText(webhook)} The webhook stays registered.
    </Confirm>
  )
}

/** Deletes a webhook with its link. */
export function DeleteWebhook({
  webhook,
  onClose,
  onDeleted,
}: {
  readonly webhook: WebhookDetail
  readonly onClose: () => void
  readonly onDeleted: () => void
}): ReactNode {
  const toast = useToast()
  const remove = useApiChange("DELETE", "webhook", { invalidates: ["webhookDetails", "links", "linkDetails"] })
  const onSuccess = (): void => {
    toast("The webhook is deleted.")
    onDeleted()
  }
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title="Delete this webhook?"
      action="Delete"
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ parameters: { webhook_id: webhook.id } }, { onSuccess })}
    >
      {webhook.url} is forgotten, with its link and its signing key. {lossText(webhook)}
    </Confirm>
  )
}

function lossText({ link }: WebhookDetail): string {
  const lost = (link?.undelivered ?? 0) + (link?.total.dead_letters ?? 0)
  const history = "Its attempts and replays are forgotten."
  return lost === 0 ? history : `${matchesText(lost)} that it has not taken will never be sent to it. ${history}`
}
