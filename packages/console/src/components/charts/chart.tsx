/** Series over time, drawn by uPlot in the colours of the theme. */
import { useEffect, useRef, type ReactNode } from "react"
import uPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import styles from "./chart.module.css"
import { isolatedIndexes } from "./isolated-indexes.ts"
import type { Scale } from "./scales.ts"

/** Height of a chart, in px. */
const height = 160

/** A line of a chart. */
export interface Series {
  readonly label: string
  readonly colour: 1 | 2 | 3 | 4
  /** One for each instant; null where the value is unknown. */
  readonly values: readonly (number | null)[]
}

/** Lines over the same instants. The latest values stand above the chart as text, for readers who cannot see it. */
export function Chart({
  title,
  times,
  series,
  scale,
}: {
  readonly title: string
  /** Unix ms, rising. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly scale: Scale
}): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const shape = series.map(({ label, colour }) => `${label}/${colour}`).join()
  const data = useRef<uPlot.AlignedData>([[]])
  data.current = [times.map((atMs) => atMs / 1000), ...series.map(({ values }) => [...values])]

  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const draw = (): void => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsOf(element, shape, scale), data.current, element)
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
  }, [shape, scale])

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
                {label} <strong>{latest === undefined || latest === null ? "–" : scale.format(latest)}</strong>
              </li>
            )
          })}
        </ul>
      </figcaption>
      <div ref={place} style={{ height }} aria-hidden="true" />
    </figure>
  )
}

function optionsOf(element: HTMLElement, shape: string, scale: Scale): uPlot.Options {
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
      {
        ...axis,
        grid,
        size: 48,
        splits: (_, _axis, _min, max) => [...scale.ticks(max)],
        values: (_, ticks) => ticks.map(scale.format),
      },
    ],
    series: [
      {},
      ...shape.split(",").map((one): uPlot.Series => {
        const colour = colourOf(`--series-${one.slice(-1)}`)
        // A line needs two values: an isolated one is drawn as a point.
        const points = {
          show: false,
          size: 4,
          fill: colour,
          filter: ({ data }: uPlot, index: number) => isolatedIndexes(data[index] ?? []),
        }
        return { stroke: colour, width: 1.5, points, spanGaps: false }
      }),
    ],
  }
}
