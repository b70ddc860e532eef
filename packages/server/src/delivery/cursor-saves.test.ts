import { expect, test } from "vitest"
import type { LinkId, MatchSeq } from "../model/ids.ts"
import { createManualClock } from "../runtime/manual-clock.ts"
import type { Store } from "../store/store.ts"
import { CursorSaves } from "./cursor-saves.ts"
import { createRecordedEvents } from "./link-bench.ts"

type Saved = readonly { readonly linkId: LinkId; readonly position: MatchSeq }[]

const clock = createManualClock()
const a = "1" as LinkId
const b = "2" as LinkId
const at = (position: number): MatchSeq => position as MatchSeq

/** Saves of the test, and what the store was given; each call ends when the test says so. */
function start() {
  const given: Saved[] = []
  const ends: PromiseWithResolvers<void>[] = []
  const store: Pick<Store, "saveCursors"> = {
    saveCursors(cursors) {
      given.push(cursors)
      const end = Promise.withResolvers<void>()
      ends.push(end)
      return end.promise
    },
  }
  const events = createRecordedEvents()
  const saves = new CursorSaves({ store, clock, events })
  const stop = new AbortController()
  return { given, ends, events, saves, stop, ended: saves.run(stop.signal) }
}

test("a move is saved at once, and those during a save together, 5 ms after it", async () => {
  const { given, ends, saves, stop, ended } = start()
  await clock.advance(0)
  saves.moved(a, at(1))
  await clock.advance(0)
  expect(given).toEqual([[{ linkId: a, position: 1 }]])
  saves.moved(a, at(2))
  saves.moved(b, at(7))
  saves.moved(a, at(3))
  await clock.advance(1_000)
  expect(given).toHaveLength(1)
  ends[0]?.resolve()
  await clock.advance(4)
  expect(given).toHaveLength(1)
  await clock.advance(1)
  expect(given[1]).toEqual([
    { linkId: a, position: 3 },
    { linkId: b, position: 7 },
  ])
  ends[1]?.resolve()
  stop.abort()
  await ended
  expect(given).toHaveLength(2)
})

test("what could not be saved is saved later, unless it has moved on, and the failure is told", async () => {
  const { given, ends, events, saves, stop, ended } = start()
  saves.moved(a, at(1))
  saves.moved(b, at(5))
  await clock.advance(0)
  saves.moved(a, at(2))
  ends[0]?.reject(new Error("disk full"))
  await clock.advance(1_000)
  expect(events.failures.map(({ where }) => where)).toEqual(["cursor saves"])
  expect(given[1]).toEqual([
    { linkId: a, position: 2 },
    { linkId: b, position: 5 },
  ])
  ends[1]?.resolve()
  stop.abort()
  await ended
})

test("a stop saves what is left", async () => {
  const { given, ends, saves, stop, ended } = start()
  saves.moved(a, at(1))
  await clock.advance(0)
  saves.moved(a, at(2))
  stop.abort()
  ends[0]?.resolve()
  await clock.advance(0)
  expect(given[1]).toEqual([{ linkId: a, position: 2 }])
  ends[1]?.resolve()
  await ended
})
