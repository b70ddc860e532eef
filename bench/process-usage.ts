/** Processor time, waits and written bytes of processes. Linux only. Source: proc(5). */
import { readdirSync, readFileSync } from "node:fs"

/** Use of a process since its start. */
export interface ProcessUsage {
  /** Microseconds of processor time of the threads of each name. */
  readonly threadsUs: ReadonlyMap<string, number>
  /** Times at which one of its threads waited for something, and was woken again. */
  readonly switches: number
  /** Bytes that it has caused to be written to the disk. */
  readonly writtenBytes: number
}

/** The use of a process, or of several together. */
export function processUsage(pids: readonly number[]): ProcessUsage {
  const threadsUs = new Map<string, number>()
  let switches = 0
  let writtenBytes = 0
  for (const pid of pids) {
    writtenBytes += numberIn(`/proc/${pid}/io`, "write_bytes")
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const directory = `/proc/${pid}/task/${thread}`
      const name = textOf(`${directory}/comm`)?.trim()
      const ranNs = Number(textOf(`${directory}/schedstat`)?.split(" ")[0])
      // A thread that has ended meanwhile.
      if (name === undefined || Number.isNaN(ranNs)) continue
      threadsUs.set(name, (threadsUs.get(name) ?? 0) + ranNs / 1_000)
      switches += numberIn(`${directory}/status`, "voluntary_ctxt_switches")
    }
  }
  return { threadsUs, switches, writtenBytes }
}

/** The use between two moments. */
export function usedBetween(before: ProcessUsage, after: ProcessUsage): ProcessUsage {
  return {
    threadsUs: new Map([...after.threadsUs].map(([name, us]) => [name, us - (before.threadsUs.get(name) ?? 0)])),
    switches: after.switches - before.switches,
    writtenBytes: after.writtenBytes - before.writtenBytes,
  }
}

/** Microseconds of processor time of all threads. */
export function totalUs({ threadsUs }: ProcessUsage): number {
  return [...threadsUs.values()].reduce((sum, us) => sum + us, 0)
}

/** Processes of this machine by the name of their program. */
export function pidsOf(program: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && textOf(`/proc/${name}/comm`)?.trim() === program)
    .map(Number)
}

function numberIn(file: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s*(\\d+)$`, "m").exec(textOf(file) ?? "")?.[1] ?? 0)
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "latin1")
  } catch {
    return undefined
  }
}
