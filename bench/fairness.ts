/**
 * Fairness: what a well-behaved app sees while another app or producer does the worst it may, one attack after the
 * other, each on a server of its own.
 *
 * A figure is a p99 beside what is allowed, 250 ms on two cores, over the neighbour's requests, ingest and deliveries;
 * the longest that anybody waited for `/healthz`; and the most memory that the server had.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { AttackerMessage } from "./attacker.ts"
import { attacks } from "./attacks.ts"
import { figure, quantile, type Figure } from "./figure.ts"
import { Neighbour, type Experience } from "./neighbour.ts"
import { startChild } from "./child.ts"
import { startSluice, type MeasuredSluice } from "./servers.ts"

const msAllowed = 250
const memoryAllowedMb = 600

/** Prints the figures of each attack. */
export async function fairness(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  const seconds = isQuick ? 6 : 20
  for (const name of Object.keys(attacks)) await measure(name, seconds, print)
}

async function measure(name: string, seconds: number, print: (figure: Figure) => void): Promise<void> {
  await using sluice = await startSluice()
  await using neighbour = await moveIn(sluice)
  await using attacker = startChild<AttackerMessage>("attacker.ts", [name, sluice.url, sluice.token])
  await attacker.request({ kind: "prepare" })
  await neighbour.live(3)
  await attacker.request({ kind: "start" })
  const seen = await neighbour.live(seconds)
  const peakMb = peakMemoryMb(sluice.pid)
  await attacker.request({ kind: "stop" })

  const printOne = (what: string, value: number, unit: string, limit: number): void => {
    print(figure({ name: `fairness-${name}-${what}`, value, unit, limit, limitIs: "allowed" }, { atMost: 1 }))
  }
  const p99s = { requests: seen.requestsMs, ingest: seen.ingestMs, deliveries: seen.deliveriesMs }
  for (const [what, times] of Object.entries(p99s)) printOne(`${what}-p99`, quantile(times, 0.99), "ms", msAllowed)
  printOne("stall", longest(seen), "ms", msAllowed)
  if (peakMb !== undefined) printOne("memory", peakMb, "MB", memoryAllowedMb)
}

function longest({ healthMs }: Experience): number {
  return quantile(healthMs, 1)
}

/** Another app of the same server. */
async function moveIn(sluice: MeasuredSluice): Promise<Neighbour> {
  const command = fileURLToPath(new URL("../packages/sluice/src/sluice.ts", import.meta.url))
  const args = [command, "app", "create", "neighbour", "--data", sluice.data, "--json"]
  const app = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as {
    readonly bearer_token: string
    readonly consumer_secret: string
  }
  return Neighbour.moveIn({ url: sluice.url, token: app.bearer_token }, app.consumer_secret)
}

/** The most that the process ever had in memory; undefined where the system does not report it. */
function peakMemoryMb(pid: number): number | undefined {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1000
  } catch {
    // Only Linux has this file.
    return undefined
  }
}
