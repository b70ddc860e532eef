import { useSyncExternalStore, type ReactNode } from "react"
import { relativeText } from "./relative-time.ts"

/** One timer updates all times of the page together. */
const tickMs = 10_000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let nowMs = Date.now()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  // Without a listener, the timer was stopped and the value is old.
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

/** An instant in the viewer's zone, relative to now or absolute. The other form and UTC show on hover. */
export function Time({
  at,
  form = "relative",
}: {
  /** An instant in the API's form, or Unix ms. */
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
      style={{ fontVariantNumeric: "tabular-nums" }}
    >
      {form === "relative" ? since : local}
    </time>
  )
}
