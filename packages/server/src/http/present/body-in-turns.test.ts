import { expect, test } from "vitest"
import { presentInTurns } from "./body-in-turns.ts"

test("the text is that of the whole body, whatever its size", async () => {
  const bodies = [0, 1, 3, 2_000].map((count) => ({
    data: Array.from({ length: count }, (_, at) => ({ id: at, value: `größer ${"x".repeat(500)}` })),
    meta: { sent: "now" },
    errors: Array.from({ length: count }, () => "x".repeat(100_000 / (count + 1))),
  }))
  for (const body of [{}, { data: undefined }, { data: [] }, { a: 1, b: undefined, c: [2] }, ...bodies]) {
    expect((await presentInTurns(body, () => Promise.resolve())).toString("utf8")).toBe(JSON.stringify(body))
  }
})

test("a body of two million characters waits for its turn again and again", async () => {
  const data = Array.from({ length: 1_000 }, () => ({ value: "x".repeat(2_048) }))
  let turns = 0
  await presentInTurns({ data }, () => {
    turns += 1
    return Promise.resolve()
  })
  expect(turns).toBeGreaterThanOrEqual(14)
})
