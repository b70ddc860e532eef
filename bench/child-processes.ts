/**
 * The processes that a bench starts end with it, whichever way it ends.
 *
 * A bench that is stopped by a signal runs no `await using`: without this, its servers would go on, and load the machine
 * of all later measurements.
 */
import type { ChildProcess } from "node:child_process"

const running = new Set<ChildProcess>()

/** The exit code of a process that a signal ends, as shells count it. Source: POSIX, "Exit Status for Commands". */
const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

/** Ends the child, by SIGTERM, when this process ends. Returns the child. */
export function endWithBench<Child extends ChildProcess>(child: Child): Child {
  endChildrenAtExit()
  running.add(child)
  child.once("exit", () => running.delete(child))
  return child
}

let isPrepared = false

function endChildrenAtExit(): void {
  if (isPrepared) return
  isPrepared = true
  process.once("exit", () => {
    for (const child of running) child.kill("SIGTERM")
  })
  for (const [signal, code] of Object.entries(exitCodes)) process.once(signal, () => process.exit(code))
}
