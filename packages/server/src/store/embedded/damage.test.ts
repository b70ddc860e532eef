/** A flipped bit in the file: found, named, and never shown as if it were what was stored. */
import { readFileSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import fc from "fast-check"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { Attempt } from "../../model/attempt.ts"
import type { AppId, LinkId, MatchSeq, PostId, ReplayId, RuleId, UserId, WebhookId } from "../../model/ids.ts"
import { noKnownTime } from "../../model/known-time.ts"
import type { PostShape } from "../../model/post.ts"
import type { StoredRule } from "../../model/rule.ts"
import { aLink, anApp, aPost, aToken, aWebhook, liveRules, newestPosts } from "../contract/fixtures.ts"
import type { ArrivalPosition } from "../port/arrival-store.ts"
import type { Store } from "../store.ts"
import { StoreDamaged } from "../store-faults.ts"
import { audited } from "./serving/audited.testing.ts"
import { openEmbeddedStore } from "./serving/embedded-store.ts"
import { pageBytes } from "./connection/log-checkpoints.ts"
import { share } from "../../../../../test/support/extent.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"

const app = "100" as AppId
const link = "31" as LinkId
const postCount = 8
const firstId = 1_900_000_000_000_000_000n
const idOf = (index: number): string => String(firstId + BigInt(index))
const coreOf = (index: number): string => `{"id":"${idOf(index)}","text":"the core of number ${index}"}`
const envelopeOf = (index: number): string => `{"data":{"id":"${idOf(index)}","text":"all of number ${index}"}}`
const createdAtMsOf = (index: number): number => 1_700_000_000_000 + index
const rulesOf = (index: number): string => `[{"id":"5","tag":"tag of ${index}"}]`

const rules: readonly StoredRule[] = [
  { id: "5" as RuleId, appId: app, value: "cats", tag: "tag of pets" },
  { id: "6" as RuleId, appId: app, value: "dogs" },
]
const linkQuery = "tweet.fields=created_at"
const attempt: Attempt = {
  linkId: link,
  seq: 2 as MatchSeq,
  atMs: 1_700_000_000_000,
  durationMs: 3.5,
  outcome: "server_error",
  status: 500,
  bytes: 90,
  error: "responded with 500",
}

let directory: TemporaryDirectory
let file: string
let healthy: Buffer

beforeEach(async () => {
  directory = await temporaryDirectory()
  file = join(directory.path, "sluice.db")
  await using store = await openEmbeddedStore({ file })
  await store.createApp(anApp("100"), [aToken("100", 1)])
  await store.addRules(app, rules, { rulesMax: 5 })
  await store.createWebhook(aWebhook("100", "1"), { webhooksMax: 5 })
  await store.createLink(aLink("100", "31", "1", linkQuery))
  for (let index = 1; index <= postCount; index += 1) {
    const texts = { core: coreOf(index), envelope: envelopeOf(index), createdAtMs: createdAtMsOf(index) }
    const matches = [{ appId: app, rules: [{ id: "5", tag: `tag of ${index}` }] }]
    await store.append([{ post: aPost(idOf(index), "7", texts), matches }], 1_800_000_000_000 + index)
  }
  const retries = Array.from({ length: postCount }, (_, index) => ({
    seq: (index + 1) as MatchSeq,
    failures: 1,
    dueAtMs: 5,
  }))
  await store.saveProgress([
    { linkId: link, position: postCount as MatchSeq, retries, settled: [], dead: [], delivered: 0 },
  ])
  await store.recordAttempts([attempt], { keptPerLink: 10 })
})

beforeEach(() => {
  healthy = readFileSync(file)
})

afterEach(async () => {
  await directory.remove()
})

/** Flips a bit of the closed file. */
function flip(offset: number | readonly number[], bit = 0): void {
  const bytes = Buffer.from(healthy)
  for (const at of [offset].flat()) bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at)
  writeFileSync(file, bytes)
}

/** Offsets of all occurrences of a text in the file. */
function placesOf(text: string): readonly number[] {
  const places: number[] = []
  for (let at = healthy.indexOf(text); at !== -1; at = healthy.indexOf(text, at + 1)) places.push(at)
  return places
}

