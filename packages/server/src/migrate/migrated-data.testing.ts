/** A stopped data directory with something of every kind in it, and what two stores return to every read. */
import { chmodSync } from "node:fs"
import { masterKey } from "../startup/master-key.ts"
import type {
  AppId,
  ConnectionId,
  LinkId,
  MatchSeq,
  PostId,
  ReplayId,
  RuleId,
  UserId,
  WebhookId,
} from "../model/ids.ts"
import { systemRandom as random } from "../runtime/random.ts"
import { createSecretBox } from "../runtime/secret-box.ts"
import {
  aDeadMatch,
  allOlder,
  aLink,
  aMatch,
  anApp,
  anAttempt,
  aPost,
  aUserPost,
  app,
  aBackfill,
  aReplay,
  aRetry,
  aRule,
  aToken,
  aWebhook,
  large,
  liveRules,
  newestPosts,
  other,
  progress,
} from "../store/contract/fixtures.ts"
import { openEmbeddedStore } from "../store/embedded/serving/embedded-store.ts"
import { storeFile } from "../store/embedded/connection/database.ts"
import type { Store, StoreReads } from "../store/store.ts"

const revoked = "300" as AppId
const dayMs = 86_400_000

/** When its newest match was appended. */
const newestAtMs = Date.UTC(2026, 2, 14, 12)

const hostile = `quotes " ' and \\ backslashes, {braces}, NULL, \u00e9 \u{1F600} \u2028 and\nlines\t`

/** Fills a directory. Matches 1 and 2 of `app` are spared, 3 is trimmed; 4 to 9 are there, of three days. */
export async function fillDirectory(directory: string): Promise<void> {
  chmodSync(directory, 0o700)
  const box = createSecretBox(masterKey(directory, undefined, random, { mayCreate: true }), random)
  await using store = await openEmbeddedStore({ file: storeFile(directory) })
  const secrets = { consumerSecretSealed: box.seal("a secret") }
  await store.createApp({ ...anApp(app), ...secrets, name: hostile }, [aToken(app, 1)])
  await store.createApp({ ...anApp(other), ...secrets }, [aToken(other, 2), aToken(other, 3)])
  await store.createApp({ ...anApp(revoked), ...secrets }, [aToken(revoked, 4)])
  await store.createToken({ hash: Uint8Array.from([250, 0, 1]), kind: "ingest", createdAtMs: 6 })
  const ofUser = { kind: "user", appId: app, userId: large[1] as UserId } as const
  await store.createToken({ hash: Uint8Array.from([250, 0, 2]), ...ofUser, createdAtMs: 7 })
  await addRules(store)
  await store.revokeApp(revoked)
  for (const [appId, webhookId, linkId] of links) {
    const webhook = { ...aWebhook(appId, webhookId), signingKeySealed: box.seal("a key") }
    await store.createWebhook(webhook, { webhooksMax: 5 })
    await store.createLink(aLink(appId, linkId, webhookId, linkId === "31" ? "expansions=author_id" : ""))
  }
  await store.invalidateWebhook("3" as WebhookId, hostile)
  const rotated = { signingKeySealed: box.seal("another key"), previousUntilMs: 2_000_000_000_000 }
  await store.rotateSigningKey(app, "1" as WebhookId, rotated)
  await store.setLinkOrdered(app, "3" as WebhookId, true)
  await store.setLinkPaused(app, "1" as WebhookId, 1_900_000_000_000)
  await addPosts(store)
  await deliver(store)
  await addConnections(store)
  await addSources(store)
}

/** A paused source and one that has gone on, with a gap, a dead letter and an assigned name. */
async function addSources(store: Store): Promise<void> {
  await store.pauseSource("pond", true)
  const { driver } = await store.beginSource("sky")
  const [name, id] = [`https://example.com/${hostile}`, "1992000000000000777" as PostId]
  const envelope = Buffer.from(JSON.stringify({ data: { id, text: "a", source_uri: name } }))
  const letter = { id: letterId(1), source: "sky", atMs: newestAtMs, title: "Invalid JSON", detail: hostile }
  await store.appendFrom(
    {
      source: "sky",
      driver,
      position: hostile,
      names: [name],
      assigned: [{ name, id }],
      deadLetters: [{ ...letter, record: Uint8Array.from([0, 255, 10, 92]) }],
      users: [],
    },
    [{ post: { ...aPost(id), envelope }, matches: [] }],
    newestAtMs,
  )
  await store.noteSourceGap({ id: letterId(2), source: "sky", fromMs: 1, reason: hostile, notedAtMs: newestAtMs })
}

