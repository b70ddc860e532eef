/** Small, whole objects of every kind, for tests of stores and of what works on them. */
import type { App, StoredToken } from "../../model/app.ts"
import type { Attempt } from "../../model/attempt.ts"
import type { DeadMatch } from "../../model/dead-letter.ts"
import type { AppId, LinkId, MatchSeq, PostId, ReplayId, RuleId, UserId, WebhookId } from "../../model/ids.ts"
import type { LinkProgress, Retry, StoredLink } from "../../model/link.ts"
import type { PostMatch } from "../../model/match.ts"
import type { AcceptedPost, StoredPost } from "../../model/post.ts"
import type { Backfill, Replay } from "../../model/replay.ts"
import type { StoredRule } from "../../model/rule.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import type { Store } from "../store.ts"

/** The two apps of every test of the contract. */
export const app = "100" as AppId
/** The second one. */
export const other = "200" as AppId

/** Link of `app` to `webhook`, in the tests of deliveries. */
export const link = "31" as LinkId
/** Webhook of `app`, in the tests of deliveries. */
export const webhook = "1" as WebhookId

/** Ids beyond what a double holds exactly. */
export const large = ["9007199254740993", "9223372036854775806"] as const

/** A list from its newest on, as long as it is. */
export const allOlder = { direction: "older", limit: 1_000 } as const

/** As many rules as most tests need. */
export const cap = { rulesMax: 10 }

/** Bytes of these values. */
export const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)

/** Positions of these values. */
export const seqs = (...values: number[]): MatchSeq[] => values as MatchSeq[]

/** An app of the given id. */
export function anApp(id: string): App {
  return {
    id: id as AppId,
    name: `app ${id}`,
    businessUserId: `${id}1`,
    instanceId: `${id}2`,
    consumerKey: `key-${id}`,
    consumerSecretSealed: bytes(1, 2, 3),
    generation: 1,
    createdAtMs: 1_700_000_000_000,
    revoked: false,
  }
}

/** A token of the given app. */
export function aToken(appId: string, value: number): StoredToken {
  return { hash: bytes(value), kind: "app", appId: appId as AppId, createdAtMs: 5 }
}

/** A rule of the given app. */
export function aRule(appId: string, id: string, value: string, tag?: string): StoredRule {
  return { id: id as RuleId, appId: appId as AppId, value, ...(tag !== undefined && { tag }) }
}

/** A webhook of the given app. */
export function aWebhook(appId: string, id: string, url = `https://example.com/${id}`): StoredWebhook {
  return {
    id: id as WebhookId,
    appId: appId as AppId,
    url,
    createdAtMs: 7,
    valid: true,
    checkedAtMs: 7,
    signingKeySealed: bytes(9),
  }
}

/** A link of the given app and webhook. */
export function aLink(appId: string, id: string, webhookId: string, query = ""): StoredLink {
  return {
    id: id as LinkId,
    appId: appId as AppId,
    webhookId: webhookId as WebhookId,
    createdAtMs: 8,
    query,
  }
}

/** Fields of a post that a test sets, with its texts as strings. */
type PostParts = Partial<Omit<AcceptedPost, "core" | "envelope"> & { readonly core: string; readonly envelope: string }>

/** A post of the given id and author, made at the given time. */
export function aPost(id: string, author?: string, { core, envelope, ...more }: PostParts = {}): AcceptedPost {
  return {
    id: id as PostId,
    ...(author !== undefined && { authorId: author as UserId }),
    createdAtMs: id.length < 15 ? Number(id) : 15,
    isReply: false,
    isRepost: false,
    core: Buffer.from(core ?? `{"id":"${id}"}`),
    envelope: Buffer.from(envelope ?? `{"data":{"id":"${id}"},"whole":true}`),
    userIds: author === undefined ? [] : [author as UserId],
    users: [],
    includedIds: [],
    ...more,
  }
}