/** Offset of a post's time in the index of its author: after its id. */
function placeOfTimeInIndex(index: number): number {
  const idBytes = Buffer.alloc(8)
  idBytes.writeBigInt64BE(BigInt(idOf(index)))
  const timeBytes = Buffer.alloc(6)
  timeBytes.writeIntBE(createdAtMsOf(index), 0, 6)
  const at = healthy.indexOf(Buffer.concat([idBytes, timeBytes]))
  if (at === -1) throw new Error("not found")
  return at + idBytes.length
}

async function entries(store: Store, shape: PostShape = "core") {
  return store.matches({ appId: app, after: 0 as MatchSeq, limit: 100, bytesMax: 1_000_000, shape })
}

async function timeline(store: Store, shape: PostShape = "core", scanMax = 100) {
  return store.userPosts({
    userId: "7" as UserId,
    direction: "older",
    limit: 100,
    excludeReplies: false,
    excludeReposts: false,
    bytesMax: 1_000_000,
    scanMax,
    shape,
  })
}

/** All posts by their ids. */
async function byIds(store: Store, shape: PostShape = "core") {
  const ids = Array.from({ length: postCount }, (_, index) => idOf(index + 1) as PostId)
  return store.postsById({ ids, bytesMax: 1_000_000, shape })
}

/** Numbers of the entries that are returned without their posts. */
async function withoutPost(store: Store, shape: PostShape = "core"): Promise<readonly number[]> {
  const [logged, owed] = [await entries(store, shape), await store.retries(link, shape)]
  expect(logged.map(({ seq }) => Number(seq))).toEqual(Array.from({ length: postCount }, (_, index) => index + 1))
  const seqs = logged.filter(({ postJson }) => postJson === undefined).map(({ seq }) => seq)
  expect(owed.filter(({ entry }) => entry.postJson === undefined).map(({ seq }) => seq)).toEqual(seqs)
  return seqs
}

test("an intact store has no damage", async () => {
  await using store = await openEmbeddedStore({ file })
  expect(await audited(file)).toMatchObject({ damage: [], posts: { accepted: 8, trimmed: 0, stored: 8 } })
  expect(await withoutPost(store)).toEqual([])
  expect(await withoutPost(store, "envelope")).toEqual([])
})

test("the texts of a post are stored once, and not in the index of its author", () => {
  expect(placesOf(coreOf(3))).toHaveLength(1)
  expect(placesOf(envelopeOf(3))).toHaveLength(1)
})

test("a flipped bit in a post's default fields is found wherever they are shown", async () => {
  flip((placesOf(coreOf(3))[0] ?? -1) + 30)
  await using store = await openEmbeddedStore({ file })
  expect(await withoutPost(store)).toEqual([3])
  expect(await withoutPost(store, "envelope")).toEqual([])
  expect(await byIds(store)).toMatchObject({ posts: { length: postCount - 1 }, damaged: [idOf(3)] })
  expect(await byIds(store, "envelope")).toMatchObject({ posts: { length: postCount }, damaged: [] })
  expect((await audited(file)).damage).toContain(`posts: post ${idOf(3)} is not as it was stored`)
})

test("a flipped bit in the index of timelines leaves the post out, and names it", async () => {
  flip(placeOfTimeInIndex(3) + 5)
  await using store = await openEmbeddedStore({ file })
  const found = await timeline(store)
  expect(found.damaged).toEqual([idOf(3)])
  expect(found.posts).toHaveLength(postCount - 1)
  expect(await withoutPost(store)).toEqual([])
  const { damage } = await audited(file)
  expect(damage).toContain(`posts: post ${idOf(3)} is not as it was stored, in the index of its author`)
})

test("a flipped bit in the whole envelope of a post is found wherever that is shown", async () => {
  flip((placesOf(envelopeOf(3))[0] ?? -1) + 40, 5)
  await using store = await openEmbeddedStore({ file })
  expect(await withoutPost(store, "envelope")).toEqual([3])
  expect(await withoutPost(store)).toEqual([])
  expect(await timeline(store, "envelope")).toMatchObject({ damaged: [idOf(3)] })
  expect(await byIds(store, "envelope")).toMatchObject({ posts: { length: postCount - 1 }, damaged: [idOf(3)] })
  const recent = await newestPosts(store, 100)
  expect(recent).toHaveLength(postCount - 1)
  expect(recent.map(({ id }) => id)).not.toContain(idOf(3))
  expect((await audited(file)).damage).toContain(`posts: post ${idOf(3)} is not as it was stored`)
})

