import { expect, test } from "vitest"
import type { UserId } from "../../model/ids.ts"
import type { AcceptedPost } from "../../model/post.ts"
import { aUserPost } from "../contract/fixtures.ts"
import { newestUsers, userLagMsMax, usersToWrite, wordChanges, type StoredSight } from "./user-changes.ts"

const ann = { id: "7", username: "Ann", name: "Ann" }
const renamed = { ...ann, name: "Ann B" }
const atMs = 1_000_000_000

function rowsOf(posts: readonly AcceptedPost[], stored: readonly StoredSight[] = []) {
  return usersToWrite(newestUsers(posts), stored)
}

/** Ann as she is stored when she was seen at the time. */
function storedAt(seenAtMs: number): StoredSight {
  const [row] = rowsOf([aUserPost("1", seenAtMs, ann)])
  return { id: "7" as UserId, seenAtMs, fingerprint: row?.fingerprint ?? 0 }
}

test("of a batch the newest object of each user counts, and of two of one time the later one", () => {
  const batch = [
    aUserPost("1", 20, renamed),
    aUserPost("2", 10, ann),
    aUserPost("3", 20, { id: "8", username: "Bob", name: "B" }, { id: "8", username: "Bob", name: "Bobby" }),
  ]
  expect(
    rowsOf(batch).map(({ id, username, seenAtMs, object }) => [id, username, seenAtMs, JSON.parse(object)]),
  ).toEqual([
    ["7", "ann", 20, renamed],
    ["8", "bob", 20, { id: "8", username: "Bob", name: "Bobby" }],
  ])
})

test.each([
  ["an object that is stored is not written again", ann, 0, 1, []],
  ["nor when it comes within the lag", ann, userLagMsMax, 1, []],
  ["beyond the lag it is written, as unchanged", ann, userLagMsMax + 1, 1, [[ann, false]]],
  ["another object is written at once", renamed, 0, 1, [[renamed, true]]],
  ["an older one is not", renamed, -1, 1, []],
  ["a user without a row is new", ann, 0, 0, [[ann, true]]],
])("%s", (_, user, sinceMs, count, expected) => {
  const rows = rowsOf([aUserPost("9", atMs + sinceMs, user)], [storedAt(atMs)].slice(0, count))
  expect(rows.map(({ object, isChanged }) => [JSON.parse(object), isChanged])).toEqual(expected)
})

test("rows are in the order of their ids, as numbers", () => {
  const users = ["10", "9", "100"].map((id) => ({ id, username: `u${id}`, name: "U" }))
  expect(rowsOf([aUserPost("1", 5, ...users)]).map(({ id }) => id)).toEqual(["9", "10", "100"])
})

test("words of a name change by their difference; a damaged object had none", () => {
  const before = JSON.stringify({ name: "Ann Lee likes cats, naïve", description: "owls" })
  const after = JSON.stringify({ name: "ANN likes dogs" })
  expect(wordChanges(undefined, before)).toEqual({ removed: [], added: ["ann", "lee", "likes", "cats", "naive"] })
  expect(wordChanges(before, after)).toEqual({ removed: ["lee", "cats", "naive"], added: ["dogs"] })
  expect(wordChanges("{", after)).toEqual({ removed: [], added: ["ann", "likes", "dogs"] })
})
