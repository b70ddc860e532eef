/** Bar charts of the figures, as SVG files that are legible on light and on dark pages. */
import type { FindFigure } from "./runs.ts"

/** A group of bars over one label: the program's, then the limit's. */
interface Group {
  readonly label: string
  readonly value: number
  readonly limit: number
}

/** One chart. */
interface Plot {
  readonly title: string
  readonly xAxis: string
  readonly limitIs: string
  readonly groups: readonly Group[]
}

const [width, height] = [420, 300] as const
const frame = { left: 14, right: 406, top: 74, bottom: 246 } as const

/** The plots of docs/performance.md, by their file names. */
export function plotFiles(find: FindFigure): ReadonlyMap<string, string> {
  const group = (name: string, label: string, of: (value: number) => number = (value) => value): Group => {
    const { value, limit } = find(name)
    return { label, value: of(value), limit: of(limit ?? Number.NaN) }
  }
  const ratio = (name: string, label: string): Group => ({ label, value: find(name).ratio ?? Number.NaN, limit: 1 })
  const microsecondsEach = (perSecond: number): number => 1e6 / perSecond
  const plots: Readonly<Record<string, Plot>> = {
    matching: {
      title: "Matching a post, times JSON.parse",
      xAxis: "rules",
      limitIs: "JSON.parse alone",
      groups: [
        ratio("match-from-bytes-1k", "1,000"),
        ratio("match-from-bytes-10k", "10,000"),
        ratio("match-from-bytes-100k", "100,000"),
        ratio("match-from-bytes-1m", "1,000,000"),
      ],
    },
    deliveries: {
      title: "A delivery to a webhook, µs",
      xAxis: "links",
      limitIs: "bare loop of undici",
      groups: [1, 10, 100, 1000].map((count) =>
        group(`deliver-${count}`, count.toLocaleString("en"), microsecondsEach),
      ),
    },
    "end-to-end": {
      title: "Post due until handler ran, p99, ms",
      xAxis: "posts a second",
      limitIs: "bare relay",
      groups: [100, 1000, 2000, 5000].map((rate) =>
        group(`end-to-end-${rate}-from-due-p99`, rate.toLocaleString("en")),
      ),
    },
  }
  return new Map(Object.entries(plots).map(([name, plot]) => [`${name}.svg`, drawn(plot)]))
}

const style = `
    text { font: 15px system-ui, sans-serif; fill: #1f2328; }
    .title { font-weight: 600; font-size: 17px; }
    .number { font-size: 14px; text-anchor: middle; }
    .label { text-anchor: middle; }
    .page { fill: #ffffff; }
    .program { fill: #0969da; }
    .limit { fill: #9aa4af; }
    .axis { stroke: #59636e; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .page { fill: #161b22; }
      .program { fill: #58a6ff; }
      .limit { fill: #6e7681; }
      .axis { stroke: #9198a1; }
    }`

function drawn({ title, xAxis, limitIs, groups }: Plot): string {
  const highest = Math.max(...groups.flatMap(({ value, limit }) => [value, limit]))
  const step = (frame.right - frame.left) / groups.length
  const bars = groups.flatMap(({ label, value, limit }, at) => {
    const middle = frame.left + step * (at + 0.5)
    return [
      ...bar("program", middle - 22, value, highest),
      ...bar("limit", middle + 22, limit, highest),
      `<text class="label" x="${round(middle)}" y="${frame.bottom + 20}">${label}</text>`,
    ]
  })
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">`,
    `  <title>${title}</title>`,
    `  <style>${style}\n  </style>`,
    `  <rect class="page" width="${width}" height="${height}" rx="6"/>`,
    `  <text class="title" x="${frame.left}" y="26">${title}</text>`,
    `  <rect class="program" x="${frame.left}" y="38" width="12" height="12"/><text x="${frame.left + 18}" y="49">Sluice</text>`,
    `  <rect class="limit" x="${frame.left + 84}" y="38" width="12" height="12"/><text x="${frame.left + 102}" y="49">${limitIs}</text>`,
    ...bars.map((line) => `  ${line}`),
    `  <line class="axis" x1="${frame.left}" y1="${frame.bottom}" x2="${frame.right}" y2="${frame.bottom}"/>`,
    `  <text class="label" x="${width / 2}" y="${height - 12}">${xAxis}</text>`,
    "</svg>",
  ]
  return `${lines.join("\n")}\n`
}

function bar(kind: string, middle: number, value: number, highest: number): readonly string[] {
  const length = ((frame.bottom - frame.top) * value) / highest
  const top = frame.bottom - length
  return [
    `<rect class="${kind}" x="${round(middle - 18)}" y="${round(top)}" width="36" height="${round(length)}"/>`,
    `<text class="number" x="${round(middle)}" y="${round(top - 5)}">${Number(value.toPrecision(3))}</text>`,
  ]
}

function round(value: number): string {
  return String(Number(value.toFixed(1)))
}
