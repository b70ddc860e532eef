/** Delivers to a webhook what a rule would have matched before it was added. */
import type { RuleDetail, WebhookDetail } from "@sluice/api"
import { useEffect, useState, type ReactNode } from "react"
import { Link, useLocation } from "wouter"
import { useApiChange } from "../../../api/use-api.ts"
import { useApiPages } from "../../../api/use-api-pages.ts"
import { SelectField } from "../../../components/field.tsx"
import { Dialog, FormDialog } from "../../../components/overlays/dialog.tsx"
import { useToast } from "../../../components/overlays/toast.tsx"
import { RuleText } from "../../../components/posts/rule-text.tsx"
import { faultAbout, hasOtherFaults, isRefusal } from "../../../components/request-faults.ts"
import { EmptyState, ErrorState, Skeleton } from "../../../components/states.tsx"
import { SinceFields } from "../since-fields.tsx"
import { isEmpty, sinceInstant, type Since } from "../since.ts"

const title = "Backfill the rule"

const spans = [
  ["24h", "24 hours before the rule was added"],
  ["7d", "7 days before the rule was added"],
  ["30d", "30 days before the rule was added"],
  ["custom", "Custom"],
] as const

/** The dialog that starts a backfill, open as long as it is rendered. */
export function BackfillRule({
  rule,
  onClose,
}: {
  readonly rule: RuleDetail
  readonly onClose: () => void
}): ReactNode {
  const webhooks = useApiPages("webhookDetails", { max_results: 100 }, { refetchMs: 10_000 })
  const { rows, hasMore, readOn } = webhooks
  useEffect(() => {
    if (rows !== undefined && hasMore) readOn()
  }, [rows, hasMore, readOn])
  const linked = hasMore ? undefined : rows?.filter(({ link }) => link !== undefined)
  const [first] = linked ?? []
  if (linked !== undefined && first !== undefined) {
    return <BackfillForm rule={rule} webhooks={linked} first={first} onClose={onClose} />
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {webhooks.error !== null ? (
        <ErrorState of={webhooks} />
      ) : linked === undefined ? (
        <Skeleton height="120px" />
      ) : (
        <EmptyState title="No webhook is linked" action={<Link href="~/console/webhooks">Webhooks and links</Link>}>
          A backfill goes to a webhook that is linked to the stream.
        </EmptyState>
      )}
    </Dialog>
  )
}

function BackfillForm({
  rule,
  webhooks,
  first,
  onClose,
}: {
  readonly rule: RuleDetail
  readonly webhooks: readonly WebhookDetail[]
  readonly first: WebhookDetail
  readonly onClose: () => void
}): ReactNode {
  const [chosenId, setChosenId] = useState(first.id)
  const [since, setSince] = useState<Since>({ kind: "7d" })
  const [, navigate] = useLocation()
  const toast = useToast()
  const { mutate, isPending, error } = useApiChange("POST", "replays")
  // The chosen webhook may have been unlinked meanwhile.
  const webhook = webhooks.find(({ id }) => id === chosenId) ?? first
  const isPlaced = isRefusal(error) && !hasOtherFaults(error, ["webhook_id", "since"])
  const addedAtMs = (): number => Date.parse(rule.created_at)
  const submit = (): void => {
    const instant = sinceInstant(since, addedAtMs())
    if (instant === undefined) return
    mutate(
      { body: { webhook_id: webhook.id, rule_ids: [rule.id], since: instant } },
      {
        onSuccess() {
          toast(`Started a backfill to ${webhook.url}.`)
          navigate(`~/console/webhooks/${webhook.id}/replays`)
        },
      },
    )
  }
  return (
    <FormDialog
      title={title}
      description="Delivers the stored posts that the rule would have matched before it was added, as a replay next to the live deliveries."
      action="Start"
      onClose={onClose}
      change={{ isPending, error: isPlaced ? null : error }}
      isDisabled={isEmpty(since)}
      onSubmit={submit}
    >
      <RuleText value={rule.value} />
      <SelectField
        label="Webhook"
        value={webhook.id}
        options={webhooks.map(({ id, url, valid }) => [id, valid ? url : `${url} (invalid)`])}
        error={faultAbout(error, "webhook_id")}
        onChange={setChosenId}
      />
      <SinceFields
        label="Since"
        options={spans}
        since={since}
        endMs={addedAtMs}
        error={faultAbout(error, "since")}
        onChange={setSince}
      />
    </FormDialog>
  )
}
