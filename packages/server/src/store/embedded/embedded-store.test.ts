import { spawnSync } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { MessageChannel } from "node:worker_threads"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { AppId, LinkId } from "../../model/ids.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import { aLink, anApp, aPost, aWebhook, storeContract, type StoreUnderTest } from "../contract.ts"
import { deliveryContract } from "../delivery-contract.testing.ts"
import type { Store } from "../store.ts"
import { audited } from "./audited.testing.ts"
import { DataDirectoryInUse, lockDirectory } from "./directory-lock.ts"
import { openEmbeddedStore, openEmbeddedStoreThrough } from "./embedded-store.ts"
import { storeVersion } from "./migrations.ts"
import { serveWrites } from "./write-port.ts"

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-store-"))
})

afterEach(async () => {
  await rm(directory, { recursive: true, force: true })
})

/** Where no store is yet. */
async function newFile(): Promise<string> {
  return join(await mkdtemp(join(directory, "one-")), "sluice.db")
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
      const owner = await openEmbeddedStore({ file })
      const { port1, port2 } = new MessageChannel()
      serveWrites(port1, owner)
      const store: Store = await openEmbeddedStoreThrough(port2, { file })
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
deliveryContract("the embedded store", direct)
deliveryContract("the embedded store behind a port", throughPort)

test("the store syncs every commit to the disk", async () => {
  const file = join(directory, "sluice.db")
  await using _store = await openEmbeddedStore({ file })
  const db = new DatabaseSync(file)
  expect(db.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" })
  db.close()
})

test("a store that is closed has done what was asked of it before, and refuses what comes later", async () => {
  const file = join(directory, "sluice.db")
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
  expect(await again.recentPosts(2_000)).toHaveLength(1_500)
  expect(await again.token(token(1).hash)).toEqual(token(1))
  expect(await again.token(token(2).hash)).toBeUndefined()
})

test("a gap marker tells when it was made", async () => {
  const clock = createManualClock(1_800_000_000_000)
  await using store = await openEmbeddedStore({ file: await newFile(), clock })
  await store.createApp(anApp("100"), [])
  await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
  await store.createLink(aLink("100", "31", "1"))
  const matches = [{ appId: "100" as AppId, rules: [{ id: "5" }] }]
  for (const id of ["1", "2"]) await store.append([{ post: aPost(id), matches }], Number(id))
  const gaps = async () => (await store.gaps("31" as LinkId)).map((gap) => ({ ...gap }))
  await store.trimMatches("100" as AppId, { beforeMs: 2, limit: 10 })
  expect(await gaps()).toEqual([{ from: 1, to: 1, atMs: 1_800_000_000_000 }])
  await clock.advance(5_000)
  await store.trimMatches("100" as AppId, { beforeMs: 3, limit: 10 })
  expect(await gaps()).toEqual([{ from: 1, to: 2, atMs: 1_800_000_005_000 }])
})

test("a store of a newer version is refused by name", async () => {
  const file = join(directory, "sluice.db")
  const db = new DatabaseSync(file)
  db.exec(`PRAGMA user_version = ${storeVersion + 1}`)
  db.close()
  await expect(openEmbeddedStore({ file })).rejects.toThrow(`The store has version ${storeVersion + 1}`)
})

test("a data directory is served by one process at a time", () => {
  const first = lockDirectory(directory)
  expect(() => lockDirectory(directory)).toThrow(DataDirectoryInUse)
  first[Symbol.dispose]()
  lockDirectory(directory)[Symbol.dispose]()
})

test("the lock of a killed process is gone with it", () => {
  const lock = new URL("directory-lock.ts", import.meta.url).href
  const script = `const { lockDirectory } = await import(${JSON.stringify(lock)})
    lockDirectory(${JSON.stringify(directory)})
    process.kill(process.pid, "SIGKILL")`
  const killed = spawnSync(process.execPath, ["--input-type=module", "-e", script])
  expect(killed.signal).toBe("SIGKILL")
  lockDirectory(directory)[Symbol.dispose]()
})
