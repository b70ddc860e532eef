/** The WebAssembly among the sources is what its source compiles to. */
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { compiledWalk, walkModuleFile } from "../scripts/build-walk.ts"

test("the walk's module is compiled from its source", () => {
  expect(readFileSync(walkModuleFile, "utf8")).toBe(compiledWalk())
})