test("a flipped bit in the rules of a match makes the rules and the post unavailable", async () => {
  flip((placesOf(rulesOf(3))[0] ?? -1) + 8)
  await using store = await openEmbeddedStore({ file })
  expect(await withoutPost(store)).toEqual([3])
  expect((await entries(store))[2]).toMatchObject({ seq: 3, rulesJson: "[]" })
  expect((await audited(file)).damage).toContain("matches: match 3 of app 100 is not as it was stored")
})

test("a match that lost its number leaves no hole in the log", async () => {
  // Before the rules lie six bytes of time, eight of the post's id, and one of the number.
  const at = (placesOf(rulesOf(3))[0] ?? -1) - 15
  expect(healthy[at]).toBe(3)
  flip(at, 6)
  await using store = await openEmbeddedStore({ file })
  const logged = await entries(store)
  expect(logged.map(({ seq }) => Number(seq))).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  expect(logged.filter(({ postJson }) => postJson === undefined).map(({ seq }) => seq)).toEqual([3])
  expect(
    await store.matches({ appId: app, after: 2 as MatchSeq, limit: 1, bytesMax: 1_000_000, shape: "core" }),
  ).toMatchObject([{ seq: 3, rulesJson: "[]" }])
  expect((await audited(file)).damage).toContain("retries: link 31 needs match 3, which is not there")
})

test("counts of a link that differ from those of its rows are reported", async () => {
  using db = new DatabaseSync(file)
  db.exec("UPDATE links SET retries = 7, dead_letters = 1, missed = 2")
  db.close()
  expect((await audited(file)).damage).toEqual([
    "links: link 31 counts 7 retries, and has 8",
    "links: link 31 counts 1 dead letters, and has 0",
    "links: link 31 counts 2 missed matches, and has gap markers of 0",
  ])
})

test("a deleted post that is there, or that another shows, is reported, and what a missing post shows", async () => {
  using db = new DatabaseSync(file)
  const [there, other] = [idOf(3), idOf(4)]
  db.exec(`INSERT INTO shown_posts VALUES (77, 79, 0), (${other}, 78, 0)`)
  const deletion = "INSERT INTO deletions (kind, id, at_ms, is_pending, checksum) VALUES ('post', ?, 1, 0, 0)"
  for (const id of [there, 78n]) db.prepare(deletion).run(BigInt(id))
  db.close()
  expect((await audited(file)).damage).toEqual([
    "shown_posts: it is noted what post 77 shows, which is not there",
    `deletions: post ${there} is deleted, and is there`,
    `deletions: post 78 is deleted, and post ${other} shows it`,
    `deletions: the deletion of post ${there} is not as it was stored`,
    "deletions: the deletion of post 78 is not as it was stored",
  ])
})

test("a match whose post is missing is an entry without it", async () => {
  using db = new DatabaseSync(file)
  db.exec(`DELETE FROM posts WHERE id = ${idOf(3)}`)
  db.close()
  await using store = await openEmbeddedStore({ file })
  expect(await withoutPost(store)).toEqual([3])
  const { damage } = await audited(file)
  expect(damage).toContain(`matches: match 3 of app 100 is of post ${idOf(3)}, which is not there`)
})

test("missing matches at the end of a log are not mistaken for its end", async () => {
  using db = new DatabaseSync(file)
  db.exec(`DELETE FROM matches WHERE seq >= ${postCount - 1}`)
  db.close()
  await using store = await openEmbeddedStore({ file })
  expect(await withoutPost(store)).toEqual([postCount - 1, postCount])
  const { damage } = await audited(file)
  expect(damage).toContain(`retries: link 31 needs match ${postCount}, which is not there`)
  expect(damage).toContain("match_logs: the log of app 100 runs from 1 to 8, and has 6 entries")
})

