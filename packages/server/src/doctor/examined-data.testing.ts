/** A data directory with something of everything in it, for tests that examine one. */
import { DatabaseSync } from "node:sqlite"
import { storeFile } from "../store/embedded/connection/database.ts"
import { masterKey } from "../startup/master-key.ts"
import type { AppId, LinkId, MatchSeq, PostId, WebhookId } from "../model/ids.ts"
import { systemRandom as random } from "../runtime/random.ts"
import { createSecretBox } from "../runtime/secret-box.ts"
import { checkedNames, defineRowChecksum, rowChecksum } from "../store/embedded/connection/checked-rows.ts"
import { openEmbeddedStore } from "../store/embedded/serving/embedded-store.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

/** A directory with a store that no one has open. */
export interface ExaminedData extends AsyncDisposable {
  readonly path: string
  /** The store's file. */
  readonly file: string
  /** Writes into the store past everything that keeps it whole. */
  tamper(sql: string): void
  /** Writes into the store as a server would have: with the checksums of control rows. */
  change(sql: string): void
}

/** The consumer secret of its one app, `5`. */
export const examinedSecret = "the consumer secret"

/** Number of posts in it; each is a match, and a post has an id of its own from `postId(1)` on. */
export const examinedPosts = 10

/** The id of the n-th post. */
export function postId(number: number): PostId {
  return String(1_000 + number) as PostId
}

/** A text that only the n-th post has, to be found in the file. */
export function postText(number: number): string {
  return `the words of post ${number}.`
}

/**
 * Makes one: app 5 has ten matches, appended at `atMs` and later, and a link to webhook 12 at `url` which has passed
 * eight of them. Six are delivered, as the attempts show; one is retried, one is a dead letter.
 */
export async function examinedData({
  url = "http://127.0.0.1:9/hook",
  atMs,
}: {
  url?: string
  atMs: number
}): Promise<ExaminedData> {
  const directory = await temporaryDirectory()
  const { path } = directory
  const secretBox = createSecretBox(masterKey(path, undefined, random, { mayCreate: true }), random)
  const file = storeFile(path)
  const [appId, webhookId, linkId] = ["5" as AppId, "12" as WebhookId, "7" as LinkId]
  await using store = await openEmbeddedStore({ file })
  await store.createApp(
    {
      id: appId,
      name: "one",
      businessUserId: "1",
      instanceId: "2",
      consumerKey: "key",
      consumerSecretSealed: secretBox.seal(examinedSecret),
      generation: 1,
      createdAtMs: atMs,
      revoked: false,
    },
    [],
  )
  await store.createWebhook(
    {
      id: webhookId,
      appId,
      url,
      createdAtMs: atMs,
      valid: true,
      checkedAtMs: atMs,
      signingKeySealed: secretBox.seal("a key"),
    },
    { webhooksMax: 1 },
  )
  await store.createLink({ id: linkId, appId, webhookId, createdAtMs: atMs, query: "" })
  for (let number = 1; number <= examinedPosts; number += 1) {
    const id = postId(number)
    const core = JSON.stringify({ id, text: postText(number) })
    const post = {
      id,
      createdAtMs: atMs,
      isReply: false,
      isRepost: false,
      core: Buffer.from(core),
      envelope: Buffer.from(`{"data":${core}}`),
      userIds: [],
      users: [],
      includedIds: [],
    }
    await store.append([{ post, matches: [{ appId, rules: [{ id: "3", tag: "" }] }] }], atMs + number)
  }
  const seq = (value: number): MatchSeq => value as MatchSeq
  await store.saveProgress([
    {
      linkId,
      position: seq(8),
      delivered: 6,
      retries: [{ seq: seq(3), failures: 2, dueAtMs: atMs + 20 }],
      settled: [],
      dead: [{ seq: seq(4), failures: 9, outcome: "server_error", status: 500, deadLetteredAtMs: atMs + 15 }],
    },
  ])
  const attempts = [1, 2, 5, 6, 7, 8].map((value) => ({
    linkId,
    seq: seq(value),
    atMs: atMs + value,
    durationMs: 4,
    outcome: "delivered" as const,
    status: 200,
    bytes: 100,
  }))
  await store.recordAttempts(attempts, { keptPerLink: 1_000 })
  return {
    path,
    file,
    tamper(sql) {
      using db = new DatabaseSync(file)
      db.exec(sql)
    },
    change(sql) {
      using db = new DatabaseSync(file)
      defineRowChecksum(db)
      db.exec(sql)
      for (const table of checkedNames) db.exec(`UPDATE ${table} SET checksum = ${rowChecksum(table)}`)
    },
    [Symbol.asyncDispose]: () => directory.remove(),
  }
}
