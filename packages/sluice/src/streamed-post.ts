import type { Terminal } from "./terminal.ts"
import { padded } from "./table.ts"
import { terminalText, textWidth } from "./terminal-text.ts"

/** What comes down a stream connection or to a webhook. */
export interface StreamRecord {
  readonly data?: { readonly id: string; readonly text: string; readonly author_id?: string }
  readonly includes?: { readonly users?: readonly { readonly id: string; readonly username?: string }[] }
  readonly matching_rules?: readonly { readonly id: string; readonly tag?: string }[]
}

/** Columns for the rules of a post. */
const rulesColumnsMax = 20

/** Columns for its author: X's usernames have at most 15 characters. */
const authorColumnsMax = 16

/** A match as one line: its rules by their tags, its author where it is known, its text cut to what is left. */
export function streamedPost(
  record: StreamRecord,
  { style, columns }: Pick<Terminal, "style" | "columns">,
): string {
  const { data, includes, matching_rules: rules = [] } = record
  const names = terminalText(rules.map(({ id, tag }) => tag ?? id).join(" + "), rulesColumnsMax)
  const author = includes?.users?.find(({ id }) => id === data?.author_id)?.username
  const name =
    author === undefined ? "" : `${padded(terminalText(`@${author}`, authorColumnsMax), authorColumnsMax)}  `
  const room = columns - rulesColumnsMax - 2 - textWidth(name)
  return `${style.mark(padded(names, rulesColumnsMax))}  ${style.faint(name)}${terminalText(data?.text ?? "", Math.max(room, 12))}`
}
