import { expect, test } from "vitest"
import type { LinkId, MatchSeq } from "../../../model/ids.ts"
import type { LinkProgress } from "../../../model/link.ts"
import { createManualClock } from "../../../runtime/manual-clock.testing.ts"
import { soleLeases, type LinkLease } from "../../../store/leases.ts"
import { StoreFailed } from "../../../store/store-faults.ts"
import type { Store } from "../../../store/store.ts"
import { createRecordedEvents } from "../link-harness.testing.ts"
import { ProgressSaves, type ProgressSource } from "./progress-saves.ts"

const clock = createManualClock()

/** A link whose position counts how often it was asked. */
function source(id: string): ProgressSource {
  let position = 0
  return {
    takeProgress() {
      position += 1
      return {
        linkId: id as LinkId,
        position: position as MatchSeq,
        retries: [],
        settled: [],
        dead: [],
        delivered: 0,
      }
    },
    progressSaved: () => undefined,
  }
}

/** Saves of the test, and what the store was given; each call ends when the test says so. */
function start() {
  const given: string[][] = []
  const ends: PromiseWithResolvers<readonly LinkLease[]>[] = []
  const store: Pick<Store, "saveProgress"> = {
    saveProgress(progress: readonly LinkProgress[]) {
      given.push(progress.map(({ linkId, position }) => `${linkId} at ${position}`))
      const end = Promise.withResolvers<readonly LinkLease[]>()
      ends.push(end)
      return end.promise
    },
  }
  const events = createRecordedEvents()
  const lost: LinkLease[] = []
  const leases = { ...soleLeases, lost: (gone: readonly LinkLease[]) => void lost.push(...gone) }
  const saves = new ProgressSaves({ store, clock, events, leases })
  const stop = new AbortController()
  const saved: string[] = []
  const save = (name: string, link: ProgressSource): void => {
    void saves.save(link).then(() => saved.push(name))
  }
  return {
    given,
    ends,
    events,
    save,
    flushNow: () => saves.flushNow(),
    saved,
    lost,
    stop,
    ended: saves.run(stop.signal),
  }
}

test("progress is saved at once, and progress made during a save is saved together, right after it", async () => {
  const { given, ends, save, saved, stop, ended } = start()
  const [a, b] = [source("1"), source("2")]
  await clock.advance(0)
  save("first of a", a)
  await clock.advance(0)
  expect(given).toEqual([["1 at 1"]])
  save("second of a", a)
  save("first of b", b)
  save("third of a", a)
  await clock.advance(1_000)
  expect(given).toHaveLength(1)
  expect(saved).toEqual([])
  ends[0]?.resolve([])
  await clock.advance(0)
  expect(saved).toEqual(["first of a"])
  expect(given.slice(1)).toEqual([["1 at 2", "2 at 1"]])
  ends[1]?.resolve([])
  await clock.advance(0)
  expect(saved).toEqual(["first of a", "second of a", "first of b", "third of a"])
  stop.abort()
  await ended
  expect(given).toHaveLength(2)
})

test("a save begins 2 ms after the one before, unless a flush is requested", async () => {
  const { given, ends, save, flushNow, stop, ended } = start()
  const a = source("1")
  save("first", a)
  await clock.advance(0)
  ends[0]?.resolve([])
  save("second", a)
  await clock.advance(1)
  expect(given).toHaveLength(1)
  await clock.advance(1)
  expect(given).toEqual([["1 at 1"], ["1 at 2"]])
  save("third", a)
  flushNow()
  ends[1]?.resolve([])
  await clock.advance(0)
  expect(given[2]).toEqual(["1 at 3"])
  ends[2]?.resolve([])
  stop.abort()
  await ended
})

test("progress that could not be saved is retried before anything later, and the failure is reported", async () => {
  const { given, ends, events, save, saved, stop, ended } = start()
  const a = source("1")
  save("first", a)
  await clock.advance(0)
  save("second", a)
  ends[0]?.reject(new Error("disk full"))
  await clock.advance(999)
  expect(given).toHaveLength(1)
  expect(events.failures.map(({ where }) => where)).toEqual(["progress saves"])
  await clock.advance(1)
  expect(given).toEqual([["1 at 1"], ["1 at 1"]])
  expect(saved).toEqual([])
  ends[1]?.resolve([])
  await clock.advance(0)
  expect(saved).toEqual(["first"])
  expect(given[2]).toEqual(["1 at 2"])
  ends[2]?.resolve([])
  stop.abort()
  await ended
})

test("a stop saves the remaining progress", async () => {
  const { given, ends, save, saved, stop, ended } = start()
  const a = source("1")
  save("first", a)
  await clock.advance(0)
  save("second", a)
  stop.abort()
  ends[0]?.resolve([])
  await clock.advance(0)
  expect(given[1]).toEqual(["1 at 2"])
  ends[1]?.resolve([])
  await ended
  expect(saved).toEqual(["first", "second"])
})

test("a stop saves nothing that depends on a failed save", async () => {
  const { given, ends, save, saved, stop, ended } = start()
  const a = source("1")
  save("first", a)
  await clock.advance(0)
  save("second", a)
  stop.abort()
  ends[0]?.reject(new Error("disk full"))
  await ended
  expect(given).toEqual([["1 at 1"]])
  expect(saved).toEqual([])
})

test("after a failure of the store nothing is retried, and nothing waits", async () => {
  const { given, ends, save, saved, ended } = start()
  save("first", source("1"))
  await clock.advance(0)
  ends[0]?.reject(new StoreFailed("The disk failed."))
  await ended
  expect(given).toHaveLength(1)
  expect(saved).toEqual([])
})
