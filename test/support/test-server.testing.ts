/** A server in this process with a new directory and an app, for tests that use it over HTTP. */
import { paths } from "@sluice/api"
import {
  loadConfig,
  startServer,
  type AppCredentials,
  type Config,
  type Posture,
  type RunningServer,
  type StartOptions,
} from "../../packages/server/src/index.ts"
import type { ListedSource } from "../../packages/server/src/config.ts"
import type { Clock } from "../../packages/server/src/runtime/clock.ts"
import { engineAt } from "../../packages/server/src/startup/engine-at.ts"
import { storeEngineOf } from "../../packages/server/src/store/open.ts"
import { storeSettings } from "../../packages/server/src/store/tested-store.testing.ts"
import { temporaryDirectory } from "./temporary-directory.testing.ts"
import { WebhookReceiver } from "./webhook-receiver.testing.ts"

/** A request, by default GET with the app's own token unless the headers have one; a token of null sends none. */
interface CallInit extends Omit<RequestInit, "headers"> {
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

/** An app of a server under test, and requests with its token. */
export interface TestApp {
  readonly url: string
  readonly app: AppCredentials
  /** A request over HTTP. */
  call(path: string, init?: CallInit): Promise<TestResponse>
  /** Sends a request with a JSON body; a text is sent as it is. */
  send(method: string, path: string, body?: unknown, token?: string): Promise<TestResponse>
  /** Ingests envelopes. */
  ingest(...envelopes: readonly unknown[]): Promise<TestResponse>
  /** Registers a webhook at a new endpoint, which accepts every delivery; returns the webhook's id. */
  webhook(): Promise<string>
}

/** A server under test, with a first app. */
export interface TestServer extends TestApp, AsyncDisposable {
  readonly running: RunningServer
  readonly config: Config
  /** The directory of its store. The server's disposal removes a directory that it created itself. */
  readonly data: string
  /** Creates another app. */
  newApp(): Promise<TestApp>
}

/** A response, read to its end. */
export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON, or the first line of a body of JSON lines. Tests state their expectations. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test's expectation is its type
  readonly body: any
}

/**
 * Starts one, with settings by flag name. With `search: "off"` it has a thread less and takes two thirds of the time to start:
 * for tests that start many, or ingest a lot, and search nothing. Without a clock, time is the machine's.
 */
export async function startTestServer(
  flags: Readonly<Record<string, string>> = {},
  posture: Posture = "dev",
  clock?: Clock,
  { sources = [], ...options }: StartOptions & { readonly sources?: readonly ListedSource[] } = {},
): Promise<TestServer> {
  await using starting = new AsyncDisposableStack()
  const { data = starting.use(await temporaryDirectory()).path, ...others } = flags
  const store = await storeSettings(data)
  const base = { port: "0", "log-level": "silent", ...store.flags }
  const config = loadConfig({ posture, env: store.env, flags: { ...base, ...others }, sources })
  const engine = clock && engineAt(clock, storeEngineOf(config))
  const running = await startServer(config, { ...options, ...(engine && { engine }) })
  starting.defer(() => running.close())
  const resources = starting.move()
  const newApp = async (): Promise<TestApp> => testApp(running.url, await running.apps.create("test"), resources)
  return {
    ...(await newApp()),
    running,
    config,
    data,
    newApp,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

function testApp(url: string, app: AppCredentials, resources: AsyncDisposableStack): TestApp {
  let receiver: Promise<WebhookReceiver> | undefined
  let webhooks = 0

  const call: TestApp["call"] = async (path, { token = app.bearer_token, headers, ...init } = {}) => {
    const all = new Headers(headers)
    if (token !== null && !all.has("authorization")) all.set("authorization", `Bearer ${token}`)
    const response = await fetch(url + path, { ...init, headers: all })
    const text = await response.text()
    const isJson = response.headers.get("content-type")?.includes("json") === true && text !== ""
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text.split("\n", 1)[0] ?? "") : undefined,
    }
  }

  const send: TestApp["send"] = (method, path, body, token = app.bearer_token) =>
    call(path, {
      method,
      token,
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
    })

  return {
    url,
    app,
    call,
    send,
    ingest: (...envelopes) =>
      call(paths.posts, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body: envelopes.map((one) => `${JSON.stringify(one)}\n`).join(""),
      }),
    async webhook() {
      receiver ??= WebhookReceiver.start(app.consumer_secret).then((started) => resources.use(started))
      webhooks += 1
      const { status, body, text } = await send("POST", paths.webhooks, {
        url: `${(await receiver).url}/${webhooks}`,
      })
      if (status !== 200) throw new Error(`the webhook was refused: ${text}`)
      return body.data.id as string
    },
  }
}

/** An envelope of a post by user 7, with additional members where given. */
export function envelope(id: number | string, text: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    data: { id: String(id), text, author_id: "7", created_at: "2026-03-14T09:26:53.000Z", ...more },
    includes: { users: [{ id: "7", username: "wren", name: "Wren", verified: true }] },
  }
}
