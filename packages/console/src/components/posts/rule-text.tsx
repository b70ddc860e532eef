/** The text of a rule, highlighted, with its failed clauses underlined. */
import { tokensOf, type RuleToken } from "@sluice/rules"
import type { ReactNode } from "react"
import styles from "./rule-text.module.css"

/** A range of the rule in UTF-16 units from 0, `end` exclusive. */
interface Range {
  readonly start: number
  readonly end: number
}

const noRanges: readonly Range[] = []

/** The highlighted text. `isLine`: on one line, truncated. */
export function RuleText({
  value,
  failed = noRanges,
  isLine = false,
}: {
  readonly value: string
  readonly failed?: readonly Range[]
  readonly isLine?: boolean
}): ReactNode {
  const pieces = piecesOf(value, failed)
  return (
    <span className={`${styles["rule"]} ${isLine ? styles["line"] : ""}`} title={isLine ? value : undefined}>
      {pieces.map(({ start, end, kind, isFailed }) => {
        const text = value.slice(start, end)
        const classes = `${kind === undefined ? "" : (styles[kind] ?? "")} ${isFailed ? styles["failed"] : ""}`
        return (
          <span key={start} className={classes}>
            {text}
          </span>
        )
      })}
    </span>
  )
}

interface Piece extends Range {
  readonly kind: RuleToken["kind"] | undefined
  readonly isFailed: boolean
}

/** The text, split where a token or a failed clause starts or ends. */
function piecesOf(value: string, failed: readonly Range[]): readonly Piece[] {
  const tokens = tokensOf(value)
  const edges = new Set([0, value.length, ...[...tokens, ...failed].flatMap(({ start, end }) => [start, end])])
  const sorted = [...edges].toSorted((a, b) => a - b)
  let at = 0
  return sorted.slice(0, -1).map((start, index) => {
    const end = sorted[index + 1] ?? value.length
    while ((tokens[at]?.end ?? Infinity) <= start) at += 1
    const token = tokens[at]
    return {
      start,
      end,
      kind: token !== undefined && token.start <= start ? token.kind : undefined,
      isFailed: failed.some((one) => one.start <= start && one.end >= end),
    }
  })
}
