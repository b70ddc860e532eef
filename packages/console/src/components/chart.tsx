/** Series over time, drawn by uPlot in the colours of the theme. */
import { useEffect, useRef, type ReactNode } from "react"
import uPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import styles from "./chart.module.css"

/** A line of a chart. */
export interface Series {
  readonly label: string
  readonly colour: 1 | 2 | 3 | 4
  /** As many as there are instants; null where nothing is known. */
  readonly values: readonly (number | null)[]
}

/** Lines over the same instants. The latest values stand above it as text, so nothing is said by lines alone. */
export function Chart({
  title,
  times,
  series,
  format,
  height = 160,
}: {
  readonly title: string
  /** Unix ms, rising. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  readonly height?: number
}): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const formatted = useRef(format)
  formatted.current = format
  const shape = series.map(({ label, colour }) => `${label}/${colour}`).join()
  const data = useRef<uPlot.AlignedData>([[]])
  data.current = [times.map((atMs) => atMs / 1000), ...series.map(({ values }) => [...values])]

  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const draw = (): void => {
      plot.current?.destroy()
      plot.current = new uPlot(
        optionsOf(element, height, shape, (value) => formatted.current(value)),
        data.current,
        element,
      )
    }
    draw()
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }))
    resized.observe(element)
    // The canvas does not follow the theme by itself.
    const themed = new MutationObserver(draw)
    themed.observe(document.documentElement, { attributeFilter: ["data-theme"] })
    const system = matchMedia("(prefers-color-scheme: dark)")
    system.addEventListener("change", draw)
    return () => {
      resized.disconnect()
      themed.disconnect()
      system.removeEventListener("change", draw)
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [shape, height])

  useEffect(() => plot.current?.setData(data.current), [times, series])

  return (
    <figure className={styles["chart"]}>
      <figcaption>
        <h2>{title}</h2>
        <ul>
          {series.map(({ label, colour, values }) => {
            const latest = values.findLast((value) => value !== null)
            return (
              <li key={label}>
                <span className={styles["dot"]} style={{ background: `var(--series-${colour})` }} />
                {label}{" "}
                <strong className="numeric">{latest === undefined || latest === null ? "–" : format(latest)}</strong>
              </li>
            )
          })}
        </ul>
      </figcaption>
      <div ref={place} style={{ height }} aria-hidden="true" />
    </figure>
  )
}

function optionsOf(
  element: HTMLElement,
  height: number,
  shape: string,
  format: (value: number) => string,
): uPlot.Options {
  const colourOf = (name: string): string => {
    const probe = document.createElement("span")
    probe.style.color = `var(${name})`
    element.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
  const axis = { stroke: colourOf("--text-faint"), font: "11px system-ui", ticks: { show: false } }
  const grid = { stroke: colourOf("--border"), width: 1 }
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    scales: { y: { range: (_, _min, max) => [0, Math.max(max * 1.1, 1)] } },
    axes: [
      { ...axis, grid: { show: false }, space: 80 },
      { ...axis, grid, size: 48, space: 36, values: (_, ticks) => ticks.map(format) },
    ],
    series: [
      {},
      ...shape.split(",").map((one): uPlot.Series => {
        const colour = colourOf(`--series-${one.slice(-1)}`)
        return { stroke: colour, width: 1.5, points: { show: false }, spanGaps: false }
      }),
    ],
  }
}

/** A line without axes, in the height of a text: the course of one number. `label` says what it shows. */
export function Sparkline({
  values,
  label,
  width = 96,
  height = 20,
}: {
  readonly values: readonly number[]
  readonly label: string
  readonly width?: number
  readonly height?: number
}): ReactNode {
  const max = Math.max(...values, 1)
  const step = width / Math.max(values.length - 1, 1)
  const points = values.map(
    (value, index) => `${(index * step).toFixed(1)},${(height - 1 - (value / max) * (height - 2)).toFixed(1)}`,
  )
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <polyline
        points={points.join(" ")}
        fill="none"
        stroke="var(--series-1)"
        strokeWidth="1.25"
        strokeLinejoin="round"
      />
    </svg>
  )
}
