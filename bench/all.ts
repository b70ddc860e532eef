/**
 * Every bench but `memory`, which takes half an hour, each in a process of its own, as one page of Markdown: the machine, a table of all figures, and how cost
 * grows with work as charts of Mermaid (https://mermaid.js.org/syntax/xyChart.html). `docs/performance.md` holds one such
 * page.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { availableParallelism, cpus, loadavg, totalmem } from "node:os"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { benches } from "./benches.ts"
import { endWithBench } from "./child-processes.ts"
import { rounded, type Figure } from "./figure.ts"

/** A chart of what one unit of work costs as there is more of it. */
interface Chart {
  readonly title: string
  readonly xAxis: string
  readonly yAxis: string
  /** The names of its figures, each with its label on the x axis. */
  readonly figures: ReadonlyMap<string, string>
  /** The height of a point. */
  readonly of: (figure: Figure) => number
}

const microsecondsEach = ({ value }: Figure): number => 1_000_000 / value

const charts: readonly Chart[] = [
  {
    title: "Matching a post",
    xAxis: "rules",
    yAxis: "times JSON.parse of the post",
    figures: new Map([
      ["match-from-bytes-1k", "1,000"],
      ["match-from-bytes-10k", "10,000"],
      ["match-from-bytes-100k", "100,000"],
      ["match-from-bytes-1m-selective", "1,000,000 selective"],
      ["match-from-bytes-1m", "1,000,000"],
    ]),
    of: ({ ratio }) => ratio,
  },
  {
    title: "A delivery to a webhook",
    xAxis: "links",
    yAxis: "microseconds",
    figures: new Map([1, 10, 100, 1000].map((count) => [`deliver-${count}`, count.toLocaleString("en")])),
    of: microsecondsEach,
  },
  {
    title: "An envelope down a stream connection",
    xAxis: "connections",
    yAxis: "microseconds",
    figures: new Map([1, 100, 1000].map((count) => [`stream-${count}`, count.toLocaleString("en")])),
    of: microsecondsEach,
  },
]

/** Runs them all, and prints the page when the last one has ended. What they say meanwhile goes to standard error. */
export async function printAll({ isQuick }: { readonly isQuick: boolean }): Promise<void> {
  const figures: Figure[] = []
  const rows: string[] = []
  for (const [name, { times }] of Object.entries(benches)) {
    if (name === "memory") continue
    process.stderr.write(`${name}\n`)
    const ofBench = await figuresOf(name, isQuick)
    figures.push(...ofBench)
    rows.push(`| **${name}** | times ${times} | | | | |`, ...ofBench.map(row))
  }
  const table = [
    "| Figure | Value | Limit of the same run | Limit | Ratio | Goal |",
    "| --- | ---: | --- | ---: | ---: | --- |",
    ...rows,
  ]
  const page = [machine(isQuick), table.join("\n"), ...charts.map((chart) => drawn(chart, figures))]
  process.stdout.write(`${page.filter((part) => part !== "").join("\n\n")}\n`)
}

/** What a bench prints, as it is run alone. Throws when it fails. */
async function figuresOf(name: string, isQuick: boolean): Promise<readonly Figure[]> {
  const run = fileURLToPath(new URL("run.ts", import.meta.url))
  const args = [...process.execArgv, run, name, "--json", ...(isQuick ? ["--quick"] : [])]
  const child = endWithBench(spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] }))
  const ended = once(child, "close")
  const figures: Figure[] = []
  for await (const line of createInterface(child.stdout)) {
    process.stderr.write(`${line}\n`)
    figures.push(JSON.parse(line) as Figure)
  }
  const [code] = (await ended) as [number | null]
  if (code !== 0) throw new Error(`The bench ${name} ended with ${code ?? "a signal"}.`)
  return figures
}

/** What it was measured on, and when. */
function machine(isQuick: boolean): string {
  const gibibytes = (totalmem() / 2 ** 30).toFixed(0)
  const processor = cpus()[0]?.model.trim() ?? "an unknown processor"
  const version = /^PRETTY_NAME="(.+)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? process.platform
  return (
    `Measured on ${new Date().toISOString().slice(0, 10)} with \`npm run bench -- all${isQuick ? " --quick" : ""}\`: ` +
    `${availableParallelism()} cores of ${processor}, ${gibibytes} GiB, ${version}, Node ${process.versions.node}; ` +
    `load average at the end ${loadavg()[0]?.toFixed(1)}.`
  )
}

function row({ name, value, unit, limit, limitIs, ratio, goal, met }: Figure): string {
  const aim = goal === null ? "" : `${goal}${met === true ? ", met" : ", missed"}`
  return `| ${name} | ${rounded(value)} ${unit} | ${limitIs} | ${rounded(limit)} | ${ratio.toFixed(2)} | ${aim} |`
}

/** The chart as a code block of what was measured; empty with fewer than two points. */
function drawn({ title, xAxis, yAxis, figures: wanted, of }: Chart, figures: readonly Figure[]): string {
  const points = Array.from(wanted, ([name, label]) => ({ label, figure: figures.find((each) => each.name === name) }))
  const measured = points.flatMap(({ label, figure }) => (figure === undefined ? [] : [{ label, height: of(figure) }]))
  if (measured.length < 2) return ""
  return [
    "```mermaid",
    "xychart-beta",
    `    title "${title}"`,
    `    x-axis "${xAxis}" [${measured.map(({ label }) => `"${label}"`).join(", ")}]`,
    `    y-axis "${yAxis}" 0 --> ${rounded(Math.max(...measured.map(({ height }) => height)) * 1.2)}`,
    `    bar [${measured.map(({ height }) => rounded(height)).join(", ")}]`,
    "```",
  ].join("\n")
}
