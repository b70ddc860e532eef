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
import { useConfirmedChange } from "../../../components/overlays/use-confirmed-change.tsx"
import { PageHeader } from "../../../components/page-header.tsx"
import { Panel } from "../../../components/panel.tsx"
import { EmptyState, ErrorNote, ErrorState, PageSkeleton } from "../../../components/states.tsx"
import { Time } from "../../../components/time.tsx"
import { useToast } from "../../../components/overlays/toast.tsx"
import styles from "./edit-rule.module.css"
import { RuleEditor } from "./rule-editor.tsx"
import { RuleProblems } from "./rule-problems.tsx"
import { RuleTester } from "../tester/rule-tester.tsx"
import { useSaveRule } from "./use-save-rule.ts"

/** The editor of a new rule. */
export function NewRule(): ReactNode {
  return <RuleForm rule={undefined} />
}

/** The editor of an existing rule. */
export function EditRule({ id }: { readonly id: string }): ReactNode {
  const found = useApi("ruleDetails", { query: { query: id } }, { refetchMs: 10_000 })
  const rule = found.data?.data.find((one) => one.id === id)
  if (found.isError) return <ErrorState isPage of={found} />
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

function RuleForm({ rule }: { readonly rule: RuleDetail | undefined }): ReactNode {
  const [value, setValue] = useState(rule?.value ?? "")
  const [tag, setTag] = useState(rule?.tag ?? "")
  const problemsId = useId()
  const [, navigate] = useLocation()
  const toast = useToast()
  const save = useSaveRule()
  const parsed = useMemo(() => parseRule(value, { embeddings: true }), [value])
  const isChanged = value !== (rule?.value ?? "") || tag !== (rule?.tag ?? "")
  const submit = async (): Promise<void> => {
    const saved = await save.mutateAsync({ before: rule, value, tag })
    toast(rule === undefined ? "Added the rule: it applies from the next post on." : "Saved the rule.")
    navigate(rule === undefined ? "/" : `/${saved}`)
  }
  return (
    <>
      <PageHeader title={rule === undefined ? "New rule" : "Rule"} actions={rule && <DeleteRule rule={rule} />}>
        <BackLink>All rules</BackLink>
      </PageHeader>
      <Panel>
        <Form
          onSubmit={() => {
            // The form shows the error.
            if (parsed.ok && isChanged) submit().catch(() => undefined)
          }}
        >
          {rule && <Facts rule={rule} />}
          <RuleEditor value={value} onChange={setValue} label="Rule" describedBy={problemsId} />
          <RuleProblems id={problemsId} value={value} onChange={setValue} />
          <div className={styles["foot"]}>
            <TextField
              label="Tag"
              hint="Optional. Deliveries include it with the rule's id."
              value={tag}
              maxLength={256}
              onChange={setTag}
            />
            <span className={styles["spacer"]} />
            <Button kind="primary" type="submit" disabled={!parsed.ok || !isChanged} isBusy={save.isPending}>
              {rule === undefined ? "Add rule" : "Save"}
            </Button>
          </div>
          <ErrorNote error={save.error} />
        </Form>
      </Panel>
      <RuleTester value={value} isValid={parsed.ok} />
    </>
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

function DeleteRule({ rule }: { readonly rule: RuleDetail }): ReactNode {
  const [, navigate] = useLocation()
  const deletion = useConfirmedChange("POST", "rules", {
    invalidates: ["ruleDetails", "ruleCounts"],
    request: ({ id }: RuleDetail) => ({ body: { delete: { ids: [id] } } }),
    title: ({ tag }) => (tag === undefined ? "Delete this rule?" : `Delete the rule ${tag}?`),
    text: () => "It no longer matches new posts. Its earlier matches stay in the log, and are delivered.",
    action: "Delete",
    doneText: ({ tag }) => (tag === undefined ? "Deleted the rule." : `Deleted the rule ${tag}.`),
    onDone: () => navigate("/"),
  })
  return (
    <>
      <Button onClick={() => deletion.ask(rule)}>Delete</Button>
      {deletion.dialog}
    </>
  )
}
