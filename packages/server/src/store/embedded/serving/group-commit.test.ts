import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readlinkSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { setImmediate as nextTurn } from "node:timers/promises"
import { MessageChannel } from "node:worker_threads"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { systemClock } from "../../../runtime/clock.ts"
import { aPost, anApp, aToken } from "../../contract/fixtures.ts"
import { StoreDamaged, StoreFailed, StoreFull } from "../../store-faults.ts"
import { FollowedLogs } from "./appended-entries.ts"
import { openForWriting } from "../connection/database.ts"
import { openEmbeddedStore } from "./embedded-store.ts"
import { GroupCommit } from "./group-commit.ts"
import { serveWrites, writesThrough } from "./write-port.ts"
import type { SyncWrites } from "./sync-store.ts"
import { createWrites } from "./writes.ts"
import {
  temporaryDirectory,
  type TemporaryDirectory,
} from "../../../../../../test/support/temporary-directory.testing.ts"

let directory: TemporaryDirectory
let file: string
let db: DatabaseSync

beforeEach(async () => {
  directory = await temporaryDirectory()
  file = join(directory.path, "sluice.db")
  db = openForWriting(file)
})

afterEach(async () => {
  vi.useRealTimers()
  if (db.isOpen) db.close()
  await directory.remove()
})

function writesOn(connection: DatabaseSync): SyncWrites {
  return createWrites(connection, { announce: () => undefined, followed: new FollowedLogs(), clock: systemClock })
}

function groupCommit(connection: DatabaseSync, failed: (error: StoreFailed) => void = () => undefined): GroupCommit {
  return new GroupCommit(connection, { failed })
}

/** Posts of 100 kB each, more than a store of a few pages takes. */
function largePosts(from: number) {
  return Array.from({ length: 5 }, (_, index) => ({
    post: aPost(String(from + index), "7", { envelope: `{"data":"${"x".repeat(100_000)}"}` }),
    matches: [],
  }))
}

