import { spawnSync } from "node:child_process"
import { mkdtemp } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { MessageChannel } from "node:worker_threads"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { AppId, LinkId, RuleId } from "../../../model/ids.ts"
import { createManualClock } from "../../../runtime/manual-clock.testing.ts"
import { aLink, anApp, aPost, aRule, aWebhook, cap, newestPosts } from "../../contract/fixtures.ts"
import { storeContract } from "../../contract/store-contract.ts"
import type { StoreUnderTest } from "../../contract/store-under-test.ts"
import { turnsOf } from "../../../runtime/turns.testing.ts"
import type { Store } from "../../store.ts"
import { audited } from "./audited.testing.ts"
import { openForReading, openForWriting } from "../connection/database.ts"
import { DataDirectoryInUse } from "../../store-faults.ts"
import { lockDirectory } from "../connection/directory-lock.ts"
import { openEmbeddedStore, openEmbeddedStoreThrough } from "./embedded-store.ts"
import { ControlCount } from "./known-changes.ts"
import { storeVersion } from "../connection/migrations.ts"
import { serveWrites } from "./write-port.ts"
import {
  temporaryDirectory,
  type TemporaryDirectory,
} from "../../../../../../test/support/temporary-directory.testing.ts"

let directory: TemporaryDirectory

beforeEach(async () => {
  directory = await temporaryDirectory()
})

afterEach(async () => {
  await directory.remove()
})

/** A path without a store. */
async function newFile(): Promise<string> {
  return join(await mkdtemp(join(directory.path, "one-")), "sluice.db")
}

