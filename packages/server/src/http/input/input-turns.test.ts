import { expect, test } from "vitest"
import { InputTurns } from "./input-turns.ts"

test("a caller's connection waits for one of each other caller, however many of theirs wait", async () => {
  const turns = new InputTurns()
  const resumed: string[] = []
  for (let at = 0; at < 500; at += 1) turns.wait("many", () => void resumed.push("many"))
  turns.wait("one", () => void resumed.push("one"))
  await expect.poll(() => resumed.length).toBe(501)
  expect(resumed.indexOf("one")).toBe(1)
})

test("a connection that has left does not resume, and no other waits for it", async () => {
  const turns = new InputTurns()
  const resumed: string[] = []
  const withdrawals = Array.from({ length: 5_000 }, () => turns.wait("many", () => void resumed.push("gone")))
  turns.wait("many", () => void resumed.push("there"))
  for (const withdraw of withdrawals) withdraw()
  await expect.poll(() => resumed).toEqual(["there"])
})

test("costly input waits earlier than other input, and a new turn accepts both again", async () => {
  const turns = new InputTurns()
  const over = (): readonly boolean[] => [turns.isOver({ isCostly: true }), turns.isOver({ isCostly: false })]
  expect(over()).toEqual([false, false])
  turns.countBytes(250_000)
  expect(over()).toEqual([true, false])
  turns.countBytes(250_000)
  expect(over()).toEqual([true, true])
  await expect.poll(over).toEqual([false, false])
})
