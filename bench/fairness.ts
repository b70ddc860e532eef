/**
 * Fairness: the service of a well-behaved app while another app or producer does the worst it may, one attack after the
 * other, each on a new server.
 *
 * A figure is a p99 and its goal, 250 ms on two cores beyond the control, over the neighbour's requests, ingest and
 * deliveries; the longest wait for `/healthz`; and the server's peak memory. The control is a bare server that gets
 * requests at the same moments, and flushes the posts to the disk before it responds: it measures the delay of the
 * machine and its disk.
 */
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { promisify } from "node:util"
import type { AttackerMessage } from "./attacker.ts"
import { attacks } from "./attacks/attacks.ts"
import { startChild } from "./child.ts"
import { figure, quantile, type Figure } from "./figure.ts"
import { Neighbour } from "./neighbour.ts"
import { newDatabase, psql, urlOf } from "./psql.ts"
import { addApp, startBare, startSluice, type MeasuredSluice, type SluiceOptions } from "./servers.ts"

const run = promisify(execFile)

const msAllowed = 250
const memoryAllowedMb = 768

/** How `fairness` runs. */
interface FairnessOptions {
  readonly isQuick: boolean
  /** The store of the servers. */
  readonly store?: "embedded" | "postgres" | undefined
  /** The only attack that is made. */
  readonly only?: string | undefined
}

/** Prints the figures of each attack. Throws for an unknown attack. */
export async function fairness(
  print: (figure: Figure) => void,
  { isQuick, store = "embedded", only }: FairnessOptions,
): Promise<void> {
  const seconds = isQuick ? 6 : 20
  const names = Object.keys(attacks).filter((name) => only === undefined || name === only)
  if (names.length === 0) throw new Error(`no attack is called ${only}: ${Object.keys(attacks).join(", ")}`)
  for (const name of names) {
    if (store === "embedded") await measure({ name, figures: `fairness-${name}` }, {}, seconds, print)
    else await measureOnPostgres(name, seconds, print)
  }
}

async function measureOnPostgres(name: string, seconds: number, print: (figure: Figure) => void): Promise<void> {
  await using made = await newDatabase()
  const database = { url: urlOf(made), masterKey: randomBytes(32).toString("hex") }
  await measure({ name, figures: `fairness-postgres-${name}` }, { database }, seconds, print)
}

async function measure(
  { name, figures }: { readonly name: string; readonly figures: string },
  options: SluiceOptions,
  seconds: number,
  print: (figure: Figure) => void,
): Promise<void> {
  const settings = attacks[name]?.settings
  await using sluice = await startSluice({ ...options, ...(settings && { settings }) })
  await using control = await startBare("node-durable", "{}")
  await using neighbour = await moveIn(sluice, options, `http://127.0.0.1:${control.port}`)
  await using attacker = startChild<AttackerMessage>("attacker.ts", [name, sluice.url, sluice.token])
  await attacker.request({ kind: "prepare" })
  await flush(options)
  await neighbour.live(3)
  await attacker.request({ kind: "start" })
  const seen = await neighbour.live(seconds)
  const peakMb = peakMemoryMb(sluice.pid)
  await attacker.request({ kind: "stop" })

  const printTime = (what: string, times: readonly number[], controlTimes: readonly number[], share = 0.99): void => {
    const controlMs = quantile(controlTimes, share)
    const limit = msAllowed + controlMs
    const limitIs = `allowed, ${msAllowed} ms beyond the control`
    const value = quantile(times, share)
    print(figure({ name: `${figures}-${what}`, value, unit: "ms", limit, limitIs }, { atMost: 1 }))
  }
  printTime("requests-p99", seen.requestsMs, seen.controlMs)
  printTime("ingest-p99", seen.ingestMs, seen.durableControlMs)
  printTime("deliveries-p99", seen.deliveriesMs, seen.durableControlMs)
  printTime("stall", seen.healthMs, seen.controlMs, 1)
  const limit = memoryAllowedMb
  if (peakMb !== undefined) {
    print(figure({ name: `${figures}-memory`, value: peakMb, unit: "MB", limit, limitIs: "allowed" }, { atMost: 1 }))
  }
}

/** Another app of the same server. */
async function moveIn(sluice: MeasuredSluice, options: SluiceOptions, controlUrl: string): Promise<Neighbour> {
  const { consumerSecret, ...app } = addApp(sluice, "neighbour", options)
  return Neighbour.moveIn(app, consumerSecret, controlUrl)
}

/**
 * Flushes up to 1.25 GB that the preparation wrote: otherwise the system and PostgreSQL would write it for a minute and
 * disturb the measurement.
 */
async function flush({ database }: SluiceOptions): Promise<void> {
  if (database !== undefined) await psql("postgres", "CHECKPOINT")
  await run("sync")
}

/** The peak memory of the process; undefined where the system does not report it. */
function peakMemoryMb(pid: number): number | undefined {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1000
  } catch {
    // Only Linux has this file.
    return undefined
  }
}
