/** Dialogs that link a webhook to the stream, unlink it and delete it. */
import type { WebhookDetail } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApiChange } from "../../api/use-api.ts"
import { nounText } from "../../components/counts.ts"
import { FormDialog } from "../../components/overlays/dialog.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { useConfirmedChange, type ConfirmedChange } from "../../components/overlays/use-confirmed-change.tsx"
import { FieldChoice, queryOf, type ChosenFields } from "./field-choice.tsx"

/** Operations whose responses change with a link. */
export const linkChanges = ["webhookDetail", "webhookDetails", "links", "linkDetails"] as const

/** Links a webhook to the stream, with a choice of fields. */
export function LinkWebhook({
  webhook: { id, url },
  onClose,
}: {
  readonly webhook: WebhookDetail
  readonly onClose: () => void
}): ReactNode {
  const [fields, setFields] = useState<ChosenFields>({})
  const toast = useToast()
  const link = useApiChange("POST", "link", { invalidates: linkChanges })
  const onSuccess = (): void => {
    toast(`Linked ${url}: matches are delivered from now on.`)
    onClose()
  }
  return (
    <FormDialog
      onClose={onClose}
      title={`Link ${url} to the stream`}
      description="Delivers every match from now on. To change the fields later, unlink the webhook and link it again."
      action="Link"
      change={link}
      onSubmit={() => link.mutate({ parameters: { webhook_id: id }, query: queryOf(fields) }, { onSuccess })}
    >
      <FieldChoice chosen={fields} onChange={setFields} />
    </FormDialog>
  )
}

/** Unlinks a webhook. */
export function useUnlinkWebhook(): ConfirmedChange<WebhookDetail> {
  return useConfirmedChange("DELETE", "link", {
    invalidates: linkChanges,
    request: requestOf,
    title: ({ url }) => `Unlink ${url}?`,
    text: (webhook) => `Deliveries stop. ${lossText(webhook)} The webhook stays registered.`,
    action: "Unlink",
    doneText: ({ url }) => `Unlinked ${url}.`,
  })
}

/** Deletes a webhook with its link. */
export function useDeleteWebhook(onDeleted: () => void): ConfirmedChange<WebhookDetail> {
  return useConfirmedChange("DELETE", "webhook", {
    invalidates: ["webhookDetails", "links", "linkDetails"],
    request: requestOf,
    title: ({ url }) => `Delete ${url}?`,
    text: (webhook) => `The webhook, its link and its signing key are deleted. ${lossText(webhook)}`,
    action: "Delete",
    doneText: ({ url }) => `Deleted ${url}.`,
    onDone: onDeleted,
  })
}

function requestOf({ id }: WebhookDetail): { readonly parameters: { readonly webhook_id: string } } {
  return { parameters: { webhook_id: id } }
}

function lossText({ link }: WebhookDetail): string {
  const lost = (link?.undelivered ?? 0) + (link?.total.dead_letters ?? 0)
  const history = "Its attempts and replays are deleted."
  return lost === 0 ? history : `${nounText(lost, "undelivered match", "undelivered matches")} will be lost. ${history}`
}
