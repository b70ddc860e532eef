/**
 * A store that is restored while a link delivers to a receiver of `@sluice/client` that drops repeats by their ids: the
 * receiver handles each new match once, and no id names two posts, over the original store and all its copies.
 */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { nodeHandler, receiver } from "@sluice/client/receiver"
import { expect, test } from "vitest"
import { loadConfig, startServer, type RunningServer } from "../../packages/server/src/index.ts"
import {
  createTestDatabase,
  replaceTestDatabase,
} from "../../packages/server/src/store/cluster/connection/postgres.testing.ts"
import { runProcess } from "../../packages/sluice/src/command.testing.ts"
import { SluiceClient } from "../oracle/sluice-client.ts"
import { listening } from "../support/listening.testing.ts"
import { SluiceProcess, sharedMasterKey } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const run = promisify(execFile)
const env = { SLUICE_MASTER_KEY: sharedMasterKey }

/** A receiver that handles each delivery once, by its id. */
class CarefulReceiver implements AsyncDisposable {
  /** Posts of handled deliveries, in order. */
  readonly handled: number[] = []
  /** The posts that came with each id. */
  readonly #postsOf = new Map<string, Set<number>>()
  readonly #signingKeys: string[] = []
  #open: Promise<void> = Promise.resolve()
  #endpoint: Awaited<ReturnType<typeof listening>> | undefined

  static async start(consumerSecret: string): Promise<CarefulReceiver> {
    const started = new CarefulReceiver()
    const receive = receiver({
      consumerSecret,
      get signingKeys() {
        return started.#signingKeys.length === 0 ? undefined : started.#signingKeys
      },
      async onDelivery({ id, text }) {
        const post = Number((JSON.parse(text) as { data: { id: string } }).data.id)
        started.#postsOf.set(id, (started.#postsOf.get(id) ?? new Set()).add(post))
        await started.#open
        started.handled.push(post)
      },
    })
    started.#endpoint = await listening(nodeHandler(receive))
    return started
  }

  /** Links it to the client's app, with a rule. */
  async link(client: SluiceClient): Promise<void> {
    await client.json("POST", "/2/tweets/search/stream/rules", { add: [{ value: "cat" }] })
    const url = `${this.#endpoint?.url ?? ""}/webhook`
    const { data: webhook } = (await client.json("POST", "/2/webhooks", { url })) as { data: { id: string } }
    const key = await client.json("GET", `/sluice/v1/webhooks/${webhook.id}/signing_key`)
    this.#signingKeys.push((key as { data: { signing_key: string } }).data.signing_key)
    await client.json("POST", `/2/tweets/search/webhooks/${webhook.id}`)
  }

  /** Holds arriving deliveries without a response until the result is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#open = promise
    return resolve
  }

  /** Waits until it has handled these posts, each once, even if some came several times. */
  async hasHandledOnce(...posts: readonly number[]): Promise<void> {
    const counts = () => posts.map((post) => this.handled.filter((one) => one === post).length)
    await expect.poll(counts, { timeout: 30_000 }).toEqual(posts.map(() => 1))
  }

  /** Ids that came with several posts. */
  get ambiguousIds(): readonly string[] {
    return [...this.#postsOf].filter(([, posts]) => posts.size > 1).map(([id]) => id)
  }

  get deliveredCount(): number {
    return this.#postsOf.size
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endpoint?.[Symbol.asyncDispose]()
  }
}

async function ingest(client: SluiceClient, ...posts: readonly number[]): Promise<void> {
  const line = (id: number) => JSON.stringify({ data: { id: String(id), text: `a cat, number ${id}`, author_id: "7" } })
  const text = `${posts.map(line).join("\n")}\n`
  const { status } = await client.send("POST", "/sluice/v1/posts", { type: "application/x-ndjson", text })
  expect(status).toBe(200)
}

function serverOn(store: { readonly data: string } | { readonly database: string }): Promise<RunningServer> {
  return startServer(loadConfig({ posture: "dev", flags: { ...store, port: "0", "log-level": "silent" }, env }))
}

/** Runs a server on a store while `use` works with the app of this token. */
async function serving(
  store: Parameters<typeof serverOn>[0],
  token: string,
  use: (client: SluiceClient) => Promise<void>,
): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const server = await serverOn(store)
  stack.defer(() => server.close())
  await use(new SluiceClient(server.url, token))
}

/** Creates a new store with posts 1 to 7, and copies it while 4 and 5 are in flight. Returns the app's token. */
async function copiedInMidDelivery(
  store: Parameters<typeof serverOn>[0],
  copy: () => Promise<unknown>,
  resources: AsyncDisposableStack,
): Promise<{ readonly token: string; readonly endpoint: CarefulReceiver }> {
  await using stack = new AsyncDisposableStack()
  const server = await serverOn(store)
  stack.defer(() => server.close())
  const app = await server.apps.create("one")
  const client = new SluiceClient(server.url, app.bearer_token)
  const endpoint = resources.use(await CarefulReceiver.start(app.consumer_secret))
  await endpoint.link(client)
  await ingest(client, 1, 2, 3)
  await endpoint.hasHandledOnce(1, 2, 3)
  const release = endpoint.hold()
  await ingest(client, 4, 5)
  await expect.poll(() => endpoint.deliveredCount).toBe(5)
  await copy()
  release()
  // The copy has none of these: it will assign their positions again.
  await ingest(client, 6, 7)
  await endpoint.hasHandledOnce(4, 5, 6, 7)
  return { token: app.bearer_token, endpoint }
}

