/** The verdicts of a rule for posts: each match with its reasons, and each mismatch with the clauses that failed. */
import type { Span } from "@sluice/rules"
import type { ReactNode } from "react"
import { Badge } from "../badge.tsx"
import { VirtualList } from "../lists/virtual-list.tsx"
import { PostCard } from "../posts/post-card.tsx"
import { RuleText } from "../posts/rule-text.tsx"
import type { FailedPart, Verdict } from "./try-rule.ts"
import styles from "./verdict-list.module.css"

/** The verdicts that a list may show, with their names. */
export const verdictKinds = { all: "All", match: "Matching", miss: "Not matching" } as const
export type VerdictKind = keyof typeof verdictKinds

/** The verdicts of one kind. `areLinked`: posts and authors lead to their pages in the console. */
export function VerdictList({
  value,
  verdicts,
  kind,
  areLinked = true,
}: {
  /** The rule that the verdicts are of. */
  readonly value: string
  readonly verdicts: readonly Verdict[]
  readonly kind: VerdictKind
  readonly areLinked?: boolean
}): ReactNode {
  return (
    <VirtualList
      label="Verdicts"
      rows={kind === "all" ? verdicts : verdicts.filter((verdict) => verdict.kind === kind)}
      rowKey={keyOf}
      row={(verdict) => verdictRow(value, verdict, areLinked)}
      rowHeight={110}
      height="640px"
    />
  )
}

const noSpans: readonly Span[] = []
const keyOf = ({ envelope }: Verdict): string => envelope.data.id

function verdictRow(value: string, verdict: Verdict, areLinked: boolean): ReactNode {
  const isMatch = verdict.kind === "match"
  return (
    <div className={styles["verdict"]}>
      <div>
        <Badge tone={isMatch ? "good" : "neutral"}>{isMatch ? "matches" : "no match"}</Badge>
      </div>
      <div>
        <PostCard envelope={verdict.envelope} spans={isMatch ? verdict.spans : noSpans} isLinked={areLinked} />
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
