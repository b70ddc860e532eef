/** Tests the rule on posts before it is saved, and explains each match and mismatch. */
import type { Envelope } from "@sluice/api"
import { useMemo, useState, type ReactNode } from "react"
import { useApi } from "../../../api/use-api.ts"
import { Badge } from "../../../components/badge.tsx"
import { Button } from "../../../components/button.tsx"
import { countText } from "../../../components/counts.ts"
import { Field } from "../../../components/field.tsx"
import { Panel } from "../../../components/panel.tsx"
import { PostCard } from "../../../components/posts/post-card.tsx"
import { RuleText } from "../../../components/posts/rule-text.tsx"
import { EmptyState } from "../../../components/states.tsx"
import { VirtualList } from "../../../components/lists/virtual-list.tsx"
import { PastTester } from "./past-tester.tsx"
import { readEnvelopes } from "./pasted-posts.ts"
import styles from "./rule-tester.module.css"
import type { FailedPart, Verdict } from "./try-rule.ts"
import { useRate, useVerdicts } from "./use-verdicts.ts"

const kinds = { all: "All", match: "Matching", miss: "Not matching" } as const

/** The tester of the rule in the editor: on the newest posts and on pasted ones as it is typed, on the past at a click. */
export function RuleTester({ value, isValid }: { readonly value: string; readonly isValid: boolean }): ReactNode {
  const [source, setSource] = useState<Source>("stored")
  const choice = <Choice label="Posts to test on" options={sources} value={source} onChange={setSource} />
  return source === "past" ? (
    <Panel title="Test" isFlush actions={choice}>
      <PastTester value={value} isValid={isValid} />
    </Panel>
  ) : (
    <VerdictTester value={value} isValid={isValid} source={source} choice={choice} />
  )
}

function VerdictTester({
  value,
  isValid,
  source,
  choice,
}: {
  readonly value: string
  readonly isValid: boolean
  readonly source: Exclude<Source, "past">
  readonly choice: ReactNode
}): ReactNode {
  const [pasted, setPasted] = useState("")
  const [kind, setKind] = useState<keyof typeof kinds>("all")
  const stored = useApi("posts", { query: { max_results: 100 } }, { enabled: source === "stored" })
  const read = useMemo(() => readEnvelopes(pasted), [pasted])
  const storedEnvelopes = stored.data?.data ?? noPosts
  const envelopes = source === "stored" ? storedEnvelopes : read.envelopes
  const { verdicts, error } = useVerdicts(value, envelopes, isValid)
  const shown = (verdicts ?? []).filter((verdict) => kind === "all" || verdict.kind === kind)
  return (
    <Panel
      title="Test"
      isFlush
      error={error}
      actions={
        <>
          {choice}
          <Choice label="Verdicts to show" options={kinds} value={kind} onChange={setKind} />
        </>
      }
    >
      {source === "pasted" && (
        <div className={styles["pasted"]}>
          <Field
            label="Posts"
            hint="One text per line, or JSON: envelopes copied from Live or Posts, NDJSON, or a response of X."
            error={read.problem}
          >
            {(attributes) => (
              <textarea {...attributes} rows={4} value={pasted} onChange={({ target }) => setPasted(target.value)} />
            )}
          </Field>
        </div>
      )}
      <Summary value={value} isValid={isValid} verdicts={verdicts} />
      {!isValid ? (
        <p className={styles["quiet"]}>Once the rule is valid, it is tested on these posts as you type.</p>
      ) : envelopes.length === 0 ? (
        <NoPosts isStored={source === "stored"} />
      ) : (
        <VirtualList
          label="Verdicts"
          rows={shown}
          rowKey={keyOf}
          row={(verdict) => verdictRow(value, verdict)}
          rowHeight={110}
          height="640px"
        />
      )}
    </Panel>
  )
}

const noPosts: readonly Envelope[] = []
const sources = { stored: "Newest 100 posts", past: "Posts since a time", pasted: "Pasted posts" } as const
type Source = keyof typeof sources
const keyOf = ({ envelope }: Verdict): string => envelope.data.id

