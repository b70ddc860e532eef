import fc from "fast-check"
import { expect, test } from "vitest"
import type { MatchSeq } from "../model/ids.ts"
import type { LinkProgress, Retry } from "../model/link.ts"
import { LinkCursor } from "./link-cursor.ts"

const seq = (value: number): MatchSeq => value as MatchSeq

function retry(value: number, failures: number, dueAtMs: number): Retry {
  return { seq: seq(value), failures, dueAtMs }
}

test("passes what has failed and what is under way, which are retries then", () => {
  const cursor = new LinkCursor(seq(4), [])
  for (const value of [5, 6, 7, 8, 9]) cursor.start(seq(value))
  cursor.deliver(seq(5))
  expect(cursor.take()).toEqual({ position: 5, retries: [], settled: [] })
  cursor.fail(retry(6, 1, 700))
  cursor.deliver(seq(8))
  expect([cursor.position, cursor.deliveredUpTo, cursor.openCount]).toEqual([8, 5, 3])
  expect(cursor.take()).toEqual({ position: 8, retries: [retry(6, 1, 700), retry(7, 0, 0)], settled: [] })
  expect(cursor.take()).toEqual({ position: 8, retries: [], settled: [] })
})

test("settles what was a retry, and only that", () => {
  const cursor = new LinkCursor(seq(4), [retry(2, 3, 100)])
  for (const value of [5, 6]) cursor.start(seq(value))
  expect([cursor.position, cursor.deliveredUpTo]).toEqual([4, 1])
  cursor.deliver(seq(6))
  cursor.deliver(seq(2))
  cursor.take()
  cursor.deliver(seq(5))
  expect(cursor.take()).toEqual({ position: 6, retries: [], settled: [5] })
  expect([cursor.deliveredUpTo, cursor.openCount]).toEqual([6, 0])
})

test("keeps a retry as it was last", () => {
  const cursor = new LinkCursor(seq(0), [])
  cursor.start(seq(1))
  cursor.fail(retry(1, 1, 100))
  cursor.take()
  cursor.fail(retry(1, 2, 300))
  expect(cursor.take()).toEqual({ position: 1, retries: [retry(1, 2, 300)], settled: [] })
  cursor.fail(retry(1, 3, 700))
  cursor.deliver(seq(1))
  expect(cursor.take()).toEqual({ position: 1, retries: [], settled: [1] })
})

test("refuses to start what it has passed or what is started", () => {
  const cursor = new LinkCursor(seq(4), [])
  expect(() => cursor.start(seq(4))).toThrow("entries start once, beyond the cursor")
  cursor.start(seq(5))
  expect(() => cursor.start(seq(5))).toThrow("entries start once, beyond the cursor")
})

/** Applies progress as a store does. */
function save(
  store: { position: MatchSeq; retries: Map<MatchSeq, Retry> },
  progress: Omit<LinkProgress, "linkId">,
) {
  store.position = progress.position
  for (const each of progress.retries) store.retries.set(each.seq, each)
  for (const settled of progress.settled) store.retries.delete(settled)
}

/** What a link does: entries start, attempts of any that is open end, progress is saved, the process is killed. */
const acts = fc.array(
  fc.tuple(fc.constantFrom("start", "deliver", "fail", "save", "kill"), fc.nat({ max: 100 })),
  { maxLength: 60 },
)

test("whatever ends when, a process that goes on from what is saved has all that is not delivered before it", () => {
  fc.assert(
    fc.property(acts, (list) => {
      const store = { position: seq(0), retries: new Map<MatchSeq, Retry>() }
      let cursor = new LinkCursor(store.position, [])
      let failures = new Map<MatchSeq, number>()
      let open: MatchSeq[] = []
      let unsaved: MatchSeq[] = []
      let newest = 0
      const delivered = new Set<number>()
      for (const [act, choice] of list) {
        const chosen = open[choice % open.length]
        if (act === "start") {
          newest += 1
          cursor.start(seq(newest))
          open.push(seq(newest))
        } else if (act === "deliver" && chosen !== undefined) {
          open = open.filter((each) => each !== chosen)
          delivered.add(chosen)
          unsaved.push(chosen)
          cursor.deliver(chosen)
        } else if (act === "fail" && chosen !== undefined) {
          failures.set(chosen, (failures.get(chosen) ?? 0) + 1)
          cursor.fail({ seq: chosen, failures: failures.get(chosen) ?? 0, dueAtMs: choice })
        } else if (act === "save") {
          save(store, cursor.take())
          unsaved = []
          // The slow, obvious definition of what is not delivered: beyond the position, or a retry.
          const known = open.filter((each) => each > store.position || store.retries.has(each))
          expect(known).toEqual(open)
          expect([...store.retries.keys()].toSorted((a, b) => a - b)).toEqual(
            open.filter((each) => each <= store.position).toSorted((a, b) => a - b),
          )
          for (const each of store.retries.values()) expect(each.failures).toBe(failures.get(each.seq) ?? 0)
        } else if (act === "kill") {
          const retries = [...store.retries.values()].toSorted((a, b) => a.seq - b.seq)
          const repeated = [...delivered].filter(
            (each) => each > store.position || store.retries.has(seq(each)),
          )
          expect(new Set(repeated)).toEqual(new Set(unsaved))
          for (const each of unsaved) delivered.delete(each)
          cursor = new LinkCursor(store.position, retries)
          failures = new Map(retries.map((each) => [each.seq, each.failures]))
          open = retries.map((each) => each.seq)
          unsaved = []
          newest = store.position
        }
        const missing = Array.from({ length: cursor.position }, (_, index) => index + 1).find(
          (each) => !delivered.has(each),
        )
        expect(cursor.deliveredUpTo).toBe((missing ?? cursor.position + 1) - 1)
        expect(cursor.openCount).toBe(open.length)
      }
    }),
  )
})
