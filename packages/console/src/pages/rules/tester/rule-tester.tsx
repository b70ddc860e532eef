/** Tests the rule on posts before it is saved, and explains each match and mismatch. */
import type { Envelope } from "@sluice/api"
import { useMemo, useState, type ReactNode } from "react"
import { useApi } from "../../../api/use-api.ts"
import { Choice } from "../../../components/choice.tsx"
import { countText } from "../../../components/counts.ts"
import { Field } from "../../../components/field.tsx"
import { Panel } from "../../../components/panel.tsx"
import { readEnvelopes } from "../../../components/rules/pasted-posts.ts"
import type { Verdict } from "../../../components/rules/try-rule.ts"
import { VerdictList, verdictKinds, type VerdictKind } from "../../../components/rules/verdict-list.tsx"
import { EmptyState } from "../../../components/states.tsx"
import { PastTester } from "./past-tester.tsx"
import styles from "./rule-tester.module.css"
import { useRate, useVerdicts } from "./use-verdicts.ts"

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
  const [kind, setKind] = useState<VerdictKind>("all")
  const stored = useApi("posts", { query: { max_results: 100 } }, { enabled: source === "stored" })
  const read = useMemo(() => readEnvelopes(pasted), [pasted])
  const storedEnvelopes = stored.data?.data ?? noPosts
  const envelopes = source === "stored" ? storedEnvelopes : read.envelopes
  const { verdicts, error } = useVerdicts(value, envelopes, isValid)
  return (
    <Panel
      title="Test"
      isFlush
      error={error}
      actions={
        <>
          {choice}
          <Choice label="Verdicts to show" options={verdictKinds} value={kind} onChange={setKind} />
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
        <VerdictList value={value} verdicts={verdicts ?? noVerdicts} kind={kind} />
      )}
    </Panel>
  )
}

const noPosts: readonly Envelope[] = []
const noVerdicts: readonly Verdict[] = []
const sources = { stored: "Newest 100 posts", past: "Posts since a time", pasted: "Pasted posts" } as const
type Source = keyof typeof sources

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

function NoPosts({ isStored }: { readonly isStored: boolean }): ReactNode {
  return isStored ? (
    <EmptyState title="No posts yet">
      To send posts, run <code>sluice import posts.ndjson</code>; or paste posts above.
    </EmptyState>
  ) : (
    <p className={styles["quiet"]}>Paste posts above.</p>
  )
}
