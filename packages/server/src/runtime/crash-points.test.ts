import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { afterEach, expect, test, vi } from "vitest"
import { armCrashPoint, crashPoint } from "./crash-points.ts"

afterEach(() => armCrashPoint(undefined))

test("a spec that names no point, or counts from 0, is refused with the known names", () => {
  const message = /^There is no crash point ".*"\. Known are before-commit, after-commit, .*in-recovery; with a count/
  for (const spec of ["", "no-such", "after-commit:0", "after-commit:x", "after-commit:1:1", "AFTER-COMMIT"])
    expect(() => armCrashPoint(spec)).toThrow(message)
})

test("a point that is not armed, or not due, has no effect", () => {
  const pass = vi.fn<() => void>(() => crashPoint("after-commit"))
  pass()
  armCrashPoint("before-commit")
  pass()
  armCrashPoint("after-commit:3")
  pass()
  pass()
  armCrashPoint(undefined)
  pass()
  expect(pass).toHaveReturnedTimes(5)
})

test("the visit that is due kills the process at once, after a line on standard error", () => {
  const module = fileURLToPath(new URL("crash-points.ts", import.meta.url))
  const program = `
    import { armCrashPoint, crashPoint } from ${JSON.stringify(module)}
    armCrashPoint("in-trim:2")
    process.on("exit", () => console.log("orderly"))
    crashPoint("in-trim")
    console.log("passed")
    crashPoint("in-trim")
    console.log("ran on")`
  const args = ["--input-type=module", "--eval", program]
  const { signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" })
  expect({ signal, stdout, stderr }).toEqual({
    signal: "SIGKILL",
    stdout: "passed\n",
    stderr: "crash point in-trim\n",
  })
})