test("an unreadable page is an error that names the remedy", async () => {
  const bytes = Buffer.from(healthy)
  const page = Math.floor((placesOf(rulesOf(3))[0] ?? 0) / pageBytes)
  bytes.fill(0xff, page * pageBytes, page * pageBytes + 64)
  writeFileSync(file, bytes)
  await using store = await openEmbeddedStore({ file })
  const refused = await entries(store).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(StoreDamaged)
  expect(refused).toMatchObject({ message: expect.stringMatching(/sluice doctor/) })
  const { damage } = await audited(file)
  expect(damage.join("\n")).toMatch(/matches: cannot be read to the end/)
})

test("the scan of an unreadable timeline ends at its bound", async () => {
  const bytes = Buffer.from(healthy)
  const pages = new Set(Array.from({ length: postCount }, (_, index) => placesOf(coreOf(index + 1))[0] ?? 0))
  for (const at of pages) bytes.fill(0xff, at - (at % pageBytes), at - (at % pageBytes) + 64)
  writeFileSync(file, bytes)
  await using store = await openEmbeddedStore({ file })
  expect(await timeline(store, "core", 3)).toMatchObject({
    damaged: [idOf(8), idOf(7), idOf(6)],
    stoppedAt: idOf(6),
    fault: expect.any(StoreDamaged) as StoreDamaged,
  })
  expect(await byIds(store)).toEqual({
    posts: [],
    damaged: Array.from({ length: postCount }, (_, index) => idOf(index + 1)),
    fault: expect.any(StoreDamaged) as StoreDamaged,
  })
})

test("damaged posts, and those that cannot be read, are named in the order of arrival, and passed", async () => {
  flip((placesOf(envelopeOf(3))[0] ?? -1) + 40, 5)
  {
    await using store = await openEmbeddedStore({ file })
    const { posts, damaged } = await store.arrivedPosts({ limit: 4, bytesMax: 1_000_000 })
    expect([posts.map(({ id }) => id), damaged]).toEqual([[idOf(1), idOf(2), idOf(4)], [idOf(3)]])
    const last = await store.arrivedPosts({ limit: 1, bytesMax: 1_000_000 })
    expect((await store.arrivedPosts({ limit: 1, bytesMax: 1, after: last.position })).posts).toMatchObject([
      { id: idOf(2) },
    ])
  }
  const bytes = Buffer.from(healthy)
  const at = placesOf(envelopeOf(1))[0] ?? 0
  bytes.fill(0xff, at - (at % pageBytes), at - (at % pageBytes) + 64)
  writeFileSync(file, bytes)
  await using store = await openEmbeddedStore({ file })
  const named: string[] = []
  for (let after: ArrivalPosition | undefined; ;) {
    const { posts, damaged, position } = await store.arrivedPosts({ limit: 3, bytesMax: 1_000_000, after })
    expect(posts).toEqual([])
    if (position === undefined) break
    named.push(...damaged)
    after = position
  }
  expect(named).toEqual(Array.from({ length: postCount }, (_, index) => idOf(index + 1)))
})

/** Changes the closed file past everything that keeps it whole. */
function tamper(sql: string): void {
  using db = new DatabaseSync(file)
  db.exec(sql)
}

test("a rule that lost a letter, in its row and in its index, is named and never passed to the matcher", async () => {
  const bytes = Buffer.from(healthy)
  const places = placesOf("cats")
  // The row, the index of values, and the change that the matcher follows.
  expect(places).toHaveLength(3)
  for (const at of places) bytes.write("cavs", at)
  writeFileSync(file, bytes)
  await using store = await openEmbeddedStore({ file })
  expect(await liveRules(store)).toEqual([rules[1]])
  expect(await store.rules(app, { direction: "older", limit: 1 })).toEqual([rules[1]])
  expect(await store.rules(app, { direction: "older", limit: 5 }, ["5" as RuleId])).toEqual([])
  expect(await store.damagedRecords()).toEqual(["rule 5 of app 100"])
  await expect(store.ruleChanges(0, 10)).rejects.toThrow(StoreDamaged)
  expect((await audited(file)).damage).toEqual([
    "rules: rule 5 of app 100 is not as it was stored. It is not matched. Delete it by its id and add it again.",
    "rule_changes: change 1 of the rules is not as it was stored",
  ])

  await store.deleteRules(app, { kind: "ids", ids: ["5" as RuleId] })
  await store.addRules(app, rules.slice(0, 1), { rulesMax: 5 })
  expect(await store.damagedRecords()).toEqual([])
  expect(await liveRules(store)).toEqual(rules)
})

