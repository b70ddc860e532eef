/** Tests the rule on all stored posts since a time, with its true rate and its cost. */
import type { RuleTestSum } from "@sluice/client"
import { useState, type ReactNode } from "react"
import { Button } from "../../../components/button.tsx"
import { countText, nounText } from "../../../components/counts.ts"
import { Form } from "../../../components/form.tsx"
import { VirtualList } from "../../../components/lists/virtual-list.tsx"
import { PostCard } from "../../../components/posts/post-card.tsx"
import { Progress } from "../../../components/progress.tsx"
import { faultAbout } from "../../../components/request-faults.ts"
import { ErrorNote } from "../../../components/states.tsx"
import { Time } from "../../../components/time.tsx"
import { SinceFields } from "../since-fields.tsx"
import { isEmpty, sinceInstant, type Since } from "../since.ts"
import styles from "./past-tester.module.css"
import { usePastTest, type PastTest, type PastTestRun, type ShownMatch } from "./use-past-test.ts"

const spans = [
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
  ["custom", "Custom"],
] as const

/** The tester on the past of the rule in the editor. It starts at a click: a test may take many requests. */
export function PastTester({ value, isValid }: { readonly value: string; readonly isValid: boolean }): ReactNode {
  const [since, setSince] = useState<Since>({ kind: "7d" })
  const [started, setStarted] = useState<PastTestRun>()
  // A changed rule has not been tested.
  const run = isValid && started?.value === value ? started : undefined
  const test = usePastTest(run)
  const fault = faultAbout(test.error, "since")
  const start = (): void => {
    const atMs = Date.now()
    const instant = sinceInstant(since, atMs)
    if (isValid && instant !== undefined) setStarted({ value, since: instant, atMs })
  }
  return (
    <>
      <div className={styles["form"]}>
        <Form onSubmit={start}>
          <div className={styles["controls"]}>
            <SinceFields
              label="Time"
              options={spans}
              since={since}
              endMs={Date.now}
              error={fault}
              onChange={setSince}
            />
            <Button type="submit" isBusy={test.isRunning} disabled={!isValid || isEmpty(since)}>
              Test
            </Button>
          </div>
          {fault === undefined && <ErrorNote error={test.error} />}
        </Form>
      </div>
      {run === undefined ? (
        <p className={styles["quiet"]}>
          {isValid
            ? "The rule is tested on every stored post of this time, from the newest on."
            : "Once the rule is valid, it can be tested on the stored posts of this time."}
        </p>
      ) : (
        <>
          <Summary test={test} />
          <VirtualList
            label="Matches"
            rows={test.matches}
            rowKey={({ envelope }) => envelope.data.id}
            row={matchRow}
            rowHeight={90}
            height="640px"
          />
        </>
      )}
    </>
  )
}

function matchRow({ envelope, spans: matched }: ShownMatch): ReactNode {
  return (
    <div className={styles["match"]}>
      <PostCard envelope={envelope} spans={matched} />
    </div>
  )
}

function Summary({ test }: { readonly test: PastTest }): ReactNode {
  const { summary, matches, progress, isRunning, hasMore } = test
  return (
    <div className={styles["summary"]}>
      <div className={styles["facts"]} role="status">
        {summary === undefined ? <span>{isRunning ? "Testing …" : "Not tested."}</span> : <Facts of={summary} />}
        {summary !== undefined && !isRunning && hasMore && <span>Stopped before the end.</span>}
      </div>
      {(isRunning || hasMore) && (
        <div className={styles["progress"]}>
          <Progress label="Progress of the test" done={progress} all={1} />
          {isRunning ? (
            <Button size="small" onClick={test.stop}>
              Stop
            </Button>
          ) : (
            <Button size="small" onClick={test.goOn}>
              Go on
            </Button>
          )}
        </div>
      )}
      {summary?.warnings.map((message) => (
        <p key={message} className={styles["warning"]}>
          {message}
        </p>
      ))}
      {summary !== undefined && matches.length < summary.matched && (
        <p>The newest {nounText(matches.length, "match", "matches")} are shown.</p>
      )}
    </div>
  )
}

function Facts({ of }: { readonly of: RuleTestSum }): ReactNode {
  const { tested, matched, share, matchesPerDay, cost, times } = of
  if (times === undefined) return <span>No posts of this time are stored.</span>
  return (
    <>
      <span>
        <strong>{countText(matched)}</strong> of {nounText(tested, "post")} {matched === 1 ? "matches" : "match"} (
        {share.toLocaleString(undefined, { style: "percent", maximumSignificantDigits: 2 })})
      </span>
      {matchesPerDay !== undefined && (
        <span>
          <strong>{matchesPerDay.toLocaleString(undefined, { maximumSignificantDigits: 3 })}</strong> a day
        </span>
      )}
      <span>costs {nounText(cost, "step")} a post</span>
      <span>
        posts from <Time at={times.fromMs} form="absolute" /> to <Time at={times.toMs} form="absolute" />
      </span>
    </>
  )
}
