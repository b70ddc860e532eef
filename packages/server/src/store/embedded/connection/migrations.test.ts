import { spawnSync } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { AppId, LinkId, MatchSeq, UserId, WebhookId } from "../../../model/ids.ts"
import type { AttemptOutcome } from "@sluice/api"
import { audited } from "../serving/audited.testing.ts"
import { defineRowChecksum, settingChecked } from "./checked-rows.ts"
import { openEmbeddedStore } from "../serving/embedded-store.ts"
import { aPost } from "../../contract/fixtures.ts"
import type { ArrivalPosition } from "../../port/arrival-store.ts"
import { storeVersion } from "./migrations.ts"
import { makeVersion1 } from "./version-1.testing.ts"
import {
  temporaryDirectory,
  type TemporaryDirectory,
} from "../../../../../../test/support/temporary-directory.testing.ts"

let directory: TemporaryDirectory
let file: string

beforeEach(async () => {
  directory = await temporaryDirectory()
  file = join(directory.path, "sluice.db")
})

afterEach(async () => {
  await directory.remove()
})

function versionOf(): unknown {
  using db = new DatabaseSync(file, { readOnly: true })
  return db.prepare("PRAGMA user_version").get()?.["user_version"]
}

/** Everything of the first version is there, whole, and goes on. */
async function expectCarriedOver(): Promise<void> {
  await using store = await openEmbeddedStore({ file })
  const app = "100" as AppId
  const all = { appId: app, after: 0 as MatchSeq, limit: 10, bytesMax: 1_000_000 }
  expect(await store.matches({ ...all, shape: "core" })).toMatchObject([
    { seq: 1, postId: "9007199254740993", rulesJson: '[{"id":"5","tag":""}]', postJson: '{"id":"9007199254740993"}' },
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
    bytesMax: 1_000_000,
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
  const arrived = await store.arrivedPosts({ limit: 10, bytesMax: 1_000_000 })
  expect(arrived.posts.map(({ id }) => id)).toEqual(["2", "3", "9007199254740993"])
  const [newest] = (await store.posts({ direction: "older", limit: 1, bytesMax: 1 })).posts
  expect(await store.userFill(), "users are to be taken from all posts").toBe(newest?.id)
  expect(await audited(file)).toMatchObject({
    damage: [],
    posts: { accepted: 3, trimmed: 0, stored: 3 },
    logs: [{ appId: "100", head: 3, trimmedTo: 0, entries: 3 }],
  })
}

test("a store of the first version is upgraded, with all its data", async () => {
  makeVersion1(file)
  await expectCarriedOver()
  expect(versionOf()).toBe(storeVersion)
  await expectCarriedOver()
})

test("posts from before there was an order of arrival are in the order of their ids, before all later ones", async () => {
  makeVersion1(file)
  await using store = await openEmbeddedStore({ file })
  const read = async (after?: ArrivalPosition) => {
    const { posts, position } = await store.arrivedPosts({ limit: 2, bytesMax: 1_000_000, after })
    return [posts.map(({ id }) => id).join(" "), position] as const
  }
  const [first, position] = await read()
  const head = await store.arrivalHead()
  await store.append([{ post: aPost("4"), matches: [] }], 1)
  await store.append([{ post: aPost("1"), matches: [] }], 1)
  const [second, next] = await read(position)
  expect([first, second, (await read(next))[0]]).toEqual(["2 3", "9007199254740993 4", "1"])
  expect((await read(head))[0]).toBe("4 1")
  expect((await audited(file)).damage).toEqual([])
})

test("an upgrade that is killed half-way is completed by the next process", async () => {
  makeVersion1(file)
  const at = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)
  const script = `const { armCrashPoint } = await import(${at("../../../runtime/crash-points.ts")})
    const { openEmbeddedStore } = await import(${at("../serving/embedded-store.ts")})
    armCrashPoint("in-migration")
    await openEmbeddedStore({ file: ${JSON.stringify(file)} })`
  const killed = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })
  expect(killed.stderr).toContain("crash point in-migration")
  expect(killed.signal).toBe("SIGKILL")
  expect(versionOf()).toBe(1)
  await expectCarriedOver()
})