test.each<[what: string, sql: string, name: string, read: (store: Store) => Promise<unknown>]>([
  [
    "tag of a rule",
    "UPDATE rules SET tag = 'tag of pits' WHERE id = 5",
    "rules: rule 5 of app 100",
    (store) => liveRules(store).then((all) => all.find(({ id }) => id === "5") ?? []),
  ],
  [
    "app of a rule",
    "PRAGMA foreign_keys = OFF; UPDATE rules SET app_id = 101 WHERE id = 5",
    "rules: rule 5 of app 101",
    (store) => store.rules("101" as AppId, { direction: "older", limit: 5 }),
  ],
  [
    "query of a link",
    "UPDATE links SET query = 'tweet.fields=created_au'",
    "links: the link to webhook 1 of app 100",
    (store) => store.links(app, { direction: "older", limit: 5 }),
  ],
  [
    "query of a link that is delivered to",
    "UPDATE links SET query = ''",
    "links: the link to webhook 1 of app 100",
    (store) => store.allLinks(),
  ],
  [
    "URL of a webhook",
    "UPDATE webhooks SET url = 'https://example.com/2'",
    "webhooks: webhook 1 of app 100",
    (store) => store.allWebhooks(),
  ],
  [
    "URL of a webhook that is delivered to",
    "UPDATE webhooks SET url = 'https://example.com/2'",
    "webhooks: webhook 1 of app 100",
    (store) => store.allLinks(),
  ],
  [
    "validity of a webhook",
    "UPDATE webhooks SET valid = 0",
    "webhooks: webhook 1 of app 100",
    (store) => store.webhooks(app),
  ],
  [
    "signing key of a webhook",
    "UPDATE webhooks SET signing_key = x'08'",
    "webhooks: webhook 1 of app 100",
    (store) => store.webhooks(app),
  ],
  ["generation of an app", "UPDATE apps SET generation = 3", "apps: app 100", (store) => store.apps()],
  ["end of an app", "UPDATE apps SET revoked = 1", "apps: app 100", (store) => store.apps()],
  ["attempt", "UPDATE attempts SET status = 501", "attempts: attempt 1 of link 31", (store) => store.attempts(link, 5)],
  [
    "size of an attempt",
    "UPDATE attempts SET duration_ms = 3.25",
    "attempts: attempt 1 of link 31",
    (store) => store.attempts(link, 5),
  ],
])("a damaged %s is left out, and named", async (_, sql, name, read) => {
  tamper(sql)
  await using store = await openEmbeddedStore({ file })
  expect(await read(store)).toEqual([])
  expect((await audited(file)).damage).toContainEqual(expect.stringContaining(`${name} is not as it was stored`))
})

test("a column that changed the case of its name keeps the store from being opened", async () => {
  // Pages that are not in use any more may have it too.
  flip(placesOf("status INTEGER,\n    bytes"), 5)
  await expect(openEmbeddedStore({ file })).rejects.toThrow(/schema: table attempts is not as it was made/)
  expect((await audited(file)).damage).toContain("schema: table attempts is not as it was made")
})

test("a damaged record is not missing for a caller that reads it by name", async () => {
  tamper(`UPDATE apps SET name = 'b'; UPDATE tokens SET kind = 'operator'; UPDATE webhooks SET url = 'a';
    UPDATE links SET query = 'a'`)
  await using store = await openEmbeddedStore({ file })
  const [webhookId, hash] = ["1" as WebhookId, Uint8Array.of(1)]
  for (const read of [
    () => store.app(app),
    () => store.appByConsumerKey("key-100"),
    () => store.token(hash),
    () => store.webhook(app, webhookId),
    () => store.link(app, webhookId),
  ]) {
    await expect(read()).rejects.toThrow(StoreDamaged)
  }
  expect(await store.linkToDeliver(webhookId)).toBeUndefined()
  expect(await store.damagedRecords()).toEqual([
    "app 100",
    "the token whose SHA-256 begins with 01",
    "webhook 1 of app 100",
    "the link to webhook 1 of app 100",
  ])
})

