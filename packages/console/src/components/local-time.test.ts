import { expect, test } from "vitest"
import { instantOf, localText } from "./local-time.ts"

test("a field's local time and the instant that it stands for lead to each other", () => {
  for (const instant of ["2026-03-14T09:26:53.000Z", "2026-07-01T00:00:00.000Z", "2020-12-31T23:59:59.000Z"])
    expect(instantOf(localText(instant))).toBe(instant)
  expect(localText("2026-03-14T09:26:53.589Z")).toMatch(/:53$/)
  expect([localText(""), localText("soon"), instantOf("")]).toEqual(["", "", ""])
})
