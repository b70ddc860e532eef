import { streamedPost, type StreamRecord } from "./streamed-post.ts"
import { terminalText, textWidth } from "./terminal-text.ts"
import type { Terminal } from "./terminal.ts"

/** A delivery as far as its line shows it. */
interface ShownDelivery {
  readonly atMs: number
  readonly durationMs: number
  readonly status: number
  readonly isRepeat: boolean
  /** JSON. */
  readonly body: string
  readonly note?: string
}

/** Longest remark, in columns. */
const remarkColumnsMax = 60

/** Fewest columns that the post gets. */
const postColumnsMin = 40

/** A delivery as one line: its time here, the status of the response, how long that took, rules and text. */
export function deliveryLine(delivery: ShownDelivery, terminal: Pick<Terminal, "style" | "columns">): string {
  const { style, columns } = terminal
  const { atMs, durationMs, status, isRepeat, body, note } = delivery
  const time = new Date(atMs).toTimeString().slice(0, 8)
  const duration = `${String(Math.round(durationMs))} ms`.padStart(8)
  const head = `${time}  ${String(status)}  ${duration}  `
  const remarks = [...(isRepeat ? ["repeat"] : []), ...(note === undefined ? [] : [note])]
  const remark = remarks.length === 0 ? "" : terminalText(`(${remarks.join("; ")}) `, remarkColumnsMax)
  const isGood = status >= 200 && status < 300
  const shown = [style.faint(time), (isGood ? style.good : style.bad)(String(status)), style.faint(duration), ""].join(
    "  ",
  )
  const left = Math.max(columns - textWidth(head) - textWidth(remark), postColumnsMin)
  const post = streamedPost(JSON.parse(body) as StreamRecord, { style, columns: left })
  return shown + style.mark(remark) + post
}