test("a retry with a damaged time is due at once, and a dead letter with one is marked as damaged", async () => {
  {
    await using store = await openEmbeddedStore({ file })
    const dead = {
      seq: 4 as MatchSeq,
      failures: 9,
      outcome: "server_error",
      status: 500,
      deadLetteredAtMs: 7,
    } as const
    await store.saveProgress([
      { linkId: link, position: postCount as MatchSeq, retries: [], settled: [], dead: [dead], delivered: 0 },
    ])
  }
  tamper(`UPDATE retries SET due_at_ms = 1 << 50 WHERE seq = 3; UPDATE dead_letters SET status = 404`)
  await using store = await openEmbeddedStore({ file })
  expect((await store.retries(link, "core"))[2]).toMatchObject({ seq: 3, failures: 0, dueAtMs: 0 })
  const [letter] = await store.deadLetters({ appId: app }, { direction: "older", limit: 5 })
  expect(letter).toMatchObject({
    seq: 4,
    outcome: "damaged",
    error: expect.stringContaining("is not as it was stored"),
  })
  expect(letter).not.toHaveProperty("status")
  expect((await audited(file)).damage).toEqual([
    "retries: the retry of match 3 over link 31 is not as it was stored. It is sent at once.",
    "dead_letters: dead letter 1 of link 31 is not as it was stored",
  ])
})

test("a replay whose range is damaged is not sent, and named", async () => {
  {
    await using store = await openEmbeddedStore({ file })
    const range = { fromMs: 1, toMs: 9, position: 0 as MatchSeq, endSeq: 8 as MatchSeq, createdAtMs: 2 }
    const ids = { id: "41" as ReplayId, appId: app, webhookId: "1" as WebhookId, linkId: link }
    await store.createReplay({ ...ids, ...range, delivered: 0, failed: 0, state: "running" })
    await store.saveReplay({ id: ids.id, position: 3 as MatchSeq, delivered: 3, failed: 0 })
    expect(await store.replays({ state: "running" })).toMatchObject([{ id: "41", position: 3 }])
  }
  tamper("UPDATE replays SET end_seq = 9")
  await using store = await openEmbeddedStore({ file })
  expect(await store.replays({ state: "running" })).toEqual([])
  expect(await store.damagedRecords()).toEqual(["replay 41 of app 100"])
})

test("a change of a damaged record leaves it damaged; only its deletion repairs that", async () => {
  tamper("UPDATE webhooks SET url = 'https://example.com/2'; UPDATE links SET query = ''; UPDATE apps SET name = 'b'")
  await using store = await openEmbeddedStore({ file })
  const webhookId = "1" as WebhookId
  await store.invalidateWebhook(webhookId, "responded with 410")
  await store.rotateSigningKey(app, webhookId, { signingKeySealed: Uint8Array.of(7), previousUntilMs: 99 })
  await store.setLinkOrdered(app, webhookId, true)
  expect(await store.allLinks()).toEqual([])
  expect(await store.webhooks(app)).toEqual([])
  expect((await audited(file)).damage).toHaveLength(3)

  expect(await store.deleteWebhook(app, webhookId)).toBe(true)
  expect(await store.revokeApp(app)).toBe(true)
  expect((await audited(file)).damage).toEqual([])
  expect(await store.damagedRecords()).toEqual([])
})

test("a damaged post that shows a deleted one is deleted with it, and never counts as whole again", async () => {
  const [showing, shown] = ["1990000000000000002", "1990000000000000001"] as PostId[]
  const envelope = `{"data":{"id":"${showing}","text":"see"},"includes":{"tweets":[{"id":"${shown}","text":"a heron"}]}}`
  {
    await using store = await openEmbeddedStore({ file })
    await store.append(
      [{ post: aPost(showing ?? "", "8", { envelope, includedIds: [shown as PostId] }), matches: [] }],
      1,
    )
  }
  tamper(`UPDATE posts SET envelope = replace(envelope, '"text":"see"', '"text":"sea"') WHERE id = ${showing}`)
  await using store = await openEmbeddedStore({ file })
  await store.delete([{ kind: "post", id: shown as PostId }], 2)
  while (!(await store.continueDeletions(3)));
  expect(await store.postsById({ ids: [showing as PostId], bytesMax: 1_000, shape: "envelope" })).toMatchObject({
    posts: [],
    damaged: [],
  })
  expect((await audited(file)).damage).toEqual([])
})

