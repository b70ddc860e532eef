/** Processor time, which other processes do not affect. */

import { threadCpuUsage } from "node:process"

/** Milliseconds of processor time that the call takes on this thread. */
export function cpuMs(call: () => unknown): number {
  const before = threadCpuUsage()
  call()
  const { user, system } = threadCpuUsage(before)
  return (user + system) / 1000
}