/** A post of the given id and time that includes these users, as ingest reads it. */
export function aUserPost(
  id: string,
  createdAtMs: number,
  ...users: readonly Readonly<Record<"id" | "username" | "name", string> & { description?: string }>[]
): AcceptedPost {
  const objects = users.map((user) => JSON.stringify(user))
  const head = `{"data":{"id":"${id}"},"includes":{"users":[`
  let end = Buffer.byteLength(head) - 1
  return aPost(id, users[0]?.id, {
    createdAtMs,
    envelope: `${head}${objects.join(",")}]}}`,
    userIds: [...new Set(users.map((user) => user.id as UserId))],
    users: objects.map((object, index) => {
      const begin = end + 1
      end = begin + Buffer.byteLength(object)
      const user = users[index]
      return { id: user?.id as UserId, username: user?.username.toLowerCase() ?? "", begin, end }
    }),
  })
}

/** A match of the given app and rules. */
export function aMatch(appId: AppId, ...rules: readonly string[]): PostMatch {
  return { appId, rules: rules.map((id) => ({ id, tag: "" })) }
}

/** Progress of `link` up to a position. */
export function progress(position: number, more: Partial<LinkProgress> = {}): LinkProgress {
  return {
    linkId: link,
    position: position as MatchSeq,
    retries: [],
    settled: [],
    dead: [],
    delivered: 0,
    ...more,
  }
}

/** A retry of the given match. */
export function aRetry(seq: number, failures = 1, dueAtMs = 1_800_000_000_000): Retry {
  return { seq: seq as MatchSeq, failures, dueAtMs }
}

/** The given match as one that is given up. */
export function aDeadMatch(seq: number, deadLetteredAtMs = 50): DeadMatch {
  return {
    seq: seq as MatchSeq,
    failures: 9,
    outcome: "server_error",
    status: 500,
    error: "responded with 500.",
    deadLetteredAtMs,
  }
}

/** An attempt to deliver the given match over `link`. */
export function anAttempt(seq: number, more: Partial<Attempt> = {}): Attempt {
  return {
    linkId: link,
    seq: seq as MatchSeq,
    atMs: 1_800_000_000_000 + seq,
    durationMs: 1.5,
    outcome: "delivered",
    status: 200,
    bytes: 300,
    ...more,
  }
}

/** A running replay over `link`. */
export function aReplay(id: string, more: Partial<Replay> = {}): Replay {
  return {
    id: id as ReplayId,
    appId: app,
    webhookId: webhook,
    linkId: link,
    fromMs: 60_000,
    toMs: 120_000,
    position: 0 as MatchSeq,
    endSeq: 4 as MatchSeq,
    delivered: 0,
    failed: 0,
    createdAtMs: 9,
    state: "running",
    ...more,
  }
}

/** A backfill of one rule, between these ids. */
export function aBackfill({ searchedId, lastId }: { readonly searchedId: string; readonly lastId: string }): Backfill {
  return {
    rules: [{ id: "5" as RuleId, value: "cat", tag: "" }],
    searchedId: searchedId as PostId,
    lastId: lastId as PostId,
  }
}

/** Adds a webhook and a link to it. */
export async function addLink(
  store: Store,
  appId: string,
  { linkId, webhookId }: { readonly linkId: string; readonly webhookId: string },
): Promise<void> {
  await store.createWebhook(aWebhook(appId, webhookId), { webhooksMax: 5 })
  await store.createLink(aLink(appId, linkId, webhookId))
}

/** The newest posts of a store, newest first. */
export function newestPosts(store: Store, limit: number): Promise<readonly StoredPost[]> {
  return Array.fromAsync(store.recentPosts({ limit, bytesMax: 1_000_000 }))
}

/** Every live rule of a store, oldest first. */
export async function liveRules(store: Store): Promise<readonly StoredRule[]> {
  return Array.fromAsync((await store.allRules()).rules)
}

/** Position and post of the matches of an app after a position. */
export async function positions(
  store: Store,
  appId: AppId,
  after = 0,
  limit = 100,
): Promise<readonly (readonly [number, string])[]> {
  const range = { appId, after: after as MatchSeq, limit, bytesMax: 1_000_000, shape: "core" } as const
  return (await store.matches(range)).map((entry) => [entry.seq, entry.postId])
}
