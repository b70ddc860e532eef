/**
 * `npm run test:isolation -- [--minutes 30] [--seed N] [--fault-seconds 30] [--history FILE]`
 *
 * Three processes on one database, random faults, and a checker of the clients' history. Exits 0 without faults in the
 * history, 1 with a list of them, 2 for invalid options. The same seed draws the same faults.
 */
import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { postgresMissing } from "../faults/private-postgres.ts"
import { preloadMissing } from "../faults/preloaded-faults.ts"
import { run } from "./isolation-run.ts"

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    "fault-seconds": { type: "string", default: "30" },
    history: { type: "string" },
  },
})
const [minutes, seed, faultSeconds] = [values.minutes, values.seed, values["fault-seconds"]].map(Number)
if (
  !(minutes !== undefined && minutes > 0) ||
  !Number.isInteger(seed) ||
  !(faultSeconds !== undefined && faultSeconds > 0)
) {
  process.stderr.write(
    "usage: npm run test:isolation -- [--minutes N] [--seed N] [--fault-seconds N] [--history FILE]\n",
  )
  process.exitCode = 2
} else if (postgresMissing === undefined) {
  const startedMs = performance.now()
  process.stdout.write(`isolation: ${minutes} minutes, seed ${seed}\n`)
  const { faults, history, errors } = await run({
    seed: seed ?? 0,
    faultsMs: minutes * 60_000,
    faultMsMax: faultSeconds * 1_000,
    hasClocks: preloadMissing === undefined,
  })
  if (values.history !== undefined) {
    writeFileSync(values.history, history.map((seen) => `${JSON.stringify(seen)}\n`).join(""))
  }
  const counts = Object.fromEntries(
    Array.from(
      Map.groupBy(history, ({ kind }) => kind),
      ([kind, all]) => [kind, all.length],
    ),
  )
  const seconds = Math.round((performance.now() - startedMs) / 1_000)
  process.stdout.write(`${JSON.stringify({ seed, seconds, seen: counts, faults, errors: errors.slice(0, 20) })}\n`)
  process.exitCode = faults.length === 0 && errors.length === 0 ? 0 : 1
}