const letterId = (number: number): string => `01890a5d-ac96-774b-bcce-b302099a900${number}`

const links = [
  [app, "1", "31"],
  [other, "2", "32"],
  [app, "3", large[0]],
] as const

async function addRules(store: Store): Promise<void> {
  const rules = [
    aRule(app, "5", "cat has:images", hostile),
    aRule(app, large[0], `"\u00e9t\u00e9" lang:fr`),
    aRule(app, "6", "gone"),
  ]
  await store.addRules(app, rules, { rulesMax: 10 })
  await store.addRules(other, [aRule(other, "7", "cat has:images")], { rulesMax: 10 })
  await store.addRules(revoked, [aRule(revoked, "8", "dog")], { rulesMax: 10 })
  await store.deleteRules(app, { kind: "ids", ids: ["6" as RuleId] })
  await store.setRuleTag(app, large[0] as RuleId, "tagged")
  await store.countRuleMatches([{ ruleId: "5" as RuleId, matched: 7, lastMatchedAtMs: 99 }])
}

/** An open connection and one that has ended. */
async function addConnections(store: Store): Promise<void> {
  const opened = [large[0], large[1]].map((id, at) => ({
    id: id as ConnectionId,
    uuid: `01890a5d-ac96-774b-bcce-b302099a805${at}`,
    appId: app,
    endpoint: at === 0 ? ("filtered_stream" as const) : ("sample10_stream" as const),
    clientIp: hostile,
    connectedAtMs: newestAtMs + at,
  }))
  const ended = opened.slice(1).map(({ uuid }) => ({ uuid, atMs: newestAtMs, reason: "SlowReader" as const }))
  await store.saveConnections({ opened, ended })
}

/** Posts with ids of every size, by three users, of which one has ids that say nothing of the time. */
async function addPosts(store: Store): Promise<void> {
  const ids = ["1", "2", "3", "1588889996004265984", "1992000000000000000", "1992000000000000001", ...large, "4"]
  for (const [index, id] of ids.entries()) {
    const atMs = newestAtMs - Math.max(0, 8 - index) * (dayMs / 2)
    const texts = { core: JSON.stringify({ id, text: hostile }), envelope: JSON.stringify({ data: { id, hostile } }) }
    const post = aPost(id, index === 2 ? undefined : String(7 + (index % 3)), {
      ...texts,
      isReply: index % 2 === 1,
      isRepost: index % 4 === 3,
      ...(index === 4 && { createdAtMs: 1_763_000_000_000 }),
    })
    const matches = [aMatch(app, "5"), ...(index % 2 === 0 ? [aMatch(other, "7")] : [])]
    await store.append([{ post, matches }], atMs)
  }
  await store.append([{ post: aPost("77", "9", { includedIds: ["2" as PostId] }), matches: [] }], newestAtMs)
  const users = [
    { id: "9", username: "Wren", name: `${hostile} likes cats` },
    { id: large[1], username: "hawk", name: "Hawk" },
  ]
  await store.append([{ post: aUserPost("79", newestAtMs, ...users), matches: [] }], newestAtMs)
}

