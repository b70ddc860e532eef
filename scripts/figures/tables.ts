/** Tables and lists of figures, as Markdown. */
import type { FigureRun, RecordedFigure } from "../../bench/figure.ts"
import { newestFigures, printed, printedValue, type FindFigure } from "./runs.ts"

/** A table; `right` names the columns of numbers by their index. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const rule = head.map((_, at) => (right.includes(at) ? "---:" : "---"))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")
}

function aim({ goal, met }: RecordedFigure): string {
  return goal === null ? "" : `${goal}, ${met === true ? "met" : "missed"}`
}

/** Every figure of a run. */
function runTable(run: FigureRun): string {
  const rows = run.figures.map((figure) => [
    figure.name,
    `${printedValue(figure)} ${figure.unit}`,
    figure.limitIs ?? "",
    figure.limit === null ? "" : printed(figure.limit),
    figure.ratio === null ? "" : figure.ratio.toFixed(2),
    aim(figure),
  ])
  return markdownTable(["Figure", "Value", "Limit of the same run", "Limit", "Ratio", "Goal"], rows, [1, 3, 4])
}

const fairnessTimes = "p99 of requests, ingest, deliveries; stall"

/** One row for each attack of `fairness`, the newest figures of both stores next to each other. */
export function fairnessTable(runs: readonly FigureRun[]): string {
  const figures = newestFigures(runs)
  const postgres = fairnessCells(figures, "fairness-postgres-")
  const rows = Array.from(fairnessCells(figures, "fairness-"), ([attack, cells]) => [
    attack,
    ...cells,
    ...(postgres.get(attack) ?? ["", ""]),
  ])
  const head = ["Attack", `Embedded: ${fairnessTimes}`, "memory", `PostgreSQL: ${fairnessTimes}`, "memory"]
  return markdownTable(head, rows, [1, 2, 3, 4])
}

/** One row for each attack of a single run. */
function fairnessRunTable({ figures }: FigureRun): string {
  const ofPostgres = figures.some(({ name }) => name.startsWith("fairness-postgres-"))
  const rows = Array.from(
    fairnessCells(figures, ofPostgres ? "fairness-postgres-" : "fairness-"),
    ([attack, cells]) => [attack, ...cells],
  )
  return markdownTable(["Attack", fairnessTimes, "memory"], rows, [1, 2])
}

/** Times and memory of each attack whose figures have the prefix, in the order of the figures. */
function fairnessCells(figures: readonly RecordedFigure[], prefix: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map(figures.map(({ name, value }) => [name, printed(value)]))
  const attacks = [...values.keys()]
    .filter((name) => name.startsWith(prefix) && name.endsWith("-memory"))
    .map((name) => name.slice(prefix.length, -"-memory".length))
    .filter((attack) => !attack.startsWith("postgres-"))
  return new Map(
    attacks.map((attack) => {
      const value = (what: string): string => values.get(`${prefix}${attack}-${what}`) ?? "–"
      const times = ["requests-p99", "ingest-p99", "deliveries-p99"].map(value).join(", ")
      return [attack, [`${times}; ${value("stall")} ms`, `${value("memory")} MB`]]
    }),
  )
}

/** The goals that the newest figures miss, each with its ratio and the goal, and those that they meet. */
export function goalsList(runs: readonly FigureRun[]): string {
  const figures = newestFigures(runs)
  const missed = figures
    .filter(({ met }) => met === false)
    .map(({ name, ratio, goal }) => `${name} ${ratio?.toFixed(2)} (${goal})`)
  const met = figures.filter((figure) => figure.met === true)
  const others = met.map(({ name }) => name).filter((name) => !name.startsWith("fairness-"))
  const list = [...others, `all ${met.length - others.length} of fairness`].join(", ")
  return `**Missed** (${missed.length}): ${missed.join(", ")}.\n\n**Met** (${met.length}): ${list}.`
}

/** Throughput of other programs, one row each. */
export function otherProgramsTable(runs: readonly FigureRun[], find: FindFigure): string {
  const programs = newestFigures(runs).flatMap(({ name }) => /^other-(.+)-10k$/.exec(name)?.[1] ?? [])
  const rows = programs.map((program) => [
    find(`other-${program}-10k`).limitIs ?? "",
    ...["10k", "100k", "1m"].map((count) => printed(find(`other-${program}-${count}`).value)),
  ])
  return markdownTable(["Program, posts/s", "10,000 rules", "100,000", "1,000,000"], rows, [1, 2, 3])
}

/** How one to three processes on PostgreSQL compare with the embedded store of the same run. */
export function clusterTable(find: FindFigure): string {
  const measures = [
    ["ingest, posts/s", (n: number) => `cluster-ingest-${n}`],
    ["deliveries/s to 1 endpoint", (n: number) => `cluster-deliver-${n}-to-1`],
    ["deliveries/s to 20 endpoints", (n: number) => `cluster-deliver-${n}-to-20`],
    ["acceptance to handler at 1,000 posts/s, p50, ms", (n: number) => `cluster-end-to-end-${n}-p50`],
    ["the same, p99, ms", (n: number) => `cluster-end-to-end-${n}-p99`],
  ] as const
  const rows = measures.map(([label, nameOf]) => {
    const figures = [1, 2, 3].map((count) => find(nameOf(count)))
    const isRate = !label.endsWith("ms")
    const values = figures.map(({ value, ratio }) => printed(value) + (isRate ? ` (${ratio?.toFixed(2)})` : ""))
    return [
      label,
      ...values,
      figures.map(({ limit }) => printed(limit ?? Number.NaN)).join("; "),
      figures[0]?.goal ?? "",
    ]
  })
  const head = [
    "Processes on one database (ratio to embedded)",
    "1",
    "2",
    "3",
    "Embedded, same runs",
    "Goal, 1 process",
  ]
  return markdownTable(head, rows)
}

/** Every run with its conditions and figures, the newest date first: the page `docs/figures/README.md`. */
export function figuresPage(runs: readonly FigureRun[], find: FindFigure): string {
  const sections = runs
    .toSorted((a, b) => b.date.localeCompare(a.date))
    .map((run) => {
      const table =
        run.bench === "fairness"
          ? fairnessRunTable(run)
          : run.bench === "other-programs"
            ? otherProgramsTable(runs, find)
            : runTable(run)
      return [heading(run), ...run.notes.map((note) => `- ${note}`), "", table, ""].join("\n")
    })
  return `${[introduction, ...sections].join("\n").trimEnd()}\n`
}

const introduction = `# Figures

Every measured run, the newest first. \`npm run figures\` makes this page from the JSON files of this directory; a test
fails when they differ. [performance.md](../performance.md) sums them up, [limits.md](limits.md) says what limits each figure,
and [bench/README.md](../../bench/README.md) says what each bench measures.
`

function heading({ bench, date, command, machine, times }: FigureRun): string {
  return `## ${bench}, ${date}\n\n\`${command}\` on ${machine}. Times ${times}.\n`
}