test("after two restores of one backup, a receiver that drops repeats handles each new match once", async () => {
  await using resources = new AsyncDisposableStack()
  const directory = resources.use(await temporaryDirectory())
  const [data, copy, first, second, byHand] = ["data", "copy", "first", "second", "by-hand"].map((name) =>
    join(directory.path, name),
  ) as [string, string, string, string, string]
  const backUp = async (): Promise<void> => {
    expect(await runProcess(["backup", copy, "--data", data], { env })).toMatchObject({ status: 0 })
  }
  const { token, endpoint } = await copiedInMidDelivery({ data }, backUp, resources)
  for (const place of [first, second]) {
    expect(await runProcess(["restore", copy, "--data", place], { env })).toMatchObject({ status: 0 })
  }
  await run("cp", ["-r", copy, byHand])
  for (const [index, place] of [first, second, byHand].entries()) {
    const posts = [10, 11, 12, 13].map((post) => post + 10 * index)
    await serving({ data: place }, token, async (client) => {
      await ingest(client, ...posts)
      await endpoint.hasHandledOnce(...posts)
    })
  }
  await endpoint.hasHandledOnce(1, 2, 3, 4, 5, 6, 7)
  expect(endpoint.ambiguousIds).toEqual([])
}, 120_000)

test("after a dump is restored into another database, a receiver that drops repeats handles each new match once", async () => {
  await using resources = new AsyncDisposableStack()
  const directory = resources.use(await temporaryDirectory())
  const [original, first, second] = [
    resources.use(await createTestDatabase()),
    resources.use(await createTestDatabase()),
    resources.use(await createTestDatabase()),
  ]
  const dump = join(directory.path, "dump")
  const copy = () => run("pg_dump", ["--format=custom", `--file=${dump}`, `--dbname=${original.url}`])
  const { token, endpoint } = await copiedInMidDelivery({ database: original.url }, copy, resources)
  for (const [index, { url }] of [first, second].entries()) {
    await run("pg_restore", ["--exit-on-error", "--no-owner", `--dbname=${url}`, dump])
    const posts = [10, 11, 12, 13].map((post) => post + 10 * index)
    await serving({ database: url }, token, async (client) => {
      await ingest(client, ...posts)
      await endpoint.hasHandledOnce(...posts)
    })
  }
  await endpoint.hasHandledOnce(1, 2, 3, 4, 5, 6, 7)
  expect(endpoint.ambiguousIds).toEqual([])
}, 120_000)

test("a server whose database is replaced by an older copy restarts on it, and assigns no id a second time", async () => {
  await using resources = new AsyncDisposableStack()
  const directory = resources.use(await temporaryDirectory())
  const original = resources.use(await createTestDatabase())
  const copy = resources.use(await createTestDatabase())
  const server = resources.use(new SluiceProcess(directory.path, { database: original.url }))
  const { url, app } = JSON.parse(await server.mustBeReady()) as {
    readonly url: string
    readonly app: { readonly bearer_token: string; readonly consumer_secret: string }
  }
  const client = new SluiceClient(url, app.bearer_token)
  const endpoint = resources.use(await CarefulReceiver.start(app.consumer_secret))
  await endpoint.link(client)
  await ingest(client, 1, 2, 3)
  await endpoint.hasHandledOnce(1, 2, 3)
  const dump = join(directory.path, "dump")
  await run("pg_dump", ["--format=custom", `--file=${dump}`, `--dbname=${original.url}`])
  await run("pg_restore", ["--exit-on-error", "--no-owner", `--dbname=${copy.url}`, dump])
  await ingest(client, 4, 5, 6)
  // A rule that the copy does not have.
  await client.json("POST", "/2/tweets/search/stream/rules", { add: [{ value: "dog" }] })
  await endpoint.hasHandledOnce(4, 5, 6)

  await replaceTestDatabase(original, copy)
  const ruleCount = async (): Promise<unknown> => {
    const rules = await client.json("GET", "/2/tweets/search/stream/rules").catch(() => undefined)
    return (rules as { readonly data?: readonly unknown[] } | undefined)?.data?.length
  }
  const takesPosts = async (): Promise<number> => {
    const text = `${JSON.stringify({ data: { id: "7", text: "a cat", author_id: "7" } })}\n`
    return client.send("POST", "/sluice/v1/posts", { type: "application/x-ndjson", text }).then(
      ({ status }) => status,
      () => 0,
    )
  }
  await expect.poll(takesPosts, { timeout: 30_000, interval: 250 }).toBe(200)
  await expect.poll(ruleCount, { timeout: 30_000 }).toBe(1)
  await ingest(client, 8, 9)
  await endpoint.hasHandledOnce(1, 2, 3, 4, 5, 6, 7, 8, 9)
  expect(endpoint.ambiguousIds).toEqual([])
  expect(server.isRunning).toBe(true)
}, 120_000)
