/** The checker must find faults: each fault that it looks for, made by hand. */
import { expect, test } from "vitest"
import { check } from "./checker.ts"
import type { Seen } from "./history.ts"

const promises = { links: 1, repeatsPerFault: 1, rulesMsMax: 10, deletedMsMax: 50 }

type Delivered = Extract<Seen, { kind: "delivered" }>

function delivered(number: number, changes: Partial<Delivered> = {}): Delivered {
  const tags = ["always", "1:a", "1:b"]
  return {
    kind: "delivered",
    link: 0,
    eventId: `msg_${number}`,
    postId: String(number),
    hash: "h",
    tags,
    isTaken: true,
    atMs: 120,
    ...changes,
  }
}

const accepted: Seen = { kind: "accepted", postIds: ["1", "2"], authorId: "7", sentMs: 100, doneMs: 110 }
const added: Seen = { kind: "rules", change: "add", pair: 1, sentMs: 10, doneMs: 20, isDoubtful: false }
const listed: Seen = { kind: "listed", authorId: "7", postIds: ["2", "1"], beganMs: 200 }
const final: Seen = { kind: "final", link: 0, position: 2, head: 2, total: { delivered: 2 } }
const good: readonly Seen[] = [added, accepted, delivered(1), delivered(2), listed, final]

/** The faults of a good history in which other entries replace one. */
function faultsWith(before: Seen | undefined, ...after: readonly Seen[]): string {
  const history =
    before === undefined ? [...good, ...after] : good.flatMap((seen) => (seen === before ? after : [seen]))
  return check(history, promises).join("\n")
}

test("finds no fault in a good history", () => {
  expect(check(good, promises)).toEqual([])
})

test("finds a post that was lost or only refused", () => {
  expect(faultsWith(good[3])).toContain("1 posts accepted and not delivered: 2")
  expect(faultsWith(good[3], delivered(2, { isTaken: false }))).toContain("1 posts accepted and not delivered: 2")
})

test("finds more repeats than faults allow, and does not count a refused delivery", () => {
  const fault: Seen = { kind: "fault", what: "kill", atMs: 150 }
  expect(faultsWith(undefined, delivered(1))).toContain("1 deliveries were repeated, where 0 may be")
  expect(faultsWith(undefined, fault, delivered(1))).toBe("")
  expect(faultsWith(good[3], delivered(2, { isTaken: false }), delivered(2))).toBe("")
})

test("finds an event with other bytes, a post of two events, and positions that are missing or too many", () => {
  const fault: Seen = { kind: "fault", what: "kill", atMs: 150 }
  expect(faultsWith(undefined, fault, delivered(1, { hash: "x" }))).toContain("1 events came with other bytes: msg_1")
  expect(faultsWith(undefined, delivered(1, { eventId: "msg_3" }))).toContain("1 posts came as several events: 1")
  expect(faultsWith(undefined, delivered(1, { eventId: "msg_3" }))).toContain("1 positions are beyond the log: 3")
  expect(faultsWith(final, { ...final, position: 3, head: 3, total: { delivered: 3 } })).toContain(
    "1 positions never came: 3",
  )
  expect(faultsWith(final, { ...final, position: 1 })).toContain("ends at 1 of 2")
  expect(faultsWith(final)).toContain("has no state at the end")
})

test("finds lists that skip, repeat or are out of order", () => {
  expect(faultsWith(listed, { ...listed, postIds: ["2"] })).toContain("1 posts are left out of a list of user 7: 1")
  expect(faultsWith(listed, { ...listed, postIds: ["2", "2", "1"] })).toContain("repeats posts")
  expect(faultsWith(listed, { ...listed, postIds: ["1", "2"] })).toContain("out of order")
  expect(faultsWith(listed, { ...listed, postIds: [], beganMs: 105 })).toBe("")
})

test("finds a post that half a version, two versions or a version not in force matched", () => {
  const always = { tags: ["always"] }
  expect(faultsWith(good[3], delivered(2, { tags: ["always", "1:a"] }))).toContain("matched by one rule of pair 1")
  expect(faultsWith(undefined, delivered(1, { ...always, link: 1 }))).toContain("post 1 was matched by 2 versions")
  expect(faultsWith(good[3], delivered(2, always))).toContain("post 2 was not matched by pair 1")
  expect(faultsWith(added, { ...added, sentMs: 95, doneMs: 99 })).toBe("")
  expect(faultsWith(added, { ...added, sentMs: 111, doneMs: 112 })).toContain("matched before the addition of pair 1")
  const deleted: Seen = { ...added, change: "delete", sentMs: 30, doneMs: 40 }
  expect(faultsWith(undefined, deleted)).toContain("matched after the deletion of pair 1")
  expect(faultsWith(undefined, { ...deleted, doneMs: 95 })).toBe("")
  // An addition without a response may take effect once more after the deletion.
  expect(faultsWith(added, { ...added, isDoubtful: true }, deleted)).toBe("")
})

test("reports the faults that clients found", () => {
  expect(faultsWith(undefined, { kind: "wrong", what: "a page got 500" })).toBe("a page got 500")
})

test("a deleted post may be missing where it counts as withdrawn, and is found where it shows later", () => {
  const gone: Seen = { kind: "deleted", postIds: ["2"], doneMs: 150 }
  const end: Seen = { ...final, total: { delivered: 1, withdrawn: 1 } }
  const without = (seen: readonly Seen[]) => check([added, accepted, delivered(1), gone, ...seen], promises).join("\n")
  const list: Seen = { ...listed, postIds: ["1"] }
  expect(without([list, end])).toBe("")
  expect(without([delivered(2, { atMs: 190 }), list, { ...final, total: { delivered: 2, withdrawn: 0 } }])).toBe("")
  expect(without([delivered(2, { atMs: 201 }), list, end])).toContain("1 posts came long after their deletion: 2")
  expect(without([listed, end])).toContain("1 deleted posts are in a list of user 7: 2")
  expect(without([{ ...listed, beganMs: 149 }, end])).toBe("")
  expect(without([list, { ...final, total: { delivered: 2, withdrawn: 0 } }])).toContain("1 positions never came: 2")
})
