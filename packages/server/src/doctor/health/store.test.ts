import { expect, test } from "vitest"
import { lines } from "./lines.testing.ts"
import { versionFindings } from "./store.ts"

test("a newer store is an error, an older one is not", () => {
  const versions = { version: 3, knownVersion: 2 }
  expect(lines(versionFindings("newer", versions))).toEqual([
    "error: The store has version 3, and this program works with version 2: it was made by a newer Sluice.",
  ])
  expect(versionFindings("older", { version: 1, knownVersion: 2 })[0]?.level).toBe("warning")
})
