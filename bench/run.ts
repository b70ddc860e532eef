/**
 * `npm run bench -- NAME [--json] [--quick] [--minutes N] [--store STORE] [--only NAME]`: measures how near to its
 * limit the program comes. `--quick` leaves out the parts of a bench that take minutes; `--minutes` says how long the
 * bench `memory` runs; `--store postgres` runs `fairness` or `search` on PostgreSQL, and `--only` a single attack.
 * `all` runs every other bench, or with `--only` a single one, and writes their figures under `docs/figures/`.
 *
 * The same run measures the limit, by the barest program that does the same; a figure is a ratio to it, since absolute
 * ones drift with the machine. Goals are ratios too. A bench is not a test: it prints a missed goal, and its exit code
 * stays 0.
 */
import { parseArgs } from "node:util"
import { runAll } from "./all.ts"
import { benches, type BenchOptions } from "./benches.ts"
import { rounded, type Figure } from "./figure.ts"

const usage = `usage: npm run bench -- ${Object.keys(benches).join("|")}|all [--json] [--quick] [--minutes N] [--store embedded|postgres] [--only NAME]\n`

/** Parses the command line; undefined for an invalid one. */
function asked(): ({ name: string; isJson: boolean } & BenchOptions) | undefined {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        json: { type: "boolean" },
        quick: { type: "boolean" },
        minutes: { type: "string" },
        store: { type: "string" },
        only: { type: "string" },
      },
    })
    const [name = "", ...others] = positionals
    const { json: isJson = false, quick: isQuick = false, minutes, store, only } = values
    if (store !== undefined && store !== "embedded" && store !== "postgres") return undefined
    const isKnown = (name === "all" || Object.hasOwn(benches, name)) && others.length === 0
    if (!isKnown || (minutes !== undefined && !/^\d+$/.test(minutes))) return undefined
    return { name, isJson, isQuick, store, only, ...(minutes !== undefined && { minutes: Number(minutes) }) }
  } catch {
    return undefined
  }
}

const command = asked()
const bench = command && benches[command.name]
const missing = await bench?.missing?.()
if (command === undefined) {
  process.stderr.write(usage)
  process.exitCode = 2
} else if (bench === undefined) await runAll(command)
else if (missing !== undefined) {
  process.stderr.write(`${missing}\n`)
  process.exitCode = 1
} else {
  if (!command.isJson) process.stdout.write(`Times ${bench.times}.\n`)
  const print = (figure: Figure): void => {
    process.stdout.write(`${command.isJson ? JSON.stringify(figure) : inWords(figure)}\n`)
  }
  await bench.run(print, command)
}

function inWords({ name: figure, value, unit, limit, limitIs, ratio, goal, met }: Figure): string {
  const verdict = met === null ? "" : met ? "  (met)" : "  (MISSED)"
  const aim = goal === null ? "" : `, goal ${goal}`
  return `${figure}: ${rounded(value)} ${unit}; ${limitIs} ${rounded(limit)} ${unit}; ratio ${ratio.toFixed(2)}${aim}${verdict}`
}