/** Something at every place that a match can be at. */
async function deliver(store: Store): Promise<void> {
  await store.saveProgress([
    progress(6, {
      delivered: 3,
      retries: [aRetry(1, 1, newestAtMs), aRetry(5, 3, newestAtMs)],
      dead: [aDeadMatch(2, newestAtMs)],
    }),
    progress(2, { linkId: "32" as LinkId, delivered: 1, dead: [{ ...aDeadMatch(1, 10), error: hostile }] }),
  ])
  const attempt = anAttempt(6, {
    atMs: newestAtMs,
    error: hostile,
    outcome: "server_error",
    status: 503,
    durationMs: 0.1 + 0.2,
  })
  const [older, old, first] = [3, 4, 2].map((seq) => anAttempt(seq, { atMs: newestAtMs - dayMs }))
  const attempts = [older, old, attempt, first && { ...first, linkId: "32" as LinkId }].filter(
    (one) => one !== undefined,
  )
  await store.recordAttempts(attempts, { keptPerLink: 2 })
  await store.createReplay(aReplay(large[0], { position: 2 as MatchSeq }))
  await store.saveReplay({ id: large[0] as ReplayId, position: 3 as MatchSeq, delivered: 2, failed: 1 })
  const elsewhere = { appId: other, webhookId: "2" as WebhookId, linkId: "32" as LinkId }
  await store.createReplay(aReplay("9", elsewhere))
  await store.endReplay("9" as ReplayId, "incomplete", 77)
  const backfill = aBackfill({ searchedId: "70", lastId: large[0] })
  await store.createReplay(aReplay("10", { ...elsewhere, endSeq: 0 as MatchSeq, backfill }))
  const rules = [{ id: "5", tag: "" }]
  await store.addBackfillMatches({
    id: "10" as ReplayId,
    matches: ["70", "71"].map((postId) => ({ postId: postId as PostId, rules })),
    searchedId: "71" as PostId,
    lastId: large[0] as PostId,
  })
  await store.trimMatches(app, { beforeMs: newestAtMs - 2.6 * dayMs, limit: 100 })
  await store.trimDeadLetters({ beforeMs: 11, limit: 100 })
  await store.delete(
    [
      { kind: "post", id: "90" as PostId },
      { kind: "user", id: "91" as UserId },
    ],
    newestAtMs,
  )
}

/** Changes a store that was filled, as a server would; what the writes return. */
export async function goOn(store: Store): Promise<readonly unknown[]> {
  const trimmed = { beforeMs: newestAtMs + dayMs, limit: 100 }
  const post = { post: aPost("78", "9", { createdAtMs: newestAtMs }), matches: [aMatch(app, "5"), aMatch(other, "7")] }
  return [
    await store.redeliver({ kind: "all" }),
    await store.append([post, post], newestAtMs + 1),
    await store.saveProgress([progress(7, { delivered: 0, dead: [aDeadMatch(7, newestAtMs)] })]),
    await store.recordAttempts([anAttempt(7, { atMs: newestAtMs })], { keptPerLink: 2 }),
    await store.addRules(app, [aRule(app, "11", "new"), aRule(app, "12", "cat has:images")], { rulesMax: 10 }),
    await store.createWebhook(aWebhook(other, "4", "https://example.com/2"), { webhooksMax: 5 }),
    await store.saveReplay({ id: large[0] as ReplayId, position: 4 as MatchSeq, delivered: 3, failed: 1 }),
    await store.trimMatches(app, { ...trimmed, beforeMs: newestAtMs - 1.6 * dayMs }),
    await store.trimMatches(other, trimmed),
    await store.trimDeadLetters({ ...trimmed, beforeMs: 60 }),
    await store.endConnections(app, { kind: "all" }, { atMs: newestAtMs + 1, reason: "ForceDisconnect" }),
    await store.trimConnections({ ...trimmed, beforeMs: newestAtMs + 1, keptMax: 10 }),
    await store.append([{ post: aPost("90"), matches: [] }], newestAtMs + 2),
    await store.append([{ post: aPost("92", "91"), matches: [] }], newestAtMs + 2),
    await store.delete([{ kind: "post", id: "2" as PostId }], newestAtMs + 3),
  ]
}