async function direct(): Promise<StoreUnderTest> {
  const file = await newFile()
  return {
    open: () => openEmbeddedStore({ file }),
    audit: () => audited(file),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

async function throughPort(): Promise<StoreUnderTest> {
  const file = await newFile()
  return {
    async open() {
      const controlCount = new ControlCount()
      const owner = await openEmbeddedStore({ file, controlCount })
      const { port1, port2 } = new MessageChannel()
      serveWrites(port1, owner)
      const store: Store = await openEmbeddedStoreThrough(port2, { file, controlCount })
      const close = store[Symbol.asyncDispose].bind(store)
      return Object.assign(store, {
        async [Symbol.asyncDispose]() {
          port2.close()
          await close()
          await owner[Symbol.asyncDispose]()
        },
      })
    },
    audit: () => audited(file),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

storeContract("the embedded store", direct)
storeContract("the embedded store behind a port", throughPort)

test("forgotten changes of rulesets are not read again", async () => {
  await using store = await openEmbeddedStore({ file: await newFile() })
  await store.createApp(anApp("100"), [])
  await store.addRules("100" as AppId, [aRule("100", "1", "cat")], cap)
  await store.forgetRuleChanges((await store.allRules()).seq)
  expect(await store.ruleChanges(0, 10)).toBeUndefined()
})

test("the store syncs every commit to the disk", async () => {
  const file = join(directory.path, "sluice.db")
  await using _store = await openEmbeddedStore({ file })
  const db = new DatabaseSync(file)
  expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" })
  db.close()
})

test("a store that is closed completes the writes that were requested before, and refuses later ones", async () => {
  const file = join(directory.path, "sluice.db")
  const store = await openEmbeddedStore({ file })
  const token = (value: number) => ({ hash: Uint8Array.of(value), kind: "operator", createdAtMs: 1 }) as const
  // More than one transaction holds.
  const asked = Array.from({ length: 1_500 }, (_, index) =>
    store.append([{ post: aPost(String(index + 1)), matches: [] }], 1),
  )
  const last = store.createToken(token(1))
  await store[Symbol.asyncDispose]()
  await Promise.all([...asked, last])
  await expect(store.createToken(token(2))).rejects.toThrow("The store is closed.")
  await using again = await openEmbeddedStore({ file })
  expect(await newestPosts(again, 2_000)).toHaveLength(1_500)
  expect(await again.token(token(1).hash)).toEqual(token(1))
  expect(await again.token(token(2).hash)).toBeUndefined()
})

test("a gap marker has the time at which it was made", async () => {
  const clock = createManualClock(1_800_000_000_000)
  await using store = await openEmbeddedStore({ file: await newFile(), clock })
  await store.createApp(anApp("100"), [])
  await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
  await store.createLink(aLink("100", "31", "1"))
  const matches = [{ appId: "100" as AppId, rules: [{ id: "5", tag: "" }] }]
  for (const id of ["1", "2"]) await store.append([{ post: aPost(id), matches }], Number(id))
  const gaps = async () => (await store.gaps("31" as LinkId)).map((gap) => ({ ...gap }))
  await store.trimMatches("100" as AppId, { beforeMs: 2, limit: 10 })
  expect(await gaps()).toEqual([{ from: 1, to: 1, atMs: 1_800_000_000_000 }])
  await clock.advance(5_000)
  await store.trimMatches("100" as AppId, { beforeMs: 3, limit: 10 })
  expect(await gaps()).toEqual([{ from: 1, to: 2, atMs: 1_800_000_005_000 }])
})

test("a store of a newer version is refused by name", async () => {
  const file = join(directory.path, "sluice.db")
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA user_version = ${storeVersion + 1}`)
  db.close()
  await expect(openEmbeddedStore({ file })).rejects.toThrow(`The store has version ${storeVersion + 1}`)
})

test("a data directory is served by one process at a time", () => {
  const first = lockDirectory(directory.path)
  expect(() => lockDirectory(directory.path)).toThrow(DataDirectoryInUse)
  first[Symbol.dispose]()
  lockDirectory(directory.path)[Symbol.dispose]()
})

test("the lock of a killed process ends with it", () => {
  const lock = new URL("../connection/directory-lock.ts", import.meta.url).href
  const script = `const { lockDirectory } = await import(${JSON.stringify(lock)})
    lockDirectory(${JSON.stringify(directory.path)})
    process.kill(process.pid, "SIGKILL")`
  const killed = spawnSync(process.execPath, ["--input-type=module", "-e", script])
  expect(killed.signal).toBe("SIGKILL")
  lockDirectory(directory.path)[Symbol.dispose]()
})

test("posts keep the order in which they arrived when their process is killed, and later ones come after them", async () => {
  const file = await newFile()
  const at = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)
  const script = `const { openEmbeddedStore } = await import(${at("./embedded-store.ts")})
    const { aPost } = await import(${at("../../contract/fixtures.ts")})
    const store = await openEmbeddedStore({ file: ${JSON.stringify(file)} })
    for (const id of ["7", "9", "8"]) await store.append([{ post: aPost(id), matches: [] }], 1)
    process.kill(process.pid, "SIGKILL")`
  const killed = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })
  expect(killed.signal, killed.stderr).toBe("SIGKILL")
  await using store = await openEmbeddedStore({ file })
  await store.append([{ post: aPost("6"), matches: [] }], 1)
  const { posts } = await store.arrivedPosts({ limit: 10, bytesMax: 1_000_000 })
  expect(posts.map(({ id }) => id)).toEqual(["7", "9", "8", "6"])
})

test("a control change by another process is announced once, within a second", async () => {
  const file = await newFile()
  const owner = await openEmbeddedStore({ file })
  const { port1, port2 } = new MessageChannel()
  serveWrites(port1, owner)
  const clock = createManualClock()
  const store = await openEmbeddedStoreThrough(port2, { file, clock })
  let changes = 0
  store.onChange(({ kind }) => {
    if (kind === "control") changes += 1
  })
  const beside = await openEmbeddedStore({ file })
  await beside.createApp(anApp("1"), [])
  await clock.advance(999)
  expect([changes, clock.sleepers]).toEqual([0, 1])
  await clock.advance(1)
  expect(changes).toBe(1)
  await clock.advance(10_000)
  expect(changes).toBe(1)
  await store[Symbol.asyncDispose]()
  await clock.advance(0)
  expect(clock.sleepers).toBe(0)
  await beside[Symbol.asyncDispose]()
  await owner[Symbol.asyncDispose]()
})

test("a confirmed change of rules is there for another thread at once, before its announcement", async () => {
  const file = await newFile()
  const controlCount = new ControlCount()
  await using owner = await openEmbeddedStore({ file, controlCount })
  await owner.createApp(anApp("100"), [])
  const { port1, port2 } = new MessageChannel()
  serveWrites(port1, owner, [])
  await using store = await openEmbeddedStoreThrough(port2, { file, controlCount, changeKinds: [] })
  const { seq } = await store.allRules()
  expect(await store.ruleChanges(seq, 10)).toEqual([])
  await owner.addRules("100" as AppId, [{ id: "5" as RuleId, appId: "100" as AppId, value: "cats" }], { rulesMax: 5 })
  expect(await store.ruleChanges(seq, 10)).toMatchObject([{ kind: "added", rule: { id: "5" } }])
})

test("posts that no rule matched are announced through a port only while someone listens to arrivals", async () => {
  const file = await newFile()
  await using owner = await openEmbeddedStore({ file })
  const { port1, port2 } = new MessageChannel()
  serveWrites(port1, owner)
  const announced: unknown[] = []
  port2.on("message", ({ name, args }: { name?: string; args: unknown }) => {
    if (name === "announce") announced.push(args)
  })
  await using store = await openEmbeddedStoreThrough(port2, { file })
  await store.append([{ post: aPost("1"), matches: [] }], 1)
  expect(announced).toEqual([])
  const stop = store.onArrival(() => undefined)
  await store.append([{ post: aPost("2"), matches: [] }], 1)
  expect(announced).toEqual([[{ kind: "matches", appIds: [] }]])
  stop()
  await store.append([{ post: aPost("3"), matches: [] }], 1)
  expect(announced).toHaveLength(1)
})

test("a connection keeps as much of the file as its settings say, and 16 MiB by default", async () => {
  const file = await newFile()
  const kept = (db: DatabaseSync): unknown => {
    using closing = db
    return closing.prepare("PRAGMA cache_size").get()?.["cache_size"]
  }
  expect(kept(openForWriting(file, { cacheBytes: 8_388_608 }))).toBe(-8_192)
  expect(kept(openForReading(file, { cacheBytes: 2_097_152 }))).toBe(-2_048)
  expect(kept(openForReading(file))).toBe(-16_384)
})

test("a caller that reads in a loop gives others their turns", async () => {
  await using store = await openEmbeddedStore({ file: await newFile() })
  const turns = await turnsOf(async () => {
    for (let read = 0; read < 500; read += 1) await store.head("100" as AppId)
  })
  expect(turns).toBeGreaterThanOrEqual(9)
})
