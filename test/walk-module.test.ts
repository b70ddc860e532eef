/** The checked-in module equals the output of `npm run build:walk`. */
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { walkConstants } from "../scripts/build/walk-constants.ts"
import { compiledWalk, walkConstantsFile, walkModuleFile } from "../scripts/build-walk.ts"

test("the constants of the walk are those of the TypeScript that reads it", () => {
  expect(readFileSync(walkConstantsFile, "utf8")).toBe(walkConstants())
})

test("the walk's module is compiled from its source", () => {
  expect(readFileSync(walkModuleFile, "utf8")).toBe(compiledWalk())
})
