/**
 * Ends the processes that a bench starts when the bench ends, in any way.
 *
 * A bench that a signal ends runs no `await using`: its servers would continue, and load the machine during all later
 * measurements. A signal to `npm run bench` may end only npm, so the bench also watches for the end of its parent.
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

/** How often a bench looks whether npm still runs. */
const parentPollMs = 500

let isPrepared = false

function endChildrenAtExit(): void {
  if (isPrepared) return
  isPrepared = true
  process.once("exit", () => {
    for (const child of running) child.kill("SIGTERM")
  })
  for (const [signal, code] of Object.entries(exitCodes)) process.once(signal, () => process.exit(code))
  if (process.env["npm_lifecycle_event"] === "bench") endWithParent()
}

/** Ends this process when npm has ended. A bench that a shell started with `nohup` outlives the shell. */
function endWithParent(): void {
  const parent = process.ppid
  setInterval(() => {
    if (process.ppid !== parent) process.exit(exitCodes.SIGTERM)
  }, parentPollMs).unref()
}
