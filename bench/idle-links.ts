/**
 * The cost of idle links: processor time of a server with 10,000 links, of which 9,900 belong to apps without matches,
 * and of one with the other 100 alone, while the 100 get the same few deliveries.
 *
 * The 9,900 are written into the store before the server starts, as it would write them itself: over the API each would
 * need an endpoint that passes its challenge.
 */
import { storeFile } from "../packages/server/src/store/embedded/connection/database.ts"
import { masterKey } from "../packages/server/src/startup/master-key.ts"
import { loadConfig, openApps } from "../packages/server/src/index.ts"
import { asId, type AppId, type LinkId, type WebhookId } from "../packages/server/src/model/ids.ts"
import { systemRandom } from "../packages/server/src/runtime/random.ts"
import { createSecretBox } from "../packages/server/src/runtime/secret-box.ts"
import { openEmbeddedStore } from "../packages/server/src/store/embedded/serving/embedded-store.ts"
import { addRules, linkWebhooks, metrics, openFeed } from "./app-client.ts"
import { startEndpoints } from "./endpoints.ts"
import { figure, median, type Figure } from "./figure.ts"
import { MadePosts, madeWord } from "./made-posts.ts"
import { startSluice, type MeasuredSluice, type SluiceOptions } from "./servers.ts"
import { atConstantRate } from "./constant-rate.ts"

/** Lower than the ids that the server gives. */
let lastId = 1_000n

const linksPerApp = 100
const idleApps = 99
/** Each makes 100 deliveries. */
const postsPerSecond = 2

/** Prints the figure of idle links. */
export async function idleLinks(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  const seconds = isQuick ? 10 : 30
  await using resources = new AsyncDisposableStack()
  const few = await startBusy({}, resources)
  const many = await startBusy({ prepare: addIdleLinks }, resources)
  const posts = new MadePosts()
  for (const server of [few, many]) await cpuSeconds(server, posts, 5)
  const seen = { few: [] as number[], many: [] as number[] }
  for (let round = 0; round < 3; round++) {
    seen.few.push(await cpuSeconds(few, posts, seconds))
    seen.many.push(await cpuSeconds(many, posts, seconds))
  }
  print(
    figure(
      {
        name: "idle-links",
        value: median(seen.many),
        unit: `CPU s in ${seconds} s`,
        limit: median(seen.few),
        limitIs: `without the ${idleApps * linksPerApp} idle links`,
      },
      { atMost: 1.1 },
    ),
  )
}

/** Starts a server with a hundred busy links. */
async function startBusy(options: SluiceOptions, resources: AsyncDisposableStack): Promise<MeasuredSluice> {
  const sluice = resources.use(await startSluice(options))
  const endpoints = resources.use(await startEndpoints(linksPerApp, sluice.consumerSecret, () => undefined))
  await addRules(sluice, [madeWord])
  await linkWebhooks(sluice, endpoints.urls)
  return sluice
}

async function addIdleLinks(data: string): Promise<void> {
  await using opened = await openApps(loadConfig({ posture: "serve", flags: { data }, env: {} }))
  const apps = await Promise.all(Array.from({ length: idleApps }, (_, number) => opened.apps.create(`idle ${number}`)))
  await using store = await openEmbeddedStore({ file: storeFile(data) })
  const secretBox = createSecretBox(masterKey(data, undefined, systemRandom, { mayCreate: false }), systemRandom)
  const signingKeySealed = secretBox.seal(`whsec_${Buffer.alloc(32, 1).toString("base64")}`)
  const nowMs = Date.now()
  for (const { application_id: appId } of apps) {
    const common = { appId: asId<AppId>(appId), createdAtMs: nowMs }
    for (let number = 0; number < linksPerApp; number++) {
      lastId += 1n
      const webhookId = asId<WebhookId>(String(lastId))
      const url = `http://127.0.0.1:9/${number}`
      const webhook = { ...common, id: webhookId, url, valid: true, checkedAtMs: nowMs, signingKeySealed }
      const link = { ...common, id: asId<LinkId>(String(lastId)), webhookId, query: "" }
      await Promise.all([store.createWebhook(webhook, { webhooksMax: linksPerApp }), store.createLink(link)])
    }
  }
}

/** User and system time together, over this many seconds of a few posts. */
async function cpuSeconds(server: MeasuredSluice, posts: MadePosts, seconds: number): Promise<number> {
  const used = async (): Promise<number> => (await metrics(server)).get("process_cpu_seconds_total") ?? Number.NaN
  const before = await used()
  const feed = openFeed(server, () => undefined)
  await atConstantRate(postsPerSecond, seconds, (count) => feed.write(posts.take(count)))
  await feed.end()
  return (await used()) - before
}
