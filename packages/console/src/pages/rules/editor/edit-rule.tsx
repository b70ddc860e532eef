/** The editor of a rule, with its tester. */
import type { RuleDetail } from "@sluice/api"
import { parseRule } from "@sluice/rules"
import { useId, useMemo, useState, type ReactNode } from "react"
import { Link, useLocation } from "wouter"
import { useApi } from "../../../api/use-api.ts"
import { BackLink } from "../../../components/back-link.tsx"
import { Button } from "../../../components/button.tsx"
import { nounText } from "../../../components/counts.ts"
import { TextField } from "../../../components/field.tsx"
import { Form } from "../../../components/form.tsx"
import { useDraft } from "../../../components/overlays/drafts.tsx"
import { useConfirmedChange } from "../../../components/overlays/use-confirmed-change.tsx"
import { PageHeader } from "../../../components/page-header.tsx"
import { Panel } from "../../../components/panel.tsx"
import { EmptyState, ErrorNote, ErrorState, PageSkeleton } from "../../../components/states.tsx"
import { Time } from "../../../components/time.tsx"
import { useToast } from "../../../components/overlays/toast.tsx"
import { RuleEditor } from "../../../components/rules/rule-editor.tsx"
import { ruleOptions } from "../../../components/rules/rule-options.ts"
import { RuleProblems } from "../../../components/rules/rule-problems.tsx"
import { useAddressParameters } from "../../../components/use-address-parameters.ts"
import styles from "./edit-rule.module.css"
import { RuleTester } from "../tester/rule-tester.tsx"
import { BackfillRule } from "./backfill-rule.tsx"
import { useSaveRule } from "./use-save-rule.ts"

/** The editor of a new rule. The parameter `value` of the address is its text: a query that becomes a rule. */
export function NewRule(): ReactNode {
  const query = useAddressParameters().get("value") ?? ""
  return <RuleForm key={query} rule={undefined} query={query} />
}

/** The editor of an existing rule. */
export function EditRule({ id }: { readonly id: string }): ReactNode {
  const found = useApi("ruleDetails", { query: { query: id } }, { refetchMs: 10_000 })
  const rule = found.data?.data.find((one) => one.id === id)
  if (found.isLoadingError) return <ErrorState isPage of={found} />
  if (found.isPending) return <PageSkeleton />
  if (rule === undefined) {
    return (
      <EmptyState isPage title="Rule not found" action={<Link href="/">All rules</Link>}>
        It may have been deleted, or changed: a rule with a new text gets a new id.
      </EmptyState>
    )
  }
  return <RuleForm rule={rule} />
}

