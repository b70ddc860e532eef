import { expect, test } from "vitest"
import { FairQueue } from "./fair-queue.ts"

function drained(queue: FairQueue<string>, mayHaveTurn?: (owner: string) => boolean): string[] {
  const items: string[] = []
  for (let item = queue.shift(mayHaveTurn); item !== undefined; item = queue.shift(mayHaveTurn)) items.push(item)
  return items
}

test("each owner has a turn before one has a second, and the items of one stay in order", () => {
  const queue = new FairQueue<string>()
  for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"]) queue.push(item.charAt(0), item)
  expect(queue.size).toBe(6)
  expect(drained(queue)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"])
  expect(queue.size).toBe(0)
})

test("an owner that comes late waits for one item of each other owner, however many they have", () => {
  const queue = new FairQueue<string>()
  for (let at = 0; at < 200; at += 1) queue.push("a", `a${at}`)
  queue.push("b", "b0")
  expect([queue.shift(), queue.shift()]).toEqual(["a0", "b0"])
})

test("a withdrawn item gets no turn, and neither does an owner whose items are all withdrawn", () => {
  const queue = new FairQueue<string>()
  const [withdrawFirst] = ["a1", "a2", "b1"].map((item) => queue.push(item.charAt(0), item))
  const withdrawn = queue.push("c", "c1")
  const late = queue.push("b", "b2")
  withdrawFirst?.()
  withdrawn()
  withdrawn()
  expect(queue.size).toBe(3)
  expect(drained(queue)).toEqual(["a2", "b1", "b2"])
  queue.push("b", "b3")
  late()
  expect([queue.size, ...drained(queue)]).toEqual([1, "b3"])
})

test("an owner that may not have a turn keeps its items and its place", () => {
  const queue = new FairQueue<string>()
  for (const item of ["a1", "a2", "b1", "b2"]) queue.push(item.charAt(0), item)
  expect(drained(queue, (owner) => owner === "b")).toEqual(["b1", "b2"])
  expect(drained(queue)).toEqual(["a1", "a2"])
})
