/** An app of a server under test: its posts, its receivers and its streams. */
import type { AddTroubleBody, DisconnectStreamsBody, StreamedBody } from "@sluice/api"
import { createClient, type Client } from "@sluice/client"
import { nodeHandler, receiver, type Delivery } from "@sluice/client/receiver"
import type { AppCredentials, Apps } from "@sluice/server"
import { serverVariables, type ServerVariables } from "../own-server/server-variables.ts"
import { startLocalEndpoint } from "../process/local-endpoint.ts"
import {
  Received,
  until,
  waitMsMax,
  type MatchOptions,
  type ReceivedDelivery,
  type ReceiveOptions,
  type TestReceiver,
  type TestStream,
} from "./received.ts"
import type { PostMaker, PostToSend, SentPost } from "./sent-posts.ts"

/** An app of a server under test. */
export interface TestApp {
  readonly url: string
  /** The bearer token of the app. */
  readonly token: string
  readonly id: string
  readonly secrets: { readonly consumerSecret: string; readonly clientSecret: string }
  /** The address and the credentials as environment variables, for programs that the test starts. */
  readonly env: ServerVariables
  /** A client with the token of the app, for all that this interface lacks. */
  readonly client: Client
  /** A token of a user of the app, who may write posts. */
  userToken(username: string): Promise<string>
  /** Adds rules. Throws an error with the reason when one is refused. */
  addRules(...values: readonly string[]): Promise<void>
  /** Sends a post, or a text. Resolves when it is stored and matched. Throws an error with the reason when it is refused. */
  post(post: PostToSend | string): Promise<SentPost>
  /** Registers a webhook with an endpoint in the test, links it and adds rules. */
  receive(options?: ReceiveOptions): Promise<TestReceiver>
  /** Registers the program under test as a webhook at its own URL, links it and adds rules. Returns the webhook's id. */
  deliverTo(url: string, options?: MatchOptions): Promise<string>
  /** Opens the filtered stream, and adds rules. */
  stream(options?: MatchOptions): Promise<TestStream>
  /** Makes the server fail: `{ kind: "responses", response: "503", next: 3 }`. See docs/testing.md. */
  trouble(trouble: AddTroubleBody): Promise<void>
  /** Ends the streams of the app, by default without a message. Returns how many there were. */
  disconnectStreams(type?: DisconnectStreamsBody["disconnect_type"]): Promise<number>
}

interface TestAppParts {
  readonly url: string
  readonly app: AppCredentials
  readonly apps: Apps
  readonly operatorToken: string
  readonly posts: PostMaker
  readonly nowMs: () => number
  /** They end with the server. */
  readonly resources: AsyncDisposableStack
}

/** The app of these credentials. */
export function createTestApp(parts: TestAppParts): TestApp {
  const { url, app, apps, operatorToken, posts, resources } = parts
  const client = createClient({ url, token: app.bearer_token })
  const secrets = { consumerSecret: app.consumer_secret, clientSecret: app.client_secret }

  async function addRules(values: readonly string[] = []): Promise<readonly string[]> {
    if (values.length === 0) return []
    const { data = [], errors = [] } = await client.rules.add(values.map((value) => ({ value })))
    const refused = errors.find(({ title }) => title !== "DuplicateRule")
    if (refused === undefined) return data.map(({ id }) => id)
    throw new Error(`The rule ${String(Reflect.get(refused, "value"))} was refused: ${refused.detail ?? refused.title}`)
  }

  async function deliverTo(endpoint: string, { fields = {} }: MatchOptions): Promise<string> {
    const { data } = await client.webhooks.create({ url: endpoint })
    await client.webhooks.createStreamLink(data.id, fields)
    return data.id
  }

  return {
    url,
    token: app.bearer_token,
    id: app.application_id,
    secrets,
    env: serverVariables(url, app, operatorToken),
    client,
    async userToken(username) {
      const token = await apps.createUserToken(app.application_id, posts.userId(username))
      if (token === undefined) throw new Error("The app was revoked, and can have no user tokens.")
      return token
    },
    async addRules(...values) {
      await addRules(values)
    },
    async post(wanted) {
      const made = posts.make(typeof wanted === "string" ? { text: wanted } : wanted)
      const { rejected, accepted } = await client.posts.send(`${JSON.stringify(made.envelope)}\n`)
      const [refused] = rejected
      if (refused !== undefined) throw new Error(`The post was refused: ${refused.title}: ${refused.detail}`)
      if (accepted === 0) throw new Error(`The post was not stored: a post with the id ${made.id} is, or was deleted.`)
      return made
    },
    async receive({ rules, respond, ...shown } = {}) {
      const received = new Received<ReceivedDelivery>()
      const endpoint = await startReceiver(secrets, received, respond)
      resources.use(endpoint)
      const webhookId = await deliverTo(endpoint.url, shown)
      const ruleIds = await addRules(rules)
      return createReceiver({ ...parts, client, received, endpoint, webhookId, ruleIds })
    },
    async deliverTo(endpoint, { rules, ...shown } = {}) {
      const webhookId = await deliverTo(endpoint, shown)
      await addRules(rules)
      return webhookId
    },
    async stream({ rules, fields } = {}) {
      await addRules(rules)
      return openStream(client, fields, resources)
    },
    async trouble(trouble) {
      await client.trouble.create(trouble)
    },
    async disconnectStreams(type = "none") {
      return (await client.trouble.disconnectStreams({ disconnect_type: type })).data.disconnected
    },
  }
}