test("a store without room reports it, keeps nothing of the write, and resumes when there is room", async () => {
  const writes = writesOn(db)
  const group = groupCommit(db)
  await group.run(() => writes.createApp(anApp("100"), []))
  const pages = Number(db.prepare("PRAGMA page_count").get()?.["page_count"])
  db.exec(`PRAGMA max_page_count = ${pages + 2}`)
  const outcomes = await Promise.allSettled([
    group.run(() => writes.createToken(aToken("100", 1))),
    group.run(() => writes.append(largePosts(1), 1), { posts: 5 }),
    group.run(() => writes.createToken(aToken("100", 2))),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"])
  expect(outcomes[1]).toMatchObject({ reason: expect.any(StoreFull) })
  await expect(group.run(() => writes.append(largePosts(1), 1))).rejects.toThrow("full")
  const counts = () => ({
    ...db.prepare("SELECT (SELECT count(*) FROM posts) AS posts, posts_accepted AS accepted FROM totals").get(),
  })
  expect(counts()).toEqual({ posts: 0, accepted: 0 })
  db.exec("PRAGMA max_page_count = 1000000")
  expect(await group.run(() => writes.append(largePosts(1), 1))).toEqual([true, true, true, true, true])
  expect(counts()).toEqual({ posts: 5, accepted: 5 })
})

/**
 * A connection on which a statement fails as on a bad disk, once for each of these codes; and the statements that were
 * executed.
 */
function failing(statement: string, ...errcodes: readonly number[]): { connection: DatabaseSync; executed: string[] } {
  const executed: string[] = []
  const left = [...errcodes]
  const connection = new Proxy(db, {
    get(target, name) {
      if (name !== "exec") {
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === "function" ? (value.bind(target) as unknown) : value
      }
      return (sql: string) => {
        executed.push(sql)
        const errcode = sql === statement ? left.shift() : undefined
        if (errcode !== undefined) throw Object.assign(new Error("disk I/O error"), { errcode })
        target.exec(sql)
      }
    },
  })
  return { connection, executed }
}

test("batches share transactions of up to 2,000 posts, in order, and other writes do not wait for them", async () => {
  const { connection, executed } = failing("nothing")
  const group = groupCommit(connection)
  const run = (name: string, posts: number) => group.run(() => executed.push(name), { posts })
  await Promise.all([
    run("a", 3_000),
    run("b", 1_500),
    run("c", 600),
    run("d", 1),
    group.run(() => executed.push("a cursor")),
  ])
  const order = executed.filter((text) => text === "COMMIT" || !/^[A-Z]/.test(text))
  expect(order).toEqual(["a", "a cursor", "COMMIT", "b", "COMMIT", "c", "d", "COMMIT"])
})

test("after a commit of posts other writes wait for the next posts, and share their transaction", async () => {
  const { connection, executed } = failing("nothing")
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
  const group = new GroupCommit(connection, { failed: () => undefined, clock: { monotonicMs: () => 0 } })
  const run = (name: string, posts = 0) => group.run(() => executed.push(name), { posts })
  await run("a", 1)
  // Other tests of the process may have timers too, but none within a turn.
  const before = vi.getTimerCount()
  const cursor = run("a cursor")
  expect(vi.getTimerCount() - before, "the cursor waits").toBe(1)
  await nextTurn()
  const waiting = vi.getTimerCount()
  const b = run("b", 1)
  expect(vi.getTimerCount() - waiting, "the wait has ended").toBe(-1)
  await Promise.all([b, cursor])
  const order = executed.filter((text) => text === "COMMIT" || !/^[A-Z]/.test(text))
  expect(order).toEqual(["a", "COMMIT", "a cursor", "b", "COMMIT"])
})

test("a write after which no posts come is committed all the same", async () => {
  const { connection, executed } = failing("nothing")
  const group = groupCommit(connection)
  await group.run(() => "posts", { posts: 1 })
  expect(await group.run(() => "a cursor")).toBe("a cursor")
  expect(executed).toEqual(["BEGIN IMMEDIATE", "COMMIT", "BEGIN IMMEDIATE", "COMMIT"])
})

const flushFailed = 1_034

test("after a flush that failed no write is acknowledged, and the connection is not used again", async () => {
  const { connection, executed } = failing("COMMIT", flushFailed)
  const reported: StoreFailed[] = []
  const group = groupCommit(connection, (error) => reported.push(error))
  const outcomes = Promise.allSettled(Array.from({ length: 1_500 }, () => group.run(() => "written")))
  const kinds = new Set((await outcomes).map((one) => one.status === "rejected" && one.reason instanceof StoreFailed))
  expect(kinds).toEqual(new Set([true]))
  expect(reported).toHaveLength(1)
  expect(executed.filter((sql) => sql.startsWith("BEGIN"))).toHaveLength(1)
  expect(executed.at(-1)).toBe("COMMIT")
  await expect(group.run(() => "later")).rejects.toBe(reported[0])
  expect(executed.at(-1)).toBe("COMMIT")
})

test("posts that found no room are not retried on a disk that has failed meanwhile", async () => {
  const { connection, executed } = failing("COMMIT", 13, flushFailed)
  const reported: StoreFailed[] = []
  const group = groupCommit(connection, (error) => reported.push(error))
  const outcomes = await Promise.allSettled([
    group.run(() => "a post", { posts: 1 }),
    group.run(() => "a cursor"),
    group.run(() => "another post", { posts: 1 }),
  ])
  expect(reported).toHaveLength(1)
  expect(outcomes).toEqual(Array.from({ length: 3 }, () => ({ status: "rejected", reason: reported[0] })))
  expect(executed.filter((sql) => sql.startsWith("BEGIN"))).toHaveLength(2)
})

test("a damaged page that fails the commit of several writes fails only the one that met it", async () => {
  // The page stays damaged: the commit of all fails, then that of the first alone.
  const corrupt = 11
  const { connection, executed } = failing("COMMIT", corrupt, corrupt)
  const group = groupCommit(connection)
  const writes = writesOn(db)
  const outcomes = await Promise.allSettled([
    group.run(() => writes.createApp(anApp("101"), [])),
    group.run(() => writes.createApp(anApp("102"), [])),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled"])
  expect(outcomes[0]).toMatchObject({ reason: expect.any(StoreDamaged) })
  expect(db.prepare("SELECT id FROM apps").all()).toEqual([{ id: 102 }])
  expect(executed.filter((sql) => sql === "COMMIT")).toHaveLength(3)
})

test("a write by itself has no savepoint, and nothing of it is kept when it fails", async () => {
  const { connection, executed } = failing("none")
  const group = groupCommit(connection)
  const writes = writesOn(db)
  expect(await group.run(() => writes.append(largePosts(1), 1))).toHaveLength(5)
  expect(executed).toEqual(["BEGIN IMMEDIATE", "COMMIT"])
  const failed = group.run(() => {
    writes.append(largePosts(6), 1)
    throw new Error("on its way")
  })
  await expect(failed).rejects.toThrow("on its way")
  expect(db.prepare("SELECT count(*) AS count FROM posts").get()).toEqual({ count: 5 })
})

/** Files that this process has open and that have no name: SQLite's temporary ones. */
function namelessFiles(): readonly string[] {
  return readdirSync("/proc/self/fd").flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)].filter((path) => path.includes("etilqs_"))
    } catch {
      return []
    }
  })
}

