/** Rows that came in no order, so that SQLite has moved many of them: none of a deleted one is left in the file. */
import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import type { AppId, LinkId, PostId } from "../../../model/ids.ts"
import { createManualClock } from "../../../runtime/manual-clock.testing.ts"
import { seededRandom } from "../../../../../../test/oracle/seeded-random.ts"
import { temporaryDirectory } from "../../../../../../test/support/temporary-directory.testing.ts"
import { aLink, anApp, anAttempt, aPost, aWebhook } from "../../contract/fixtures.ts"
import { openForWriting, storeFile } from "../connection/database.ts"
import { LogCheckpoints } from "../connection/log-checkpoints.ts"
import { FollowedLogs } from "../serving/appended-entries.ts"
import { audit } from "../serving/audit.ts"
import { createWrites } from "../serving/writes.ts"

const appId = "100" as AppId

async function emptyStore() {
  const directory = await temporaryDirectory()
  const file = storeFile(directory.path)
  const db = openForWriting(file)
  const writes = createWrites(db, {
    announce: () => undefined,
    followed: new FollowedLogs(),
    clock: createManualClock(1_000),
  })
  const transaction = <Result>(write: () => Result): Result => {
    db.exec("BEGIN IMMEDIATE")
    const result = write()
    db.exec("COMMIT")
    return result
  }
  /** Carries all over to the file. */
  const checkpoint = () => expect(new LogCheckpoints(db).emptyLog()).toBe(true)
  return {
    db,
    writes,
    transaction,
    /** Those of the texts that the file holds. */
    held(texts: readonly string[]): readonly string[] {
      checkpoint()
      const bytes = readFileSync(file, "latin1")
      return texts.filter((text) => bytes.includes(text))
    },
    erase() {
      while (!transaction(() => writes.overwriteDeleted()));
    },
    async [Symbol.asyncDispose]() {
      db.close()
      await directory.remove()
    },
  }
}

const markerOf = (id: number | string): string => `marker${id}marker`

test("of deleted posts nothing is in the file, and the posts next to them are as they were", async () => {
  await using store = await emptyStore()
  const { db, writes, transaction } = store
  const random = seededRandom(7)
  const length = (max: number): number => Math.floor(random() * max)
  const ids = Array.from(new Set(Array.from({ length: 3_000 }, () => String(1 + length(1e9)))))
  for (let at = 0; at < ids.length; at += 100) {
    const posts = ids.slice(at, at + 100).map((id) =>
      aPost(id, String(length(50)), {
        core: JSON.stringify({ id, text: markerOf(id) + "x".repeat(length(900)) }),
        envelope: JSON.stringify({ data: { id, text: markerOf(id) + "é".repeat(length(1_250)) + markerOf(id) } }),
      }),
    )
    transaction(() =>
      writes.append(
        posts.map((post) => ({ post, matches: [] })),
        1,
      ),
    )
  }
  const rows = () =>
    new Map(
      db
        .prepare("SELECT * FROM posts")
        .all()
        .map((row) => [String(row["id"]), { ...row }]),
    )
  const before = rows()
  const deleted = ids.filter(() => random() < 0.1)
  for (let at = 0; at < deleted.length; at += 50) {
    const requests = deleted.slice(at, at + 50).map((id) => ({ kind: "post", id: id as PostId }) as const)
    transaction(() => writes.delete(requests, 1))
  }
  while (!transaction(() => writes.continueDeletions(1)));
  // The test would see nothing if SQLite had left nothing behind.
  expect(store.held(deleted.map(markerOf))).not.toEqual([])
  store.erase()
  expect(store.held(deleted.map(markerOf))).toEqual([])
  for (const id of deleted) before.delete(id)
  expect(rows()).toEqual(before)
  expect(audit(db).damage).toEqual([])
})

test("of the responses to attempts at a deleted post nothing is in the file, and the other attempts stay", async () => {
  await using store = await emptyStore()
  const { db, writes, transaction } = store
  const random = seededRandom(11)
  const links = Array.from({ length: 40 }, (_, index) => String(31 + index) as LinkId)
  transaction(() => {
    writes.createApp(anApp(appId), [])
    for (const [index, link] of links.entries()) {
      writes.createWebhook(aWebhook(appId, String(1 + index)), { webhooksMax: 50 })
      writes.createLink(aLink(appId, link, String(1 + index)))
    }
  })
  const posts = Array.from({ length: 60 }, (_, index) => String(1 + index))
  transaction(() =>
    writes.append(
      posts.map((id) => ({ post: aPost(id), matches: [{ appId, rules: [{ id: "5", tag: "" }] }] })),
      1,
    ),
  )
  for (let round = 0; round < 900; round += 1) {
    const seq = 1 + Math.floor(random() * posts.length)
    const linkId = links[Math.floor(random() * links.length)] as LinkId
    const body = `${markerOf(seq)}${"y".repeat(Math.floor(random() * 900))}`
    const response = { status: 200, headers: [] as const, body, bytes: body.length }
    transaction(() => writes.recordAttempts([{ ...anAttempt(seq, { response }), linkId }], { keptPerLink: 30 }))
  }
  const deleted = posts.filter(() => random() < 0.3)
  transaction(() =>
    writes.delete(
      deleted.map((id) => ({ kind: "post", id: id as PostId })),
      1,
    ),
  )
  const attempts = () => db.prepare("SELECT * FROM attempts ORDER BY link_id, slot").all()
  const before = attempts()
  store.erase()
  expect(store.held(deleted.map(markerOf))).toEqual([])
  expect(attempts()).toEqual(before)
  expect(before.filter(({ response }) => response !== null).length).toBeGreaterThan(300)
  expect(audit(db).damage).toEqual([])
})
