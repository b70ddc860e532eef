import { execFileSync } from "node:child_process"
import { expect, test } from "vitest"

/** A number that V8 makes of all its flags, in a process that was started with some and has run `preparation`. */
function flagsOf(flags: readonly string[], preparation = ""): number {
  const program = `import { cachedDataVersionTag } from "node:v8"; ${preparation}; console.log(cachedDataVersionTag())`
  const parameters = [...flags, "--input-type=module", "--eval", program]
  return Number(execFileSync(process.execPath, parameters, { encoding: "utf8" }))
}

// How large a heap becomes depends on how fast the machine is; that V8 knows the flag, and takes it, does not.
test("heaps may grow by 200 % before they are collected, by V8's own flag", () => {
  const { href } = new URL("heap-growth.ts", import.meta.url)
  const bounded = flagsOf([], `import { boundHeapGrowth } from ${JSON.stringify(href)}; boundHeapGrowth()`)
  expect(bounded).toBe(flagsOf(["--heap-growing-percent=200"]))
  expect(bounded).not.toBe(flagsOf([]))
})
