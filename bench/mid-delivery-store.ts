/** An embedded store in mid-delivery: ten apps with rules and links, each with retries and dead letters. */
import { loadConfig, openApps } from "../packages/server/src/index.ts"
import { asId, type AppId, type LinkId, type MatchSeq, type PostId } from "../packages/server/src/model/ids.ts"
import type { RuleId, UserId, WebhookId } from "../packages/server/src/model/ids.ts"
import { systemRandom } from "../packages/server/src/runtime/random.ts"
import { createSecretBox, type SecretBox } from "../packages/server/src/runtime/secret-box.ts"
import { masterKey } from "../packages/server/src/startup/master-key.ts"
import { storeFile } from "../packages/server/src/store/embedded/connection/database.ts"
import { openEmbeddedStore } from "../packages/server/src/store/embedded/serving/embedded-store.ts"
import type { Store } from "../packages/server/src/store/store.ts"
import { madeAuthor, madeEnvelope } from "./made-posts.ts"

const appCount = 10
const linksPerApp = 10
const rulesPerApp = 1_000
const [retriesPerLink, deadPerLink] = [100, 50]
const postsPerBatch = 1_000

/** Options of such a store. */
interface FillOptions {
  /** 64 hexadecimal digits; without it, one is made in the directory. */
  readonly masterKey?: string
  /** Matches of each log after the positions of its links; without it, half of the log. */
  readonly owed?: number
  /**
   * Endpoint of the links of the app with this consumer secret, each under its id; without it, an endpoint that does
   * not exist.
   */
  readonly endpointOf?: (consumerSecret: string) => Promise<string>
}

/** The state of every link of the store. */
interface FilledLinks {
  readonly links: number
  /** The retries are of the matches 1 to `retries`. */
  readonly retries: number
  readonly dead: number
  readonly position: number
  readonly head: number
}

/** Creates the store of a directory, with this many posts, each a match of one app. `posts` is a multiple of 1,000. */
export async function fillMidDelivery(data: string, posts: number, options: FillOptions = {}): Promise<FilledLinks> {
  const { masterKey: key, endpointOf = async () => "https://example.com" } = options
  const env = key === undefined ? {} : { SLUICE_MASTER_KEY: key }
  await using opened = await openApps(loadConfig({ posture: "serve", flags: { data }, env }))
  const created = await Promise.all(
    Array.from({ length: appCount }, (_, number) => opened.apps.create(`app ${number}`)),
  )
  const apps = created.map(({ application_id: id }) => asId<AppId>(id))
  await using store = await openEmbeddedStore({ file: storeFile(data) })
  const box = createSecretBox(masterKey(data, key, systemRandom, { mayCreate: false }), systemRandom)
  const added = created.map(async ({ consumer_secret: secret }, index) =>
    addControl({ store, box, appId: apps[index] ?? asId("0"), index, endpoint: await endpointOf(secret) }),
  )
  const links = (await Promise.all(added)).flat()
  const firstMs = Date.now() - posts
  for (let first = 0; first < posts; first += postsPerBatch) {
    const batch = Array.from({ length: postsPerBatch }, (_, at) => {
      const appId = apps[at % appCount]
      const matches = appId === undefined ? [] : [{ appId, rules: [{ id: "1", tag: "" }] }]
      return { post: postOf(first + at), matches }
    })
    await store.append(batch, firstMs + first)
  }
  const head = posts / appCount
  const position = head - (options.owed ?? Math.floor(head / 2))
  await store.saveProgress(links.map((linkId) => progressOf(linkId, position)))
  return { links: links.length, retries: retriesPerLink, dead: deadPerLink, position, head }
}

/** A link has retries of its first matches, and dead letters of those after them. */
function progressOf(linkId: LinkId, position: number) {
  const seq = (value: number): MatchSeq => value as MatchSeq
  const each = (count: number, from: number) => Array.from({ length: count }, (_, index) => seq(from + index))
  const nowMs = Date.now()
  return {
    linkId,
    position: seq(position),
    delivered: position - retriesPerLink - deadPerLink,
    retries: each(retriesPerLink, 1).map((one) => ({ seq: one, failures: 2, dueAtMs: nowMs })),
    settled: [],
    dead: each(deadPerLink, retriesPerLink + 1).map((one) => ({
      seq: one,
      failures: 9,
      outcome: "server_error" as const,
      status: 500,
      deadLetteredAtMs: nowMs,
    })),
  }
}

/** Adds the rules, webhooks and links of an app; returns the links' ids. */
async function addControl({
  store,
  box,
  appId,
  index,
  endpoint,
}: {
  store: Store
  box: SecretBox
  appId: AppId
  index: number
  endpoint: string
}): Promise<readonly LinkId[]> {
  const rules = Array.from({ length: rulesPerApp }, (_, number) => ({
    id: asId<RuleId>(String(1 + index * rulesPerApp + number)),
    appId,
    value: `word${number} lang:en -is:retweet`,
  }))
  await store.addRules(appId, rules, { rulesMax: rulesPerApp })
  const common = { appId, createdAtMs: Date.now() }
  const ids = Array.from({ length: linksPerApp }, (_, number) => String(100_000 + index * linksPerApp + number))
  for (const id of ids) {
    const key = box.seal(`whsec_${Buffer.alloc(32, id).toString("base64")}`)
    const valid = { valid: true, checkedAtMs: common.createdAtMs, signingKeySealed: key }
    const webhook = { ...common, ...valid, id: asId<WebhookId>(id), url: `${endpoint}/${id}` }
    await store.createWebhook(webhook, { webhooksMax: linksPerApp })
    await store.createLink({ ...common, id: asId<LinkId>(id), webhookId: asId<WebhookId>(id), query: "" })
  }
  return ids.map((id) => asId<LinkId>(id))
}

function postOf(index: number) {
  const envelope = madeEnvelope(index).trimEnd()
  const { data } = JSON.parse(envelope) as { data: { id: string; text: string; created_at: string } }
  return {
    id: asId<PostId>(data.id),
    authorId: asId<UserId>(madeAuthor),
    createdAtMs: Date.parse(data.created_at),
    isReply: false,
    isRepost: false,
    core: Buffer.from(JSON.stringify({ id: data.id, text: data.text })),
    envelope: Buffer.from(envelope),
    userIds: [asId<UserId>(madeAuthor)],
    users: [],
    includedIds: [],
  }
}
