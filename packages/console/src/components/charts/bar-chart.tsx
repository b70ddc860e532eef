/** Counts over time as bars that are buttons: one stop of the Tab key, and arrow keys between them. */
import { useState, type KeyboardEvent, type ReactNode } from "react"
import styles from "./bar-chart.module.css"
import type { Bar } from "./bars.ts"
import { countScale } from "./scales.ts"

/** Keys that move between the bars, and where to. */
const moves: Readonly<Record<string, (index: number, last: number) => number>> = {
  ArrowLeft: (index) => index - 1,
  ArrowRight: (index) => index + 1,
  Home: () => 0,
  End: (_, last) => last,
}

/** Bars, the oldest first; at least one. The text of the bar under the pointer or in focus stands above them. */
export function BarChart({
  label,
  hint,
  bars,
  textOf,
  onChoose,
}: {
  /** The accessible name. */
  readonly label: string
  /** Says what choosing a bar does; shown while no bar is pointed at. */
  readonly hint: string
  readonly bars: readonly Bar[]
  /** A bar in words. */
  readonly textOf: (bar: Bar) => string
  readonly onChoose: (bar: Bar) => void
}): ReactNode {
  const last = bars.length - 1
  const [focused, setFocused] = useState(last)
  const [pointed, setPointed] = useState<number>()
  const stop = Math.min(focused, last)
  const shown = pointed === undefined ? undefined : bars[pointed]
  const max = Math.max(1, ...bars.map(({ count }) => count))
  const move = (event: KeyboardEvent<HTMLDivElement>): void => {
    const next = moves[event.key]?.(stop, last)
    const bar = next === undefined ? undefined : event.currentTarget.children[next]
    if (!(bar instanceof HTMLElement)) return
    event.preventDefault()
    bar.focus()
  }
  return (
    <div>
      <p className={styles["readout"]}>{shown === undefined ? hint : textOf(shown)}</p>
      <div className={styles["plot"]}>
        {countScale.ticks(max).map((tick) => (
          <div key={tick} className={styles["line"]} style={{ bottom: `${(tick / max) * 100}%` }} aria-hidden="true">
            <span>{countScale.format(tick)}</span>
          </div>
        ))}
        <div
          role="toolbar"
          tabIndex={-1}
          aria-label={label}
          className={styles["bars"]}
          onKeyDown={move}
          onPointerLeave={() => setPointed(undefined)}
          onBlur={() => setPointed(undefined)}
        >
          {bars.map((bar, index) => (
            <button
              key={bar.startMs}
              type="button"
              tabIndex={index === stop ? 0 : -1}
              aria-label={textOf(bar)}
              className={styles["bar"]}
              onClick={() => onChoose(bar)}
              onPointerEnter={() => setPointed(index)}
              onFocus={() => {
                setFocused(index)
                setPointed(index)
              }}
            >
              {bar.count > 0 && <span style={{ height: `${(bar.count / max) * 100}%` }} />}
            </button>
          ))}
        </div>
      </div>
      <div className={styles["times"]} aria-hidden="true">
        {timesOf(bars).map(({ key, text }) => (
          <span key={key}>{text}</span>
        ))}
      </div>
    </div>
  )
}

const dayMs = 86_400_000

/** The times below the first bar, the middle one and the end, in the viewer's zone. */
function timesOf(bars: readonly Bar[]): readonly { readonly key: string; readonly text: string }[] {
  const [start, end] = [bars.at(0)?.startMs ?? 0, bars.at(-1)?.endMs ?? 0]
  const middle = bars[Math.floor(bars.length / 2)]?.startMs ?? 0
  const spanMs = end - start
  const isOfOneDay = new Date(start).toDateString() === new Date(end).toDateString()
  const format = new Intl.DateTimeFormat(undefined, {
    ...(!isOfOneDay && { month: "short", day: "numeric" }),
    ...(spanMs > 300 * dayMs && { year: "numeric" }),
    ...(spanMs <= 3 * dayMs && { hour: "numeric", minute: "2-digit" }),
  })
  const places = [["start", start], ...(bars.length > 2 ? ([["middle", middle]] as const) : []), ["end", end]] as const
  return places.map(([key, atMs]) => ({ key, text: format.format(atMs) }))
}
