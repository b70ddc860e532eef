/** A real server on a temporary data directory, with an app, for tests that drive it over HTTP. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  loadConfig,
  startServer,
  type AppCredentials,
  type Posture,
  type RunningServer,
} from "../../packages/server/src/index.ts"

/** An app of a server to test, and requests in its name. */
export interface TestApp {
  readonly url: string
  readonly app: AppCredentials
  /** A request as the app, or with the headers given. */
  call(path: string, init?: RequestInit): Promise<Answer>
  /** A request with a JSON body. */
  send(method: string, path: string, body?: unknown): Promise<Answer>
  /** Pours envelopes in. */
  pour(...envelopes: readonly unknown[]): Promise<Answer>
}

/** A server to test, with a first app. */
export interface TestServer extends TestApp, AsyncDisposable {
  readonly running: RunningServer
  /** Its data directory, which goes when it is disposed of. */
  readonly data: string
  /** Makes another app. */
  newApp(): Promise<TestApp>
}

/** An answer, read to its end. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON. Tests say what they expect of it. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a test's expectation is its type
  readonly body: any
}

/** Starts one, with settings by flag name. */
export async function startTestServer(
  flags: Readonly<Record<string, string>> = {},
  posture: Posture = "dev",
): Promise<TestServer> {
  const data = await mkdtemp(join(tmpdir(), "sluice-test-"))
  const running = await startServer(
    loadConfig({ posture, flags: { data, port: "0", "log-level": "fatal", ...flags }, env: {} }),
  )
  const newApp = async (): Promise<TestApp> => testApp(running.url, await running.apps.create("test"))
  return {
    ...(await newApp()),
    running,
    data,
    newApp,
    async [Symbol.asyncDispose]() {
      await running.close()
      await rm(data, { recursive: true, force: true })
    },
  }
}

function testApp(url: string, app: AppCredentials): TestApp {
  async function call(path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = {
      Authorization: `Bearer ${app.bearer_token}`,
      ...(init.headers as Record<string, string>),
    }
    const response = await fetch(url + path, { ...init, headers })
    const text = await response.text()
    const isJson = response.headers.get("content-type")?.includes("json") === true && text !== ""
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    }
  }
  return {
    url,
    app,
    call,
    send: (method, path, body) =>
      call(path, {
        method,
        ...(body !== undefined && {
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      }),
    pour: (...envelopes) =>
      call("/sluice/v1/posts", {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body: envelopes.map((one) => `${JSON.stringify(one)}\n`).join(""),
      }),
  }
}

/** An envelope of a post by user 7, with more members where given. */
export function envelope(id: number | string, text: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    data: { id: String(id), text, author_id: "7", created_at: "2026-03-14T09:26:53.000Z", ...more },
    includes: { users: [{ id: "7", username: "wren", name: "Wren", verified: true }] },
  }
}
