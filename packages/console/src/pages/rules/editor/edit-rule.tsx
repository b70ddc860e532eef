/** One rule: written, tested, saved, deleted. */
import type { RuleDetail } from "@sluice/api"
import { parseRule } from "@sluice/rules"
import { useId, useMemo, useState, type ReactNode } from "react"
import { Link, useLocation } from "wouter"
import { useApi, useApiChange } from "../../../api/use-api.ts"
import { Button } from "../../../components/button.tsx"
import { Confirm } from "../../../components/overlays/dialog.tsx"
import { Field } from "../../../components/field.tsx"
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

/** A rule that is not there yet. */
export function NewRule(): ReactNode {
  return <RuleForm rule={undefined} />
}

/** A rule that is there. */
export function EditRule({ id }: { readonly id: string }): ReactNode {
  const found = useApi("ruleDetails", { query: { query: id } }, { refetchMs: 10_000 })
  const rule = found.data?.data.find((one) => one.id === id)
  if (found.isError) return <ErrorState isPage error={found.error} onRetry={() => void found.refetch()} />
  if (found.isPending) return <PageSkeleton />
  if (rule === undefined) {
    return (
      <EmptyState isPage title="There is no such rule" action={<Link href="/">All rules</Link>}>
        It may have been deleted, or saved under another id: a rule whose text changes becomes another rule.
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
    toast(rule === undefined ? "The rule is added: it matches from the next post on." : "The rule is saved.")
    navigate(rule === undefined ? "/" : `/${saved}`)
  }
  return (
    <>
      <PageHeader title={rule === undefined ? "New rule" : "Rule"} actions={rule && <DeleteRule rule={rule} />}>
        <Link href="/" className={styles["back"]}>
          All rules
        </Link>
      </PageHeader>
      <Panel>
        <form
          className={styles["form"]}
          onSubmit={(event) => {
            event.preventDefault()
            if (parsed.ok && isChanged) submit().catch(() => undefined)
          }}
        >
          {rule && <Facts rule={rule} />}
          <RuleEditor value={value} onChange={setValue} label="Rule" describedBy={problemsId} />
          <RuleProblems id={problemsId} value={value} onChange={setValue} />
          <div className={styles["foot"]}>
            <Field label="Tag" hint="Deliveries name the rule by it. Optional.">
              {(attributes) => (
                <input
                  {...attributes}
                  value={tag}
                  maxLength={256}
                  autoComplete="off"
                  onChange={({ target }) => setTag(target.value)}
                />
              )}
            </Field>
            <span className={styles["spacer"]} />
            <Button kind="primary" type="submit" disabled={!parsed.ok || !isChanged} isBusy={save.isPending}>
              {rule === undefined ? "Add rule" : "Save"}
            </Button>
          </div>
          <ErrorNote error={save.error} />
        </form>
      </Panel>
      <RuleTester value={value} isValid={parsed.ok} />
    </>
  )
}

function Facts({ rule }: { readonly rule: RuleDetail }): ReactNode {
  return (
    <p className={styles["facts"]}>
      <span>{rule.matched.toLocaleString()} matches</span>
      <span>last match {rule.last_matched_at === undefined ? "never" : <Time at={rule.last_matched_at} />}</span>
      <span>
        added <Time at={rule.created_at} />
      </span>
      <span className="mono">{rule.id}</span>
    </p>
  )
}

function DeleteRule({ rule }: { readonly rule: RuleDetail }): ReactNode {
  const [isOpen, setIsOpen] = useState(false)
  const [, navigate] = useLocation()
  const toast = useToast()
  const remove = useApiChange("POST", "rules", { invalidates: ["ruleDetails", "ruleCounts"] })
  const confirm = async (): Promise<void> => {
    await remove.mutateAsync({ body: { delete: { ids: [rule.id] } } })
    toast("The rule is deleted.")
    navigate("/")
  }
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>Delete</Button>
      <Confirm
        isOpen={isOpen}
        onClose={() => setIsOpen(false)}
        title="Delete this rule?"
        action="Delete"
        isBusy={remove.isPending}
        error={remove.error}
        onConfirm={() => void confirm().catch(() => undefined)}
      >
        Posts that come from now on are not matched by it. What it has matched stays in the log, and is delivered.
      </Confirm>
    </>
  )
}