function Choice<Value extends string>({
  label,
  options,
  value,
  onChange,
}: {
  readonly label: string
  readonly options: Readonly<Record<Value, string>>
  readonly value: Value
  readonly onChange: (value: Value) => void
}): ReactNode {
  return (
    <div className={styles["filters"]} role="group" aria-label={label}>
      {(Object.keys(options) as Value[]).map((one) => (
        <Button key={one} size="small" aria-pressed={one === value} onClick={() => onChange(one)}>
          {options[one]}
        </Button>
      ))}
    </div>
  )
}

function Summary({
  value,
  isValid,
  verdicts,
}: {
  readonly value: string
  readonly isValid: boolean
  readonly verdicts: readonly Verdict[] | undefined
}): ReactNode {
  const rate = useRate(value, isValid)
  const matched = verdicts?.filter(({ kind }) => kind === "match").length
  const meta = isValid ? rate.data?.meta : undefined
  const perHour = meta?.estimated_per_day === undefined ? undefined : meta.estimated_per_day / 24
  return (
    <div className={styles["summary"]} role="status">
      {matched === undefined ? (
        <span>Not tested yet.</span>
      ) : (
        <span>
          <strong>{matched}</strong> of {verdicts?.length} posts match
        </span>
      )}
      {meta !== undefined && meta.tested > 0 && (
        <span>
          {countText(meta.matched)} of the newest {countText(meta.tested)} stored posts
          {perHour !== undefined && (
            <>
              {", about "}
              <strong>{perHour.toLocaleString(undefined, { maximumSignificantDigits: 3 })}</strong> an hour
            </>
          )}
        </span>
      )}
      {isValid &&
        rate.data?.warnings.map(({ message }) => (
          <span key={message} className={styles["warning"]}>
            {message}
          </span>
        ))}
    </div>
  )
}

function verdictRow(value: string, verdict: Verdict): ReactNode {
  const isMatch = verdict.kind === "match"
  return (
    <div className={styles["verdict"]}>
      <div>
        <Badge tone={isMatch ? "good" : "neutral"}>{isMatch ? "matches" : "no match"}</Badge>
      </div>
      <div>
        <PostCard envelope={verdict.envelope} spans={isMatch ? verdict.spans : []} />
        {!isMatch && <WhyNot value={value} failed={verdict.failed} />}
      </div>
    </div>
  )
}

/** The rule with its failed clauses underlined, and named below. */
function WhyNot({ value, failed }: { readonly value: string; readonly failed: readonly FailedPart[] }): ReactNode {
  const [missing, unwanted] = [failed.filter((one) => !one.isUnwanted), failed.filter((one) => one.isUnwanted)]
  return (
    <div className={styles["why"]}>
      <p>
        <RuleText value={value} failed={failed} />
      </p>
      <p className={styles["failed"]}>
        {missing.length > 0 && (
          <>
            Missing: <Operators parts={missing} />
            {unwanted.length > 0 && ". "}
          </>
        )}
        {unwanted.length > 0 && (
          <>
            Excluded: <Operators parts={unwanted} />
          </>
        )}
      </p>
    </div>
  )
}

function Operators({ parts }: { readonly parts: readonly FailedPart[] }): ReactNode {
  const shown = parts.slice(0, 8)
  return (
    <>
      {shown.map(({ operator, start }, index) => (
        <span key={start}>
          {index > 0 && ", "}
          <code>{operator}</code>
        </span>
      ))}
      {parts.length > shown.length && ` and ${parts.length - shown.length} more`}
    </>
  )
}

function NoPosts({ isStored }: { readonly isStored: boolean }): ReactNode {
  return isStored ? (
    <EmptyState title="No posts yet">
      To send posts, run <code>sluice import posts.ndjson</code>; or paste posts above.
    </EmptyState>
  ) : (
    <p className={styles["quiet"]}>Paste posts above.</p>
  )
}
