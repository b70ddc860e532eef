/** The checked-in module equals the output of `npm run build:walk`. */
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { compiledWalk, walkConstantFiles, walkModuleFile } from "../scripts/build-walk.ts"

test("the constants of the walk are those of the TypeScript that reads it", () => {
  expect(walkConstantFiles).toHaveLength(2)
  for (const [file, text] of walkConstantFiles) expect(readFileSync(file, "utf8")).toBe(text)
})

test("the walk's module is compiled from its source", () => {
  expect(readFileSync(walkModuleFile, "utf8")).toBe(compiledWalk())
})