function RuleForm({
  rule,
  query = "",
}: {
  readonly rule: RuleDetail | undefined
  /** The text of a new rule, when it was the query of a search. */
  readonly query?: string
}): ReactNode {
  const [value, setValue] = useState(rule?.value ?? query)
  const [tag, setTag] = useState(rule?.tag ?? "")
  const problemsId = useId()
  const [, navigate] = useLocation()
  const toast = useToast()
  const save = useSaveRule()
  const parsed = useMemo(() => parseRule(value, ruleOptions.stream), [value])
  const isTagChanged = tag !== (rule?.tag ?? "")
  const isChanged = value !== (rule?.value ?? "") || isTagChanged
  const endDraft = useDraft(value !== (rule?.value ?? query) || isTagChanged)
  const submit = async (next: "view" | "backfill"): Promise<void> => {
    const saved = await save.mutateAsync({ before: rule, value, tag })
    endDraft()
    toast(rule === undefined ? "Added the rule: it applies from the next post on." : "Saved the rule.")
    navigate(next === "backfill" ? backfillAddress(saved) : rule === undefined ? "/" : `/${saved}`)
  }
  const mayBeSaved = parsed.ok && isChanged
  return (
    <>
      <PageHeader
        title={rule === undefined ? "New rule" : "Rule"}
        actions={rule && <RuleActions rule={rule} onDeleted={endDraft} />}
      >
        <BackLink>All rules</BackLink>
      </PageHeader>
      <Panel>
        <Form
          onSubmit={() => {
            // The form shows the error.
            if (mayBeSaved) submit("view").catch(() => undefined)
          }}
        >
          {rule && <Facts rule={rule} />}
          {query !== "" && <FromSearch />}
          <RuleEditor value={value} onChange={setValue} label="Rule" describedBy={problemsId} mode="stream" />
          <RuleProblems id={problemsId} value={value} onChange={setValue} mode="stream" />
          <div className={styles["foot"]}>
            <TextField
              label="Tag"
              hint="Optional. Deliveries include it with the rule's id."
              value={tag}
              maxLength={256}
              onChange={setTag}
            />
            <span className={styles["spacer"]} />
            {rule === undefined && (
              <Button
                disabled={!mayBeSaved || save.isPending}
                onClick={() => void submit("backfill").catch(() => undefined)}
              >
                Add and backfill …
              </Button>
            )}
            <Button kind="primary" type="submit" disabled={!mayBeSaved} isBusy={save.isPending}>
              {rule === undefined ? "Add rule" : "Save"}
            </Button>
          </div>
          <ErrorNote error={save.error} />
          {save.isUnfinished && (
            <p role="status" className={styles["note"]}>
              The new rule was added, but the old one is still there, and both match. Save again to delete the old one.
            </p>
          )}
        </Form>
      </Panel>
      <RuleTester value={value} isValid={parsed.ok} />
    </>
  )
}

/** How the rule differs from the search with the same text. */
function FromSearch(): ReactNode {
  return (
    <p className={styles["note"]}>
      The rule may match other posts than the search. On the stream it also matches reposts, unless it has{" "}
      <code>-is:retweet</code>, and reads a quoted post together with the post that quotes it. Letters with and without
      accents differ there.
    </p>
  )
}

function Facts({ rule }: { readonly rule: RuleDetail }): ReactNode {
  return (
    <p className={styles["facts"]}>
      <span>{nounText(rule.matched, "match", "matches")}</span>
      <span>last match {rule.last_matched_at === undefined ? "never" : <Time at={rule.last_matched_at} />}</span>
      <span>
        added <Time at={rule.created_at} />
      </span>
      <code>{rule.id}</code>
    </p>
  )
}

/** The address has the dialog of the backfill, so that a rule that has just been added begins with it. */
function backfillAddress(id: string): string {
  return `/${id}?backfill`
}

function RuleActions({ rule, onDeleted }: { readonly rule: RuleDetail; readonly onDeleted: () => void }): ReactNode {
  const isBackfilling = useAddressParameters().has("backfill")
  const [, navigate] = useLocation()
  return (
    <>
      <Button onClick={() => navigate(backfillAddress(rule.id))}>Backfill …</Button>
      <DeleteRule rule={rule} onDeleted={onDeleted} />
      {isBackfilling && <BackfillRule rule={rule} onClose={() => navigate(`/${rule.id}`, { replace: true })} />}
    </>
  )
}

function DeleteRule({ rule, onDeleted }: { readonly rule: RuleDetail; readonly onDeleted: () => void }): ReactNode {
  const [, navigate] = useLocation()
  const deletion = useConfirmedChange("POST", "rules", {
    invalidates: ["ruleDetails", "ruleCounts"],
    request: ({ id }: RuleDetail) => ({ body: { delete: { ids: [id] } } }),
    title: ({ tag }) => (tag === undefined ? "Delete this rule?" : `Delete the rule ${tag}?`),
    text: () => "It no longer matches new posts. Its earlier matches stay in the log, and are delivered.",
    action: "Delete",
    doneText: ({ tag }) => (tag === undefined ? "Deleted the rule." : `Deleted the rule ${tag}.`),
    onDone() {
      onDeleted()
      navigate("/")
    },
  })
  return (
    <>
      <Button onClick={() => deletion.ask(rule)}>Delete</Button>
      {deletion.dialog}
    </>
  )
}
