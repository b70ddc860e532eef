import { useSyncExternalStore, type ReactNode } from "react"
import { relativeText } from "./relative-time.ts"

/** All times of the page are written anew at the same moment: one timer, however many there are. */
const tickMs = 10_000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let nowMs = Date.now()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  // While no time was shown, nobody counted on.
  if (timer === undefined) nowMs = Date.now()
  timer ??= setInterval(() => {
    nowMs = Date.now()
    for (const one of listeners) one()
  }, tickMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })

/** An instant in the viewer's zone: `relative` beside now, or whole. The other, and UTC, show on hover. */
export function Time({
  at,
  form = "relative",
}: {
  /** As the API has it, or Unix ms. */
  readonly at: string | number
  readonly form?: "relative" | "absolute"
}): ReactNode {
  const now = useSyncExternalStore(subscribe, () => nowMs)
  const date = new Date(at)
  const local = absolute.format(date)
  const since = relativeText(date.getTime(), now)
  const utc = date
    .toISOString()
    .replace("T", " ")
    .replace(/(\.000)?Z$/, " UTC")
  return (
    <time
      dateTime={date.toISOString()}
      title={form === "relative" ? `${local}\n${utc}` : `${since}\n${utc}`}
      className="numeric"
    >
      {form === "relative" ? since : local}
    </time>
  )
}