/** An endpoint that answers challenges and keeps what is delivered. */
async function startReceiver(
  secrets: TestApp["secrets"],
  received: Received<ReceivedDelivery>,
  respond: ReceiveOptions["respond"],
) {
  const ids = new Set<string>()
  const receive = receiver({
    ...secrets,
    // A test sees them, and says what comes of them.
    repeats: false,
    async onDelivery(delivery: Delivery) {
      if (delivery.kind !== "match") return undefined
      const { id, event, headers, text } = delivery
      const isRepeat = ids.has(id)
      ids.add(id)
      const one = { id, isRepeat, post: event.data, body: event, headers, text }
      received.add(one)
      return (await respond?.(one)) ?? 200
    },
  })
  return startLocalEndpoint(nodeHandler(receive), "/")
}

function createReceiver({
  client,
  received,
  endpoint,
  webhookId,
  ruleIds,
  nowMs,
}: Pick<TestAppParts, "nowMs"> & {
  readonly client: Client
  readonly received: Received<ReceivedDelivery>
  readonly endpoint: AsyncDisposable & { readonly url: string }
  readonly webhookId: string
  readonly ruleIds: readonly string[]
}): TestReceiver {
  const parameters = { webhook_id: webhookId }
  const link = async () => (await client.webhooks.getDetail(webhookId)).data.link

  async function state(waitedFor: string): Promise<string> {
    const [now, { data: rules = [] }] = await Promise.all([link(), client.rules.get({ max_results: 3 })])
    const values = rules.map(({ value }) => value)
    const about =
      now === undefined
        ? "The webhook has no link."
        : `The link has had ${String(now.head)} matches: ${String(now.total.delivered)} delivered, ` +
          `${String(now.total.retrying)} to be retried${now.next_attempt_at === undefined ? "" : ` at ${now.next_attempt_at}`}, ` +
          `${String(now.total.dead_letters)} dead letters. The webhook is ${now.valid ? "valid" : `invalid: ${now.invalid_reason ?? ""}`}.`
    const ofRules = values.length === 0 ? "The app has no rules." : `Its rules: ${values.join(" · ")}.`
    return `${waitedFor} within ${String(waitMsMax / 1_000)} s. ${about} ${ofRules}`
  }

  async function isSettled(): Promise<boolean> {
    const now = await link()
    if (now === undefined || now.undelivered === 0) return true
    return now.in_flight === 0 && Date.parse(now.next_attempt_at ?? "") > nowMs()
  }

  async function close(): Promise<void> {
    await client.request("DELETE", "webhook", { parameters })
    if (ruleIds.length > 0) await client.rules.delete({ ids: [...ruleIds] })
    await endpoint[Symbol.asyncDispose]()
  }

  return {
    url: endpoint.url,
    webhookId,
    next: () => received.next(() => state("No delivery came")),
    all: () => received.items,
    async settled() {
      await until(isSettled, () => state("Not everything was delivered"))
      return received.items
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function openStream(
  client: Client,
  query: MatchOptions["fields"],
  resources: AsyncDisposableStack,
): Promise<TestStream> {
  const received = new Received<StreamedBody>()
  const closing = new AbortController()
  const { promise: connected, resolve, reject } = Promise.withResolvers<void>()
  const reading = (async (): Promise<void> => {
    try {
      for await (const { body } of client.stream({ query, signal: closing.signal, onConnect: resolve })) {
        if (body !== undefined) received.add(body)
      }
      received.fail(new Error("The stream was closed."))
    } catch (error) {
      reject(error)
      received.fail(error)
    }
  })()
  const close = async (): Promise<void> => {
    closing.abort()
    await reading
  }
  resources.defer(close)
  await connected
  const waitingFor = async (): Promise<string> => `No post came within ${String(waitMsMax / 1_000)} s.`
  return { next: () => received.next(waitingFor), all: () => received.items, close, [Symbol.asyncDispose]: close }
}
