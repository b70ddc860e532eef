import { spawnSync } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { AppId, LinkId, MatchSeq, UserId, WebhookId } from "../../model/ids.ts"
import { audited } from "./audited.testing.ts"
import { openEmbeddedStore } from "./embedded-store.ts"
import { storeVersion } from "./migrations.ts"
import { makeVersion1 } from "./version-1.testing.ts"

let directory: string
let file: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-migrations-"))
  file = join(directory, "sluice.db")
})

afterEach(async () => {
  await rm(directory, { recursive: true, force: true })
})

function versionOf(): unknown {
  using db = new DatabaseSync(file, { readOnly: true })
  return db.prepare("PRAGMA user_version").get()?.["user_version"]
}

/** Everything of the first version is there, whole, and goes on. */
async function expectCarriedOver(): Promise<void> {
  await using store = await openEmbeddedStore({ file })
  const app = "100" as AppId
  const all = { appId: app, after: 0 as MatchSeq, limit: 10 }
  expect(await store.matches({ ...all, shape: "core" })).toMatchObject([
    { seq: 1, postId: "9007199254740993", rulesJson: '[{"id":"5"}]', postJson: '{"id":"9007199254740993"}' },
    { seq: 2, postId: "2", postJson: '{"id":"2","text":"grüße 🌍"}' },
    { seq: 3, postId: "3", atMs: 1_700_000_000_001, postJson: '{"id":"3"}' },
  ])
  expect((await store.matches({ ...all, shape: "envelope" })).map(({ postJson }) => postJson)).toEqual([
    '{"data":1}',
    '{"data":2}',
    '{"data":3}',
  ])
  expect(await store.retries("31" as LinkId, "core")).toMatchObject([{ seq: 1, failures: 4, dueAtMs: 99 }])
  expect(await store.linkTally("31" as LinkId)).toMatchObject({ firstPosition: 1, position: 2, retries: 1 })
  expect(await store.linkTally("32" as LinkId)).toMatchObject({ firstPosition: 3, position: 3, delivered: 0 })
  expect(await store.webhook(app, "12" as WebhookId)).toEqual({
    id: "12",
    appId: "100",
    url: "https://example.com/b",
    createdAtMs: 7,
    valid: false,
    checkedAtMs: 8,
    signingKeySealed: Uint8Array.of(9),
  })
  const scan = {
    direction: "older",
    limit: 10,
    scanMax: 10,
    excludeReplies: false,
    excludeReposts: false,
  } as const
  for (const [userId, id] of [
    ["9007199254740995", "9007199254740993"],
    ["7", "2"],
  ] as const) {
    const found = await store.userPosts({ ...scan, userId: userId as UserId, shape: "core" })
    expect(found).toMatchObject({ posts: [{ id }], damaged: [] })
  }
  expect(await audited(file)).toMatchObject({
    damage: [],
    posts: { accepted: 3, trimmed: 0, stored: 3 },
    logs: [{ appId: "100", head: 3, trimmedTo: 0, entries: 3 }],
  })
}

test("a store of the first version is carried over, with all that is in it", async () => {
  makeVersion1(file)
  await expectCarriedOver()
  expect(versionOf()).toBe(storeVersion)
  await expectCarriedOver()
})

test("a store whose process is killed on the way to a new version is carried over by the next", async () => {
  makeVersion1(file)
  const at = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)
  const script = `const { armCrashPoint } = await import(${at("../../runtime/crash-points.ts")})
    const { openEmbeddedStore } = await import(${at("embedded-store.ts")})
    armCrashPoint("in-migration")
    await openEmbeddedStore({ file: ${JSON.stringify(file)} })`
  const killed = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })
  expect(killed.stderr).toContain("crash point in-migration")
  expect(killed.signal).toBe("SIGKILL")
  expect(versionOf()).toBe(1)
  await expectCarriedOver()
})

test("a file that is no store is refused with what to do about it", async () => {
  await writeFile(file, "not a database".repeat(5_000))
  await expect(openEmbeddedStore({ file })).rejects.toThrow(/The store is damaged .*sluice doctor/)
})