test("a damaged last id is recovered from the rows, and repaired by the next id", async () => {
  tamper("UPDATE given_ids SET last_id = 1 << 61")
  await using store = await openEmbeddedStore({ file })
  expect((await audited(file)).damage).toEqual(["given_ids: the last id that was given is not as it was stored"])
  expect(await store.lastId()).toBe("1002")
  await store.addRules(app, [{ id: "2001" as RuleId, appId: app, value: "cows" }], {
    rulesMax: 5,
  })
  expect(await store.lastId()).toBe("2001")
  expect((await audited(file)).damage).toEqual([])
})

test.each(["believed_ms = believed_ms + 1", "one = 0"])(
  "the known time counts as damaged and not as missing (%s), and the next save repairs it",
  async (change) => {
    const known = { believedMs: 1_780_000_000_000, clockMs: 1_780_000_000_000, steadyMs: 0 }
    {
      await using store = await openEmbeddedStore({ file })
      await store.saveKnownTime(known)
    }
    tamper(`UPDATE known_time SET ${change}`)
    await using store = await openEmbeddedStore({ file })
    expect(await store.knownTime()).toEqual(noKnownTime)
    await store.saveKnownTime(known)
    expect(await store.knownTime()).toEqual(known)
  },
)

test("wherever a bit flips, the store shows only stored data, and names the missing data", async () => {
  const written = [...healthy.keys()].filter((at) => healthy[at] !== 0)
  let harmed = 0
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...written), fc.nat({ max: 7 }), async (offset, bit) => {
      flip(offset, bit)
      try {
        await using store = await openEmbeddedStore({ file })
        const isWhole = await showsOnlyWhatWasStored(store)
        if (isWhole) return
        harmed += 1
        expect((await audited(file)).damage).not.toEqual([])
      } catch (error) {
        if (!isRefusal(error)) throw error
        harmed += 1
      } finally {
        for (const suffix of ["-wal", "-shm"]) await rm(file + suffix, { force: true })
      }
    }),
    { numRuns: 160 * share(2) },
  )
  expect(harmed).toBeGreaterThan(6 * share(2))
})

/** Whether everything is shown. Fails when something is shown that was not stored. */
async function showsOnlyWhatWasStored(store: Store): Promise<boolean> {
  let shown = 0
  const control: readonly (readonly [shown: readonly unknown[], stored: readonly unknown[]])[] = [
    [await liveRules(store), rules],
    [await store.apps(), [anApp("100")]],
    [await store.allWebhooks(), [aWebhook("100", "1")]],
    [await store.links(app, { direction: "older", limit: 5 }), [aLink("100", "31", "1", linkQuery)]],
    [(await store.allLinks()).map(({ url, query }) => [url, query]), [["https://example.com/1", linkQuery]]],
    [await store.attempts(link, 5), [{ ...attempt, id: "1" }]],
  ]
  for (const [records, stored] of control) {
    for (const record of records) expect(stored).toContainEqual(record)
    shown += records.length
  }
  for (const shape of ["core", "envelope"] as const) {
    const textOf = shape === "core" ? coreOf : envelopeOf
    const logged = [...(await entries(store, shape)), ...(await store.retries(link, shape)).map(({ entry }) => entry)]
    for (const { seq, postId, rulesJson, postJson } of logged) {
      if (postJson === undefined) continue
      expect([postId, rulesJson, postJson]).toEqual([idOf(seq), rulesOf(seq), textOf(seq)])
      shown += 1
    }
    for (const { id, json } of [...(await timeline(store, shape)).posts, ...(await byIds(store, shape)).posts]) {
      expect(json).toBe(textOf(Number(BigInt(id) - firstId)))
      shown += 1
    }
  }
  return shown === 8 * postCount + 7
}

/** An error of the store's or of SQLite's, and not one of this test's. */
function isRefusal(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return error instanceof StoreDamaged || code === "ERR_SQLITE_ERROR" || /version/.test((error as Error).message)
}
