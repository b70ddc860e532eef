/** The faults of a cluster: one after the other, drawn at random, each undone again. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Cluster } from "../faults/cluster.ts"
import type { Network } from "../support/tcp-proxy.testing.ts"
import type { Seen } from "./history.ts"

/** A fault that begins and ends. */
interface Fault {
  readonly what: string
  readonly run: () => Promise<void>
}

/** Dependencies of a nemesis. */
export interface NemesisDeps {
  readonly cluster: Cluster
  readonly history: Seen[]
  readonly random: () => number
  /** Sets the clock of a process off by this many seconds; absent where that is impossible. */
  readonly setClock?: (number: number, seconds: number) => void
  /** Longest duration of a fault. */
  readonly faultMsMax: number
}

const hourS = 3_600

/** Causes one fault after the other until aborted, and undoes the last one. */
export async function attack(deps: NemesisDeps, signal: AbortSignal): Promise<void> {
  const { cluster, history, random } = deps
  while (!signal.aborted) {
    await sleep(500 + random() * 3_000)
    const faults = possibleFaults(deps, Math.floor(random() * cluster.members.length))
    const fault = faults[Math.floor(random() * faults.length)]
    if (fault === undefined) return
    history.push({ kind: "fault", what: fault.what, atMs: performance.now() })
    await fault.run()
  }
}

function possibleFaults(deps: NemesisDeps, number: number): readonly Fault[] {
  const { cluster, random, setClock, faultMsMax } = deps
  const { postgres } = cluster
  const last = (): Promise<void> => sleep(random() * faultMsMax)
  const ended = (signal: "SIGKILL" | "SIGTERM"): Fault => ({
    what: `process ${number} ${signal}`,
    async run() {
      await cluster.end(number, signal)
      await sleep(random() * 5_000)
      await cluster.startAgain(number)
    },
  })
  const network = (kind: Network): Fault => ({
    what: `network of process ${number} ${kind}`,
    async run() {
      const { network: ofProcess } = cluster.member(number)
      ofProcess.set(kind)
      await last()
      ofProcess.set("good")
    },
  })
  return [
    ended("SIGKILL"),
    ended("SIGTERM"),
    {
      what: `process ${number} paused`,
      async run() {
        const { process } = cluster.member(number)
        process.pause()
        await last()
        process.resume()
      },
    },
    ...(["cut", "half-open", "held", "slow"] as const).map(network),
    {
      what: "PostgreSQL crashed",
      async run() {
        await postgres.crash()
        await sleep(random() * 5_000)
        await postgres.begin()
      },
    },
    ...(setClock === undefined ? [] : [-hourS, 0, hourS]).map((seconds) => ({
      what: `clock of process ${number} off by ${seconds} s`,
      async run() {
        setClock?.(number, seconds)
        await last()
      },
    })),
  ]
}