/** The result of every read of a store, by the name of the read. */
export async function readAll(reads: StoreReads): Promise<Readonly<Record<string, unknown>>> {
  const found: Record<string, unknown> = {
    apps: await reads.apps(),
    appByConsumerKey: await reads.appByConsumerKey("key-100"),
    tokens: await reads.tokens(),
    token: await reads.token(Uint8Array.from([250, 0, 1])),
    liveRules: await liveRules(reads as Store),
    ruleSeq: (await reads.allRules()).seq,
    ruleChanges: await reads.ruleChanges((await reads.allRules()).seq - 3, 100),
    ruleMatches: await reads.ruleMatches(["5" as RuleId, "7" as RuleId]),
    webhookPage: await reads.webhookPage({}, allOlder),
    allWebhooks: await reads.allWebhooks(),
    allLinks: await reads.allLinks(),
    deadLetters: await reads.deadLetters({}, allOlder),
    replays: await reads.replays({}),
    backfillMatches: await reads.backfillMatches({
      id: "10" as ReplayId,
      after: 0 as MatchSeq,
      limit: 100,
      bytesMax: 1_000_000,
      shape: "envelope",
    }),
    damagedRecords: await reads.damagedRecords(),
    lastId: await reads.lastId(),
    controlVersion: await reads.controlVersion(),
    heads: Object.fromEntries(await reads.heads()),
    posts: await reads.posts({ ...allOlder, bytesMax: 1_000_000 }),
    arrived: (await reads.arrivedPosts({ limit: 100, bytesMax: 1_000_000, includeUnsettled: true })).posts,
    deletions: await reads.deletions({ after: 0, limit: 100 }),
    deletedPosts: [...(await reads.deletedPosts(["77", "90"] as PostId[]))],
    userFill: await reads.userFill(),
    sources: await reads.sources(),
    sourceGaps: await reads.sourceGaps("sky"),
    sourceDeadLetters: await reads.sourceDeadLetters(allOlder),
    assignedNames: await reads.assignedNames([`https://example.com/${hostile}`]),
    usersByName: await reads.usersByName(["hawk"]),
    usersByPrefix: await reads.usersByPrefix({ prefix: "w", limit: 5 }),
    usersByWords: await reads.usersByWords({ words: ["cats", "likes"], limit: 5, scanMax: 5 }),
    newestPosts: await newestPosts(reads as Store, 100),
  }
  for (const id of [app, other, revoked]) found[`app ${id}`] = await readApp(reads, id)
  for (const [appId, webhookId, linkId] of links) {
    const id = linkId as LinkId
    found[`link ${linkId}`] = {
      link: await reads.link(appId, webhookId as WebhookId),
      toDeliver: await reads.linkToDeliver(webhookId as WebhookId),
      retries: await reads.retries(id, "envelope"),
      gaps: await reads.gaps(id),
      tally: await reads.linkTally(id),
      attempts: await reads.attempts(id, 100),
    }
  }
  for (const user of ["7", "8", "9", "10"] as UserId[]) {
    const range = { ...allOlder, userId: user, scanMax: 100, bytesMax: 1_000_000, excludeReposts: false }
    found[`user ${user}`] = {
      isKnown: await reads.isUserKnown(user),
      core: await reads.userPosts({ ...range, shape: "core", excludeReplies: true }),
      envelope: await reads.userPosts({ ...range, shape: "envelope", excludeReplies: false, startMs: 1, endMs: 2e12 }),
    }
  }
  return found
}

async function readApp(reads: StoreReads, appId: AppId): Promise<unknown> {
  const log = { appId, after: 0 as MatchSeq, limit: 100, bytesMax: 1_000_000 }
  return {
    app: await reads.app(appId),
    connections: await reads.connectionPage({ appId }, allOlder),
    rules: await reads.rules(appId, allOlder),
    byValue: await reads.rulesByValue(appId, ["cat has:images"]),
    webhooks: await reads.webhooks(appId),
    head: await reads.head(appId),
    trimmed: await reads.trimmed(appId),
    positions: await Promise.all([4, 2, 1, 0].map((days) => reads.positionAt(appId, newestAtMs - days * dayMs))),
    core: await reads.matches({ ...log, shape: "core" }),
    envelope: await reads.matches({ ...log, shape: "envelope" }),
    single: await Promise.all([1, 2, 3, 9].map((seq) => reads.match(appId, seq as MatchSeq, "envelope"))),
    ofPost: await reads.matchesOfPost("1" as PostId, appId),
  }
}
