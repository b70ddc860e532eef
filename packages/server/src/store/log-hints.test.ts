import { afterEach, beforeEach, expect, test } from "vitest"
import type { AppId, MatchSeq } from "../model/ids.ts"
import { createManualClock, type ManualClock } from "../runtime/manual-clock.testing.ts"
import { openLogHint } from "./log-hints.ts"
import type { Store, StoreChange } from "./store.ts"

const one = "1" as AppId
const two = "2" as AppId
const seq = (value: number): MatchSeq => value as MatchSeq

let clock: ManualClock
let listeners: Set<(change: StoreChange) => void>
let heads: Map<AppId, MatchSeq>
let polls: number
let store: Pick<Store, "onChange" | "heads">
let ended: string[]

beforeEach(() => {
  clock = createManualClock()
  listeners = new Set()
  heads = new Map()
  polls = 0
  ended = []
  store = {
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    heads() {
      polls += 1
      return Promise.resolve(heads)
    },
  }
})

afterEach(() => {
  // With all hints closed, no listener and no timer is left.
  expect(listeners.size).toBe(0)
  expect(clock.sleepers).toBe(0)
})

function tell(...appIds: AppId[]): void {
  for (const listener of listeners) listener({ kind: "matches", appIds })
}

/** A reader that waits at position `after`. */
function waiting(name: string, appId: AppId, after = 0): ReturnType<typeof openLogHint> {
  const hint = openLogHint(store, clock, appId)
  void hint.wait(seq(after)).then(() => ended.push(name))
  return hint
}

test("an announcement ends the waits for its apps, and no others", async () => {
  const hints = [waiting("a", one), waiting("b", one), waiting("c", two)]
  tell(one)
  await clock.advance(0)
  expect(ended).toEqual(["a", "b"])
  for (const hint of hints) hint.close()
  await clock.advance(0)
})

test("all readers share one listener and one poll, which wakes those that are behind", async () => {
  const hints = [waiting("a", one, 5), waiting("b", one, 6), waiting("c", two, 5)]
  expect([listeners.size, clock.sleepers]).toEqual([1, 1])
  heads.set(one, seq(6))
  await clock.advance(9_999)
  expect(polls).toBe(0)
  await clock.advance(1)
  expect([polls, ended]).toEqual([1, ["a"]])
  await clock.advance(30_000)
  expect([polls, ended]).toEqual([4, ["a"]])
  for (const hint of hints) hint.close()
  await clock.advance(0)
})

test("a call during the read ends the wait after it", async () => {
  const hint = openLogHint(store, clock, one)
  hint.clear()
  tell(one)
  await hint.wait(seq(0))
  hint.clear()
  void hint.wait(seq(0)).then(() => ended.push("again"))
  await clock.advance(0)
  expect(ended).toEqual([])
  hint.close()
  await clock.advance(0)
})

test("the next poll makes up for a failed one", async () => {
  const hint = waiting("a", one)
  const { heads: read } = store
  store.heads = () => Promise.reject(new Error("disk"))
  await clock.advance(10_000)
  store.heads = read
  heads.set(one, seq(1))
  await clock.advance(10_000)
  expect(ended).toEqual(["a"])
  hint.close()
  await clock.advance(0)
})
