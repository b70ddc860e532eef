import type { StreamLine } from "@sluice/client"
import type { Terminal } from "./terminal.ts"
import { padded } from "./table.ts"
import { terminalText, textWidth } from "./terminal-text.ts"

/** A line of the stream, or the body of a delivery. */
export type StreamRecord = NonNullable<StreamLine["body"]>

/** Columns for the rules of a post. */
const rulesColumnsMax = 20

/** Columns for its author: X's usernames have at most 15 characters. */
const authorColumnsMax = 16

/** A match as one line: its rules by their tags, its author where it is known, its text cut to what is left, if columns end. */
export function streamedPost(record: StreamRecord, { style, columns }: Pick<Terminal, "style" | "columns">): string {
  const { data, includes, matching_rules: rules = [], matching_rules_omitted: omitted } = record
  const [rulesMax, authorMax] = Number.isFinite(columns) ? [rulesColumnsMax, authorColumnsMax] : [columns, columns]
  const more = omitted === undefined ? [] : [`${omitted} more`]
  const names = terminalText([...rules.map(({ id, tag }) => (tag === "" ? id : tag)), ...more].join(" + "), rulesMax)
  const author = includes?.users?.find(({ id }) => id === data?.author_id)?.["username"]
  const name = typeof author === "string" ? `${padded(terminalText(`@${author}`, authorMax), authorColumnsMax)}  ` : ""
  const room = columns - rulesColumnsMax - 2 - textWidth(name)
  return `${style.mark(padded(names, rulesColumnsMax))}  ${style.faint(name)}${terminalText(data?.text ?? "", Math.max(room, 12))}`
}
