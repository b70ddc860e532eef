import { expect, test } from "vitest"
import type { LinkId, MatchSeq } from "../../../model/ids.ts"
import type { LinkProgress } from "../../../model/link.ts"
import { createManualClock } from "../../../runtime/manual-clock.testing.ts"
import { soleLeases, type LinkLease } from "../../../store/leases.ts"
import { StoreDamaged, StoreFailed, StoreFull, StoreUnavailable } from "../../../store/store-faults.ts"
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
  expect(saved).toEqual(["first of a", "second of a", "third of a", "first of b"])
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

/** Rejects the saves with the progress of link 2, and resolves all others, until none is left. */
async function failSavesOfLink2({ given, ends }: ReturnType<typeof start>): Promise<void> {
  for (let at = 0; at < ends.length; at += 1) {
    const hasLink2 = given[at]?.some((progress) => progress.startsWith("2 ")) === true
    if (hasLink2) ends[at]?.reject(new StoreDamaged("The page is damaged."))
    else ends[at]?.resolve([])
    await clock.advance(0)
  }
}

test("a link whose rows are damaged waits, and the progress of all others is saved", async () => {
  const started = start()
  const { given, ends, save, saved, stop, ended } = started
  const links = [source("1"), source("2"), source("3")]
  for (const [at, link] of links.entries()) save(`first of ${at + 1}`, link)
  await clock.advance(0)
  expect(given).toEqual([["1 at 1", "2 at 1", "3 at 1"]])
  await failSavesOfLink2(started)
  expect(saved).toEqual(["first of 1", "first of 3"])
  for (const [at, link] of links.entries()) save(`second of ${at + 1}`, link)
  await clock.advance(2)
  await failSavesOfLink2(started)
  expect(given.slice(1)).toEqual([["1 at 1"], ["2 at 1"], ["3 at 1"], ["1 at 2", "3 at 2"]])
  expect(saved.slice(2)).toEqual(["second of 1", "second of 3"])
  await clock.advance(1_000)
  expect(given.slice(5)).toEqual([["2 at 1"]])
  ends[5]?.resolve([])
  await clock.advance(2)
  expect(given.slice(6)).toEqual([["2 at 2"]])
  ends[6]?.resolve([])
  await clock.advance(0)
  expect(saved.slice(4)).toEqual(["first of 2", "second of 2"])
  stop.abort()
  await ended
})

test("a stop saves the progress of links next to one whose rows are damaged, and ends", async () => {
  const started = start()
  const { given, save, saved, stop, ended } = started
  for (const id of ["1", "2"]) save(`link ${id}`, source(id))
  await clock.advance(0)
  stop.abort()
  await failSavesOfLink2(started)
  await ended
  expect(given).toEqual([["1 at 1", "2 at 1"], ["1 at 1"], ["2 at 1"]])
  expect(saved).toEqual(["link 1"])
})

test.each([new StoreFull("The disk is full."), new StoreUnavailable("The database does not answer.")])(
  "while nothing can be saved, all links are saved together: %s",
  async (fault) => {
    const { given, ends, save, saved, stop, ended } = start()
    for (const id of ["1", "2"]) save(`link ${id}`, source(id))
    await clock.advance(0)
    ends[0]?.reject(fault)
    await clock.advance(1_000)
    expect(given).toEqual([
      ["1 at 1", "2 at 1"],
      ["1 at 1", "2 at 1"],
    ])
    ends[1]?.resolve([])
    await clock.advance(0)
    expect(saved).toEqual(["link 1", "link 2"])
    stop.abort()
    await ended
  },
)