test.skipIf(!existsSync("/proc/self/fd"))("large writes of one group need no temporary file", async () => {
  const writes = writesOn(db)
  const group = groupCommit(db)
  // A savepoint copies the pages that are changed, not those that are only added to.
  const many = Array.from({ length: 20 }, (_, index) => largePosts(1 + 5 * index)).flat()
  await group.run(() => writes.append(many, 1))
  const touch = () => {
    db.exec("UPDATE posts SET created_at_ms = created_at_ms + 1")
    return namelessFiles()
  }
  const open = Promise.all([group.run(touch), group.run(touch), group.run(touch)])
  expect((await open).flat()).toEqual([])
})

test("a file next to the store that cannot be opened is reported as a temporary fault", async () => {
  const { connection } = failing("COMMIT", 14)
  const refused = await groupCommit(connection)
    .run(() => "written")
    .catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(StoreFull)
  expect(refused).toMatchObject({ message: expect.stringMatching(/cannot be opened .*code 14/) })
})

test("a commit that finds no room is undone, and the next one succeeds", async () => {
  const { connection, executed } = failing("COMMIT", 13)
  await expect(groupCommit(connection).run(() => "written")).rejects.toBeInstanceOf(StoreFull)
  expect(executed.at(-1)).toBe("ROLLBACK")
  expect(db.isTransaction).toBe(false)
  expect(await groupCommit(db).run(() => "written")).toBe("written")
})

test("when the disk ends the transaction itself, no write of the group counts as committed", async () => {
  const writes = writesOn(db)
  const group = groupCommit(db)
  const ended = group.run(() => {
    db.exec("ROLLBACK")
    throw Object.assign(new Error("database or disk is full"), { errcode: 13 })
  })
  const outcomes = await Promise.allSettled([
    group.run(() => writes.createApp(anApp("100"), [])),
    ended,
    group.run(() => writes.createToken({ hash: Uint8Array.of(1), kind: "operator", createdAtMs: 1 })),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"])
  expect(outcomes[0]).toMatchObject({ reason: expect.any(StoreFull) })
  expect(await group.run(() => writes.createApp(anApp("100"), []))).toBeUndefined()
})

test("the process of a store whose disk fails ends with the error", () => {
  db.close()
  const store = JSON.stringify(new URL("embedded-store.ts", import.meta.url).href)
  const script = `import { DatabaseSync } from "node:sqlite"
    const { openEmbeddedStore } = await import(${store})
    const store = await openEmbeddedStore({ file: ${JSON.stringify(file)} })
    const exec = DatabaseSync.prototype.exec
    DatabaseSync.prototype.exec = function (sql) {
      if (sql === "COMMIT") throw Object.assign(new Error("disk I/O error"), { errcode: ${flushFailed} })
      return exec.call(this, sql)
    }
    await store.createToken({ hash: Uint8Array.of(1), kind: "operator", createdAtMs: 1 }).then(
      () => console.log("acknowledged"),
      (error) => console.log("refused", error.name),
    )
    setInterval(() => undefined, 1_000)`
  const ended = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
    timeout: 20_000,
  })
  expect(ended.stdout).toBe("refused StoreFailed\n")
  expect(ended.stderr).toContain("The disk of the data directory failed")
  expect(ended.status).toBe(1)
})

test("a fault of the store keeps its class on the way between threads", async () => {
  db.close()
  await using store = await openEmbeddedStore({ file })
  const { port1, port2 } = new MessageChannel()
  const full = Object.assign(Object.create(store) as typeof store, {
    createToken: () => Promise.reject(new StoreFull("The disk is full.")),
    createApp: () => Promise.reject(new Error("Something else.")),
  })
  serveWrites(port1, full)
  const { writes } = writesThrough(port2, () => undefined)
  const refused = await writes.createToken(aToken("100", 1)).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(StoreFull)
  expect(refused).toMatchObject({ message: "The disk is full.", code: "STORE_FULL" })
  const other = await writes.createApp(anApp("100"), []).catch((error: unknown) => error)
  expect(other).toEqual(new Error("Something else."))
  expect(other).not.toHaveProperty("code")
  port2.close()
})

test("when the writer has ended, writes in progress and later ones are refused", async () => {
  db.close()
  await using store = await openEmbeddedStore({ file })
  const { port1, port2 } = new MessageChannel()
  const stuck = Object.assign(Object.create(store) as typeof store, {
    createToken: () => new Promise<never>(() => undefined),
  })
  serveWrites(port1, stuck)
  const { writes } = writesThrough(port2, () => undefined)
  const underWay = writes.createToken(aToken("100", 1))
  port1.close()
  for (const write of [underWay, writes.createToken(aToken("100", 2))]) {
    await expect(write).rejects.toEqual(new StoreFailed("The writer of the store has ended."))
  }
  await expect(writes.createToken(aToken("100", 3))).rejects.toBeInstanceOf(StoreFailed)
})
