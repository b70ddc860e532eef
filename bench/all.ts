/**
 * Every bench but `memory`, which takes half an hour, each in a process of its own. Writes the figures of each as
 * `docs/figures/DATE-NAME.json`; `npm run figures` makes the pages from these files.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus, loadavg, totalmem } from "node:os"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { benches, type BenchOptions } from "./benches.ts"
import { endWithBench } from "./child-processes.ts"
import type { Figure, FigureRun } from "./figure.ts"

/** Runs them all, or only the one of this name, and prints the path of each file that it writes. The benches write their messages to standard error. */
export async function runAll({ isQuick, only }: Pick<BenchOptions, "isQuick" | "only">): Promise<void> {
  for (const [name, { times }] of Object.entries(benches)) {
    if (name === "memory" || (only ?? name) !== name) continue
    process.stderr.write(`${name}\n`)
    const figures = await figuresOf(name, isQuick)
    const date = new Date().toISOString().slice(0, 10)
    const load = loadavg()[0]?.toFixed(1) ?? "unknown"
    const run: FigureRun = {
      bench: name,
      date,
      command: `npm run bench -- all${only === undefined ? "" : ` --only ${only}`}${isQuick ? " --quick" : ""}`,
      machine: machine(),
      notes: [`The load average at the end was ${load}.`],
      times,
      figures: figures.map(shortened),
    }
    const path = `docs/figures/${date}-${name}.json`
    writeFileSync(new URL(`../${path}`, import.meta.url), `${JSON.stringify(run, undefined, 2)}\n`)
    process.stdout.write(`${path}\n`)
  }
}

/** Reads the figures that a bench prints when it runs alone. Throws when it fails. */
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

function machine(): string {
  const gibibytes = (totalmem() / 2 ** 30).toFixed(0)
  const processor = cpus()[0]?.model.trim() ?? "an unknown processor"
  const version = /^PRETTY_NAME="(.+)"$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? process.platform
  return `${availableParallelism()} cores of ${processor}, ${gibibytes} GiB, ${version}, Node ${process.versions.node}`
}

/** The figure with four significant digits, as far as a measurement goes. */
function shortened(figure: Figure): Figure {
  const short = (value: number): number => (value >= 1000 ? Math.round(value) : Number(value.toPrecision(4)))
  return { ...figure, value: short(figure.value), limit: short(figure.limit), ratio: short(figure.ratio) }
}
