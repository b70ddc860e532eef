import fc from "fast-check"
import { expect, test } from "vitest"
import type { DeadMatch } from "../../../model/dead-letter.ts"
import type { MatchSeq } from "../../../model/ids.ts"
import type { LinkProgress, Retry } from "../../../model/link.ts"
import { LinkCursor } from "./link-cursor.ts"

const seq = (value: number): MatchSeq => value as MatchSeq

function retry(value: number, failures: number, dueAtMs: number): Retry {
  return { seq: seq(value), failures, dueAtMs }
}

function dead(value: number): DeadMatch {
  return { seq: seq(value), failures: 9, outcome: "server_error", deadLetteredAtMs: 1 }
}

/** Progress with nothing in it but the position and what is given. */
function progressWith(
  position: number,
  parts: Partial<Omit<LinkProgress, "linkId" | "position">> = {},
): Omit<LinkProgress, "linkId"> {
  return { position: seq(position), retries: [], settled: [], dead: [], delivered: 0, ...parts }
}

test("a cursor passes failed matches and matches in flight, which become retries", () => {
  const cursor = new LinkCursor(seq(4), [])
  for (const value of [5, 6, 7, 8, 9]) cursor.start(seq(value))
  cursor.deliver(seq(5))
  expect(cursor.take()).toEqual(progressWith(5, { delivered: 1 }))
  cursor.fail(retry(6, 1, 700))
  cursor.deliver(seq(8))
  expect([cursor.position, cursor.deliveredUpTo]).toEqual([8, 5])
  expect(cursor.take()).toEqual(progressWith(8, { retries: [retry(6, 1, 700), retry(7, 0, 0)], delivered: 1 }))
  expect(cursor.take()).toEqual(progressWith(8))
  // 6, 7 and 9 are open, and 10 to 12 not read.
  expect(cursor.undeliveredOf(seq(12))).toBe(6)
})

test("a cursor settles a match that was a retry, and no other", () => {
  const cursor = new LinkCursor(seq(4), [retry(2, 3, 100)])
  for (const value of [5, 6]) cursor.start(seq(value))
  expect([cursor.position, cursor.deliveredUpTo]).toEqual([4, 1])
  cursor.deliver(seq(6))
  cursor.deliver(seq(2))
  cursor.take()
  cursor.deliver(seq(5))
  expect(cursor.take()).toEqual(progressWith(6, { settled: [seq(5)], delivered: 1 }))
  expect([cursor.deliveredUpTo, cursor.undeliveredOf(cursor.position)]).toEqual([6, 0])
})

test("a cursor saves the last state of a retry", () => {
  const cursor = new LinkCursor(seq(0), [])
  cursor.start(seq(1))
  cursor.fail(retry(1, 1, 100))
  cursor.take()
  cursor.fail(retry(1, 2, 300))
  expect(cursor.take()).toEqual(progressWith(1, { retries: [retry(1, 2, 300)] }))
  cursor.fail(retry(1, 3, 700))
  cursor.deliver(seq(1))
  expect(cursor.take()).toEqual(progressWith(1, { settled: [seq(1)], delivered: 1 }))
})

test("a cursor passes dead letters, which are saved once, and settled when they were retries", () => {
  const cursor = new LinkCursor(seq(0), [])
  for (const value of [1, 2]) cursor.start(seq(value))
  cursor.fail(retry(1, 1, 100))
  cursor.take()
  cursor.deadLetter(dead(1))
  cursor.deadLetter(dead(2))
  expect([cursor.deliveredUpTo, cursor.undeliveredOf(cursor.position)]).toEqual([2, 0])
  expect(cursor.take()).toEqual(progressWith(2, { settled: [seq(1)], dead: [dead(1), dead(2)] }))
  expect(cursor.take()).toEqual(progressWith(2))
})

test("a cursor resumes retries that it does not have, and none that finished since the reread began", () => {
  const cursor = new LinkCursor(seq(0), [])
  for (const value of [1, 2, 3]) cursor.start(seq(value))
  cursor.deadLetter(dead(1))
  cursor.fail(retry(3, 1, 100))
  cursor.take()
  cursor.beginReread()
  cursor.deliver(seq(2))
  const found = cursor.resume([retry(1, 0, 0), retry(2, 0, 0), retry(3, 1, 100)])
  expect(found).toEqual([retry(1, 0, 0)])
  expect([cursor.deliveredUpTo, cursor.undeliveredOf(cursor.position)]).toEqual([0, 2])
  cursor.deliver(seq(1))
  expect(cursor.take()).toMatchObject({ settled: [2, 1], delivered: 2 })
})

test("a cursor skips matches that retention deleted, and keeps those in flight there", () => {
  const cursor = new LinkCursor(seq(4), [])
  cursor.start(seq(5))
  cursor.skipTo(seq(9))
  expect([cursor.position, cursor.deliveredUpTo]).toEqual([9, 4])
  expect(cursor.take()).toEqual(progressWith(9, { retries: [retry(5, 0, 0)] }))
  cursor.start(seq(12))
  cursor.deliver(seq(5))
  cursor.deliver(seq(12))
  expect(cursor.take()).toEqual(progressWith(12, { settled: [seq(5)], delivered: 2 }))
})

