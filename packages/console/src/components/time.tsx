import { useSyncExternalStore, type ReactNode } from "react"

/** All times of the page are written anew at the same moment: one timer, however many there are. */
const tickMs = 10_000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let nowMs = Date.now()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
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
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" })

const steps = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const

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
  const since = relativeText(date.getTime(), Math.max(now, date.getTime() - tickMs))
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

/** How long before (or after) `now` a moment is. */
function relativeText(atMs: number, now: number): string {
  const differenceMs = atMs - now
  const [unit, unitMs] = steps.find(([, ms]) => Math.abs(differenceMs) >= ms) ?? ["second", 1_000]
  const count = Math.round(differenceMs / unitMs)
  return count === 0 ? "now" : relative.format(count, unit)
}
