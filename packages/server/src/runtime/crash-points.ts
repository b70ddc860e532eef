/**
 * Named moments at which a test kills the process, to see what is still true afterwards.
 *
 * Killed by SIGKILL, not by an exception: nothing is flushed, closed or reported, as in a power cut of this process. The
 * line on standard error is written before that, and is the proof that the moment came.
 */
import assert from "node:assert/strict"
import { writeSync } from "node:fs"

const crashPointNames = [
  "before-commit", // posts are written, and not committed
  "after-commit", // posts are durable, and no caller has its response
  "before-send", // a delivery is about to be sent
  "after-response", // a delivery got a successful response, and nothing of it is stored
  "in-trim", // in the middle of a step of retention
  "in-deletion", // posts are deleted or rewritten, and not committed
  "in-migration", // in the middle of a step that changes the store's shape
  "in-placing", // a copy of a store is whole, and a file of it is about to be moved to its place, or all are
  "in-copying", // rows of a store are in another one, and not committed
  "in-rotation", // the store is sealed under a new master key, whose file has not taken the other's place
  "in-recovery", // the store is open again, and nothing else
] as const

/** A moment at which the process may be killed. */
export type CrashPointName = (typeof crashPointNames)[number]

/** This thread's: each thread is armed by itself, and counts its own visits. */
let armed: { readonly name: CrashPointName; visitsLeft: number } | undefined

/**
 * Arms a point of this thread: `name` kills at the first visit, `name:count` at the count-th. `undefined` arms none.
 * Throws when there is no such point, with the names of those that there are.
 */
export function armCrashPoint(spec: string | undefined): void {
  armed = spec === undefined ? undefined : parse(spec)
}

/** Kills the process if the point is armed and its visit has come; does not return then. */
export function crashPoint(name: CrashPointName): void {
  if (armed === undefined || armed.name !== name) return
  armed.visitsLeft -= 1
  if (armed.visitsLeft > 0) return
  writeSync(2, `crash point ${name}\n`)
  process.kill(process.pid, "SIGKILL")
  // The signal may take a moment, and in that moment nothing may run on.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  assert.fail("killed, and still running")
}

function parse(spec: string): { name: CrashPointName; visitsLeft: number } {
  const [text, count = "1", ...rest] = spec.split(":")
  const name = crashPointNames.find((known) => known === text)
  if (name === undefined || !/^[1-9]\d{0,8}$/.test(count) || rest.length > 0) {
    throw new Error(
      `There is no crash point "${spec}". Known are ${crashPointNames.join(", ")}; with a count: after-commit:3.`,
    )
  }
  return { name, visitsLeft: Number(count) }
}
