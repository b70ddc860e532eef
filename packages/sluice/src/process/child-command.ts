/**
 * A command in a process group of its own, and all that it leaves behind.
 *
 *     start ─► it ends by itself ─────────────────────────────► what it has left is ended ─► its status
 *         └──► the signal is aborted ─► SIGTERM, 4 s, SIGKILL ──┘
 *
 * A process that leaves the group, as a daemon does, is still known by a variable of its environment, where the system shows
 * that of other processes (Linux).
 */
import { spawn, type ChildProcess } from "node:child_process"
import { randomUUID } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { constants } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { Failure } from "./failure.ts"
import { listedProcess } from "./listed-process.ts"

/** The variable that all processes of the command have. */
const markName = "SLUICE_EXEC"

/** Time for what is asked to end, before it is killed. Ours. */
const graceMs = 4_000

/** Time between two checks for processes that are left. Ours. */
const pollMs = 50

/** A command, its arguments and its variables. */
export interface CommandLine {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Runs a command to its end and returns its status: that of a shell for what cannot be run (126, 127) and for a signal (128
 * and its number). Nothing that it started is left. Throws the reason of `signal` when that is aborted before.
 */
export async function runCommand({ command, args, env }: CommandLine, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted()
  const mark = randomUUID()
  const child = spawn(command, args, {
    env: { ...env, [markName]: mark },
    stdio: "inherit",
    detached: true,
  })
  try {
    return await endOf(child, command, signal)
  } finally {
    if (child.pid !== undefined) await endAll({ group: child.pid, mark })
  }
}

/** Waits for the end of the command, or of the wait for it. */
async function endOf(child: ChildProcess, command: string, signal: AbortSignal): Promise<number> {
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") reject(notRun(127, `${command} was not found.`))
      else reject(notRun(126, `${command} cannot be run: ${error.message}.`))
    })
    // Not `close`: what the command has left may hold its outputs.
    child.once("exit", (code, name) => resolve(code ?? 128 + (name === null ? 0 : constants.signals[name])))
  })
  const given = Promise.withResolvers<never>()
  const giveUp = (): void => given.reject(signal.reason)
  signal.addEventListener("abort", giveUp, { once: true })
  try {
    return await Promise.race([ended, given.promise])
  } finally {
    signal.removeEventListener("abort", giveUp)
    ended.catch(() => undefined)
  }
}

/** The command cannot be run. Statuses are a shell's. Source: POSIX, Shell Command Language, 2.8.2. */
function notRun(status: 126 | 127, message: string): Failure {
  return new Failure(message, ["Write the command behind --, as in: sluice exec -- npm test"], { status })
}

/** Ends the processes of a command that still run: by force when they do not end by themselves. */
async function endAll(of: ProcessesOf): Promise<void> {
  for (const name of ["SIGTERM", "SIGKILL"] as const) {
    const untilMs = performance.now() + graceMs
    for (const pid of await running(of)) sendSignal(pid, name)
    while ((await running(of)).length > 0) {
      if (performance.now() >= untilMs) break
      await sleep(pollMs)
    }
  }
}

/** The group of a command, and the variable's value. */
interface ProcessesOf {
  readonly group: number
  readonly mark: string
}

/** Receivers of a signal: processes, or the group of the command as a negative number where the system does not list them. */
async function running({ group, mark }: ProcessesOf): Promise<readonly number[]> {
  if (process.platform === "linux") {
    const names = await readdir("/proc")
    const pids = names.filter((name) => /^\d+$/.test(name)).map(Number)
    const found = await Promise.all(pids.map(async (pid) => ((await isOf(pid, { group, mark })) ? [pid] : [])))
    return found.flat()
  }
  return sendSignal(-group, 0) ? [-group] : []
}

/** Whether a process runs, and is of the command. One that has ended and waits to be noticed does not run. */
async function isOf(pid: number, { group, mark }: ProcessesOf): Promise<boolean> {
  const listed = pid === process.pid ? undefined : listedProcess(pid)
  if (listed === undefined || /[ZX]/.test(listed.state)) return false
  if (listed.group === group) return true
  // It may have ended since, or be another user's.
  const variables = await readFile(`/proc/${String(pid)}/environ`, "latin1").catch(() => "")
  return variables.split("\0").includes(`${markName}=${mark}`)
}

/** False when there is nothing to receive it. */
function sendSignal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
