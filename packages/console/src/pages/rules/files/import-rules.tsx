/** Adds many rules from a file or a text. A dry run validates them first, with the problems of each line. */
import { useRef, useState, type ReactNode } from "react"
import { BackLink } from "../../../components/back-link.tsx"
import { Badge } from "../../../components/badge.tsx"
import { Button } from "../../../components/button.tsx"
import { countText, nounText } from "../../../components/counts.ts"
import { Field } from "../../../components/field.tsx"
import { PageHeader } from "../../../components/page-header.tsx"
import { Panel } from "../../../components/panel.tsx"
import { RuleText } from "../../../components/posts/rule-text.tsx"
import { Stack } from "../../../components/stack.tsx"
import { ErrorNote } from "../../../components/states.tsx"
import { VisuallyHidden } from "../../../components/visually-hidden.tsx"
import { VirtualList } from "../../../components/lists/virtual-list.tsx"
import styles from "./import-rules.module.css"
import { readRuleFile, type FileRule, type RuleFile } from "./rule-file.ts"
import { useImportRules, type ImportedRules } from "./use-import-rules.ts"

/** Bulk import. */
export default function ImportRules(): ReactNode {
  const [text, setText] = useState("")
  const [file, setFile] = useState<RuleFile>()
  const chosen = useRef<HTMLInputElement>(null)
  const { imported, mutate, reset, isPending, error } = useImportRules(file)
  const change = async (next: string): Promise<void> => {
    setText(next)
    reset()
    setFile(next.trim() === "" ? undefined : await readRuleFile(next))
  }
  const rules = file?.kind === "rules" ? file.rules : []
  const good = rules.filter(({ problems }) => problems.length === 0)
  return (
    <>
      <PageHeader title="Import rules">
        <BackLink>All rules</BackLink>
      </PageHeader>
      <Panel>
        <div className={styles["form"]}>
          <Field
            label="Rules"
            hint="One rule per line, or JSON, NDJSON or YAML: strings, or objects with value and tag."
            error={file?.kind === "unreadable" ? file.problem : undefined}
          >
            {(attributes) => (
              <textarea
                {...attributes}
                rows={8}
                value={text}
                spellCheck={false}
                onChange={({ target }) => void change(target.value)}
              />
            )}
          </Field>
          <Stack isRow>
            <input
              ref={chosen}
              type="file"
              hidden
              accept=".json,.yaml,.yml,.ndjson,.jsonl,.txt"
              onChange={({ target }) => {
                void target.files?.[0]?.text().then(change)
                // Otherwise the same file, corrected on the disk, is no change, and cannot be chosen again.
                target.value = ""
              }}
            />
            <Button onClick={() => chosen.current?.click()}>Choose a file</Button>
            <Button
              disabled={good.length === 0}
              isBusy={isPending}
              onClick={() => mutate({ rules: good, dryRun: true })}
            >
              Dry run
            </Button>
            <Button
              kind="primary"
              disabled={good.length === 0}
              isBusy={isPending}
              onClick={() => mutate({ rules: good, dryRun: false })}
            >
              {good.length === 0 ? "Add rules" : `Add ${nounText(good.length, "rule")}`}
            </Button>
          </Stack>
          <ErrorNote error={error} />
          <Outcome imported={imported} of={rules.length} hasStopped={error !== null} />
        </div>
      </Panel>
      {rules.length > 0 && file?.kind === "rules" && (
        <Panel
          title={`${nounText(rules.length, "rule")}, ${countText(rules.length - good.length)} with problems`}
          isFlush
        >
          <VirtualList
            label="Imported rules"
            rows={withRefusals(rules, imported?.refused)}
            rowKey={({ at }) => String(at)}
            row={(rule) => rowOf(rule, file.place)}
            rowHeight={40}
            height="480px"
          />
        </Panel>
      )}
    </>
  )
}

/** Rules with problems come first: they need a change. */
function withRefusals(
  rules: readonly FileRule[],
  refused: ReadonlyMap<string, string> | undefined,
): readonly FileRule[] {
  const all = rules.map((rule) => {
    const refusal = refused?.get(rule.value)
    return refusal === undefined || rule.problems.length > 0 ? rule : { ...rule, problems: [refusal] }
  })
  return [...all.filter(({ problems }) => problems.length > 0), ...all.filter(({ problems }) => problems.length === 0)]
}

/** The result so far. A run `hasStopped` when a request failed. */
function Outcome({
  imported,
  of,
  hasStopped,
}: {
  readonly imported: ImportedRules | undefined
  readonly of: number
  readonly hasStopped: boolean
}): ReactNode {
  if (imported === undefined) return null
  const { added, refused, isDryRun } = imported
  return (
    <p role="status" className={added === of ? styles["done"] : undefined}>
      {hasStopped && "Before the error: "}
      {countText(added)} of {nounText(of, "rule")} {isDryRun ? "can be added" : "were added"}
      {refused.size > 0 && `; the server rejects ${countText(refused.size)}`}.
      {hasStopped && !isDryRun && " Add the rules again: the server rejects those that are there, and adds the others."}
    </p>
  )
}

function rowOf(rule: FileRule, place: "line" | "entry"): ReactNode {
  return (
    <div className={styles["row"]}>
      <span className={styles["at"]}>
        <VisuallyHidden>{place} </VisuallyHidden>
        {rule.at}
      </span>
      <RuleText value={rule.value} isLine />
      <span>{rule.tag !== undefined && <Badge>{rule.tag}</Badge>}</span>
      {rule.problems.slice(0, 3).map((problem) => (
        <span key={problem} className={styles["problem"]}>
          {problem}
        </span>
      ))}
    </div>
  )
}