test("outcomes of a store from before their renaming have their present names, and damaged rows stay damaged", async () => {
  makeVersion1(file)
  const linkId = "31" as LinkId
  const renamed = {
    answer: "invalid_response",
    failed: "server_error",
    local: "local_error",
    address: "blocked_address",
    "too-large": "too_large",
  }
  const seq = 3 as MatchSeq
  {
    await using store = await openEmbeddedStore({ file })
    const dead = [{ seq, failures: 1, outcome: "server_error" as const, status: 500, deadLetteredAtMs: 9 }]
    await store.saveProgress([{ linkId, position: seq, retries: [], settled: [], dead, delivered: 0 }])
    const attempt = { linkId, seq, atMs: 1, durationMs: 2.5, bytes: 3, error: "why" }
    const outcomes = ["damaged", ...Object.values(renamed), "rejected"] as readonly AttemptOutcome[]
    const attempts = outcomes.map((outcome) => ({ ...attempt, outcome }))
    await store.recordAttempts(attempts, { keptPerLink: 50 })
  }
  {
    using db = new DatabaseSync(file)
    defineRowChecksum(db)
    for (const [before, after] of Object.entries(renamed)) {
      db.exec(`
        UPDATE attempts SET ${settingChecked("attempts", { outcome: `'${before}'` })} WHERE outcome = '${after}';
        UPDATE dead_letters SET ${settingChecked("dead_letters", { outcome: `'${before}'` })}
          WHERE outcome = '${after}'`)
    }
    const columns = "link_id, slot, number, seq, at_ms, duration_ms, outcome, status, bytes, error"
    db.exec(`
      UPDATE attempts SET checksum = row_checksum(${columns});
      ALTER TABLE attempts DROP COLUMN signatures;
      ALTER TABLE attempts DROP COLUMN response;
      UPDATE attempts SET outcome = 'answer' WHERE outcome = 'damaged';
      DROP TABLE rule_matches;
      DROP TABLE ended_sessions;
      DROP TABLE connection_history;
      DROP TABLE sources; DROP TABLE source_gaps; DROP TABLE source_dead_letters; DROP TABLE assigned_names;
      DROP TABLE known_time;
      DROP TABLE log_epochs;
      DROP INDEX posts_by_arrival;
      ALTER TABLE posts DROP COLUMN arrival;
      DROP TABLE user_objects;
      DROP TABLE user_words;
      DROP TABLE user_fill;
      DROP TABLE edit_versions;
      DROP TABLE shown_posts;
      DROP TABLE deletions; DROP TABLE erasures; DROP TABLE rewritten_posts;
      ALTER TABLE links DROP COLUMN withdrawn;
      ALTER TABLE links DROP COLUMN paused_at_ms;
      UPDATE links SET checksum = row_checksum(id, app_id, webhook_id, created_at_ms, query, first_position, ordered);
      ALTER TABLE tokens DROP COLUMN user_id;
      ALTER TABLE tokens DROP COLUMN name;
      ALTER TABLE tokens DROP COLUMN last_used_at_ms;
      ALTER TABLE webhooks DROP COLUMN name;
      ALTER TABLE webhooks DROP COLUMN description;
      UPDATE webhooks SET checksum = row_checksum(id, app_id, url, created_at_ms, valid, invalid_reason, checked_at_ms,
        signing_key, previous_key, previous_until_ms);
      UPDATE tokens SET checksum = row_checksum(hash, kind, app_id, created_at_ms);
      DROP TABLE backfill_matches;
      ALTER TABLE replays DROP COLUMN backfill_rules;
      ALTER TABLE replays DROP COLUMN searched_id;
      ALTER TABLE replays DROP COLUMN last_id;
      DROP TABLE usage_days;
      DROP TABLE usage_posts;
      ALTER TABLE apps DROP COLUMN limits;
      UPDATE apps SET checksum = row_checksum(id, name, business_user_id, instance_id, consumer_key, consumer_secret,
        generation, created_at_ms, revoked);
      ALTER TABLE dead_letters RENAME COLUMN dead_lettered_at_ms TO died_at_ms;
      PRAGMA user_version = 3`)
  }
  await using store = await openEmbeddedStore({ file })
  expect(versionOf()).toBe(storeVersion)
  expect((await store.attempts(linkId, 10)).map(({ outcome }) => outcome)).toEqual([
    "rejected",
    ...Object.values(renamed).toReversed(),
  ])
  expect(await store.deadLetters({}, { direction: "older", limit: 10 })).toMatchObject([
    { outcome: "server_error", status: 500 },
  ])
  expect((await audited(file)).damage).toEqual([expect.stringMatching(/^attempts: attempt 1 of link 31 is not/)])
})

test("a file that is not a store is refused, with the remedy", async () => {
  await writeFile(file, "not a database".repeat(5_000))
  await expect(openEmbeddedStore({ file })).rejects.toThrow(/The store is damaged .*sluice doctor/)
})