test("a cursor refuses to start a match that it has passed or that is started", () => {
  const cursor = new LinkCursor(seq(4), [])
  expect(() => cursor.start(seq(4))).toThrow("entries start once, beyond the cursor")
  cursor.start(seq(5))
  expect(() => cursor.start(seq(5))).toThrow("entries start once, beyond the cursor")
})

/** State of a link in a store. */
class StoredProgress {
  position = seq(0)
  delivered = 0
  readonly retries = new Map<MatchSeq, Retry>()
  readonly dead = new Set<MatchSeq>()

  /** Applies progress as a store does. */
  save(progress: Omit<LinkProgress, "linkId">): void {
    this.position = progress.position
    this.delivered += progress.delivered
    for (const each of progress.retries) this.retries.set(each.seq, each)
    for (const settled of progress.settled) this.retries.delete(settled)
    for (const each of progress.dead) this.dead.add(each.seq)
  }

  /** Makes retries of all dead letters. */
  redeliver(): void {
    for (const each of this.dead) this.retries.set(each, { seq: each, failures: 0, dueAtMs: 0 })
    this.dead.clear()
  }

  retriesInOrder(): Retry[] {
    return [...this.retries.values()].toSorted((a, b) => a.seq - b.seq)
  }
}

/** Acts of a link: entries start, attempts of any that is open end, progress is saved, the process is killed. */
const acts = fc.array(
  fc.tuple(fc.constantFrom("start", "deliver", "fail", "die", "save", "redeliver", "kill"), fc.nat({ max: 100 })),
  { maxLength: 60, size: "max" },
)

test("in any order of ends, a process that continues from the saved state still has every unfinished match", () => {
  fc.assert(
    fc.property(acts, (list) => {
      const store = new StoredProgress()
      let cursor = new LinkCursor(store.position, [])
      let failures = new Map<MatchSeq, number>()
      let open: MatchSeq[] = []
      /** Over, and not saved: what a crash repeats. */
      let unsaved: MatchSeq[] = []
      let newest = 0
      const over = new Set<number>()
      const finish = (chosen: MatchSeq): void => {
        open = open.filter((each) => each !== chosen)
        over.add(chosen)
        unsaved.push(chosen)
      }
      const save = (): void => {
        store.save(cursor.take())
        unsaved = []
      }
      for (const [act, choice] of list) {
        const chosen = open[choice % open.length]
        if (act === "start") {
          newest += 1
          cursor.start(seq(newest))
          open.push(seq(newest))
        } else if (act === "deliver" && chosen !== undefined) {
          finish(chosen)
          cursor.deliver(chosen)
        } else if (act === "die" && chosen !== undefined) {
          finish(chosen)
          cursor.deadLetter(dead(chosen))
        } else if (act === "fail" && chosen !== undefined) {
          failures.set(chosen, (failures.get(chosen) ?? 0) + 1)
          cursor.fail({ seq: chosen, failures: failures.get(chosen) ?? 0, dueAtMs: choice })
        } else if (act === "save") {
          save()
          // The slow, obvious definition of what is not over: beyond the position, or a retry.
          const known = open.filter((each) => each > store.position || store.retries.has(each))
          expect(known).toEqual(open)
          expect([...store.retries.keys()].toSorted((a, b) => a - b)).toEqual(
            open.filter((each) => each <= store.position).toSorted((a, b) => a - b),
          )
          for (const each of store.retries.values()) expect(each.failures).toBe(failures.get(each.seq) ?? 0)
          expect(store.position).toBe(store.delivered + store.retries.size + store.dead.size)
        } else if (act === "redeliver") {
          const before = new Set(store.dead)
          store.redeliver()
          cursor.beginReread()
          // A delivery may end between the check for finished ones and the read of the store.
          if (chosen !== undefined) {
            finish(chosen)
            cursor.deliver(chosen)
          }
          const lateFinisher = unsaved.filter((each) => each !== chosen)
          // Everything from before was to be saved.
          if (lateFinisher.length > 0) save()
          const found = cursor.resume(store.retriesInOrder())
          expect(new Set(found.map((each) => each.seq))).toEqual(before)
          for (const each of found) {
            open.push(each.seq)
            over.delete(each.seq)
            failures.delete(each.seq)
          }
        } else if (act === "kill") {
          const retries = store.retriesInOrder()
          const repeated = [...over].filter((each) => each > store.position || store.retries.has(seq(each)))
          expect(new Set(repeated)).toEqual(new Set(unsaved))
          for (const each of unsaved) over.delete(each)
          cursor = new LinkCursor(store.position, retries)
          failures = new Map(retries.map((each) => [each.seq, each.failures]))
          open = retries.map((each) => each.seq)
          unsaved = []
          newest = store.position
        }
        const missing = Array.from({ length: cursor.position }, (_, index) => index + 1).find((each) => !over.has(each))
        expect(cursor.deliveredUpTo).toBe((missing ?? cursor.position + 1) - 1)
        expect(cursor.undeliveredOf(seq(newest))).toBe(open.length)
      }
    }),
  )
})
