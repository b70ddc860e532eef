/** A post that a rule matched, and how people are shown why. */
import type { Operations } from "@sluice/client"
import type { Terminal } from "./terminal.ts"
import { terminalText, textWidth } from "./terminal-text.ts"

/** A post with the operators that held of it. A server may know parts of a post that this command does not. */
export interface RuleMatch {
  readonly id: string
  readonly spans: readonly Span[]
}

type Span = Operations["ruleTest"]["POST"]["response"]["data"][number]["spans"][number]

/** A match for people: the post with what matched made to stand out, then what matched where. */
export function matchedPost(
  match: RuleMatch,
  postText: string | undefined,
  terminal: Pick<Terminal, "style" | "columns">,
): string[] {
  const { style, columns } = terminal
  const id = style.strong(terminalText(match.id, 24))
  const reasons = [...new Set(match.spans.map(reasonOf))].join(" · ")
  const why = `  ${style.faint(terminalText(reasons, columns - 2))}`
  if (postText === undefined) return [id, why]
  return [`${id}  ${highlighted(postText, match.spans, columns - 22, style.mark)}`, why]
}

function reasonOf({ operator, where, start, end }: Span): string {
  return start === undefined || end === undefined
    ? `${operator} (${where})`
    : `${operator} (${where} ${String(start)}–${String(end)})`
}

/** The beginning of a text with the spans in it marked, cut to `columns`. */
function highlighted(text: string, spans: readonly Span[], columns: number, mark: (text: string) => string): string {
  const codePoints = Array.from(text.slice(0, columns * 4))
  const isMarked = codePoints.map(() => false)
  for (const { where, start = 0, end = 0 } of spans) if (where === "text") isMarked.fill(true, start, end)
  let line = ""
  let left = columns
  for (let from = 0; from < codePoints.length && left > 0;) {
    let to = from
    while (to < codePoints.length && isMarked[to] === isMarked[from]) to++
    const piece = terminalText(codePoints.slice(from, to).join(""), left)
    line += isMarked[from] === true ? mark(piece) : piece
    left -= textWidth(piece)
    from = to
  }
  return line
}
