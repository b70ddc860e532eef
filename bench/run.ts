/**
 * `npm run bench -- NAME [--json] [--quick]`: measures how near to its limit the program comes. `--quick`
 * leaves out what takes minutes, where a bench has such.
 *
 * A limit is measured in the same run, by the barest program that does the same; a figure is a ratio to it, since
 * absolute ones drift with the machine. Goals are ratios too. Nothing here is a test: a goal that is missed is
 * printed, and the exit code stays 0.
 */
import { cluster } from "./cluster.ts"
import { deliver } from "./deliver.ts"
import { endToEnd } from "./end-to-end.ts"
import { fairness } from "./fairness.ts"
import { idleLinks } from "./idle-links.ts"
import { importing } from "./import.ts"
import { ingest } from "./ingest.ts"
import { links } from "./links.ts"
import { match } from "./match.ts"
import { migrate } from "./migrate.ts"
import { pages } from "./pages.ts"
import { stream } from "./stream.ts"
import type { Figure } from "./figure.ts"

type Print = (figure: Figure) => void

const benches: Readonly<Record<string, (print: Print, options: { isQuick: boolean }) => Promise<void>>> = {
  cluster,
  deliver,
  "end-to-end": endToEnd,
  fairness,
  "idle-links": idleLinks,
  import: importing,
  ingest,
  links,
  match,
  migrate,
  pages,
  stream,
}

const flagsKnown = new Set(["--json", "--quick"])

const [name, ...flags] = process.argv.slice(2)
const bench = name === undefined ? undefined : benches[name]
if (bench === undefined || flags.some((flag) => !flagsKnown.has(flag))) {
  process.stderr.write(`usage: npm run bench -- ${Object.keys(benches).join("|")} [--json] [--quick]\n`)
  process.exitCode = 2
} else {
  const isJson = flags.includes("--json")
  const print: Print = (figure) => {
    process.stdout.write(`${isJson ? JSON.stringify(figure) : inWords(figure)}\n`)
  }
  await bench(print, { isQuick: flags.includes("--quick") })
}

function inWords({ name: figure, value, unit, limit, limitIs, ratio, goal, met }: Figure): string {
  const verdict = met === null ? "" : met ? "  (met)" : "  (MISSED)"
  const aim = goal === null ? "" : `, goal ${goal}`
  return `${figure}: ${rounded(value)} ${unit}; ${limitIs} ${rounded(limit)} ${unit}; ratio ${ratio.toFixed(2)}${aim}${verdict}`
}

function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
