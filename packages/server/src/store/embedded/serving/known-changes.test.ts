import { expect, test } from "vitest"
import type { AppId, RuleId } from "../../../model/ids.ts"
import type { RuleChange } from "../../../model/rule.ts"
import type { StoreChange } from "../../store.ts"
import { ControlCount, knownRuleChanges } from "./known-changes.ts"

const appId = "1" as AppId

/** A history of changes, of which `during` happens in the middle of each read. */
function history(during: () => void = () => undefined) {
  const changes: RuleChange[] = []
  const listeners: ((change: StoreChange) => void)[] = []
  const count = new ControlCount()
  const seen = { reads: 0 }
  const read = knownRuleChanges(
    {
      async ruleChanges(after, limit) {
        seen.reads += 1
        const found = changes.filter(({ seq }) => seq > after).slice(0, limit)
        during()
        return found
      },
    },
    // Another thread has the count by its memory alone.
    new ControlCount(count.buffer),
    (listener) => {
      listeners.push(listener)
      return () => undefined
    },
  )
  return {
    read,
    seen,
    add: () => void changes.push({ kind: "removed", seq: changes.length + 1, appId, ruleId: "5" as RuleId }),
    confirm: () => count.raise(),
    announce: (kind: "control" | "deletions") => {
      for (const listener of listeners) listener({ kind })
    },
    matches: () => listeners.forEach((listener) => listener({ kind: "matches", appIds: [appId] })),
  }
}

test("what has not changed is not read again", async () => {
  const { read, seen, matches } = history()
  for (let times = 0; times < 3; times++) expect(await read(0, 10)).toEqual([])
  matches()
  expect(await read(0, 10)).toEqual([])
  expect(seen.reads).toBe(1)
})

test("a change is read as soon as it is confirmed, and until nothing comes after it", async () => {
  const { read, seen, add, confirm } = history()
  expect(await read(0, 10)).toEqual([])
  add()
  add()
  confirm()
  expect(await read(0, 1)).toMatchObject([{ seq: 1 }])
  expect(await read(1, 1)).toMatchObject([{ seq: 2 }])
  expect(await read(2, 1)).toEqual([])
  expect(await read(2, 1)).toEqual([])
  expect(await read(0, 10)).toMatchObject([{ seq: 1 }, { seq: 2 }])
  expect(seen.reads).toBe(5)
})

test("a change of another process, which raises no count, is read once it is announced", async () => {
  const { read, seen, add, announce } = history()
  expect(await read(0, 10)).toEqual([])
  add()
  announce("deletions")
  expect(await read(0, 10)).toEqual([])
  announce("control")
  expect(await read(0, 10)).toMatchObject([{ seq: 1 }])
  expect(seen.reads).toBe(2)
})

test.each(["confirm", "announce"] as const)(
  "a change that comes during a read is read the next time: %s",
  async (way) => {
    let isOver = false
    const changed = history(() => {
      if (isOver) return
      isOver = true
      changed.add()
      if (way === "confirm") changed.confirm()
      else changed.announce("control")
    })
    expect(await changed.read(0, 10)).toEqual([])
    expect(await changed.read(0, 10)).toMatchObject([{ seq: 1 }])
  },
)
