/** A whole server on a directory of its own, for tests that talk to it from outside. */
import { createHmac } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { connect, type AddressInfo, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { loadConfig, type Posture } from "../config.ts"
import type { AppCredentials } from "../control/apps.ts"
import { startServer, type RunningServer } from "../main.ts"

/** An answer, its body as text and, where it is JSON, as a value. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
}

/** A request, by default GET with the app's own token; a token of null sends none. */
interface CallInit extends Omit<RequestInit, "headers"> {
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

/** The server, and two apps that know nothing of each other. */
export interface TestServer extends AsyncDisposable {
  readonly server: RunningServer
  readonly url: string
  readonly port: number
  readonly app: AppCredentials
  readonly other: AppCredentials
  /** A request over HTTP. */
  call(path: string, init?: CallInit): Promise<Answer>
  /** A request with a JSON body, which may be text that is none. */
  send(method: string, path: string, body: unknown, token?: string): Promise<Answer>
  /** Sends bytes over a socket and answers all that came back until the server closed it. */
  raw(bytes: string | Buffer, options?: { msMax?: number }): Promise<readonly RawAnswer[]>
  /** A socket for tests that send piece by piece. */
  connect(): Promise<Socket>
  /** Registers a webhook at an endpoint that passes every challenge of this app; its id. */
  webhookOf(app: AppCredentials): Promise<string>
}

/** Starts it. `flags` are settings by flag name. */
export async function startTestServer(
  flags: Readonly<Record<string, string>> = {},
  posture: Posture = "dev",
): Promise<TestServer> {
  const data = mkdtempSync(join(tmpdir(), "sluice-http-"))
  const server = await startServer(
    loadConfig({ posture, flags: { port: "0", data, "log-level": "silent", ...flags }, env: {} }),
  )
  const app = await server.apps.create("own")
  const other = await server.apps.create("other")
  const port = Number(new URL(server.url).port)
  const endpoint = await startEndpoint([app, other])

  const call: TestServer["call"] = async (path, { token = app.bearer_token, headers, ...init } = {}) => {
    const authorization: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(server.url + path, { ...init, headers: { ...authorization, ...headers } })
    const text = await response.text()
    const isJson = response.headers.get("content-type")?.includes("json") === true
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? parse(text) : undefined,
    }
  }

  const send: TestServer["send"] = (method, path, body, token = app.bearer_token) =>
    call(path, {
      method,
      token,
      headers: { "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
    })

  const open = async (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1")
    await new Promise((resolve, reject) => {
      socket.once("connect", resolve).once("error", reject)
    })
    return socket
  }

  return {
    server,
    url: server.url,
    port,
    app,
    other,
    call,
    send,
    connect: open,
    async raw(bytes, { msMax = 5_000 } = {}) {
      const socket = await open()
      const received = everything(socket, msMax)
      socket.write(bytes)
      return answersIn(await received)
    },
    async webhookOf({ application_id, bearer_token }) {
      const url = `${endpoint.url}/${application_id}/${crypto.randomUUID()}`
      const { status, body, text } = await send("POST", "/2/webhooks", { url }, bearer_token)
      if (status !== 200) throw new Error(`the webhook was refused: ${text}`)
      return (body as { data: { id: string } }).data.id
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      endpoint.close()
      rmSync(data, { recursive: true, force: true })
    },
  }
}

/** All that a socket receives until the server closes it. Rejects when it is still open after `msMax`. */
export function everything(socket: Socket, msMax: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on("data", (chunk: Buffer) => chunks.push(chunk))
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`The server kept the connection open for ${msMax} ms.`))
      socket.destroy()
    }, msMax)
    const done = (): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(Buffer.concat(chunks))
    }
    socket.once("close", done).on("error", done)
  })
}

/** Answers one after the other, each with a content length or chunked. */
export function answersIn(bytes: Buffer): readonly RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = bytes
  for (;;) {
    const headEnd = rest.indexOf("\r\n\r\n")
    if (headEnd < 0) return answers
    const [statusLine = "", ...lines] = rest.subarray(0, headEnd).toString("latin1").split("\r\n")
    const headers = new Map(
      lines.map((line) => [
        line.slice(0, line.indexOf(":")).toLowerCase(),
        line.slice(line.indexOf(":") + 2),
      ]),
    )
    const status = Number(statusLine.split(" ")[1])
    const bodyAt = headEnd + 4
    const length = status < 200 ? 0 : Number(headers.get("content-length") ?? rest.length - bodyAt)
    answers.push({ status, headers, text: rest.subarray(bodyAt, bodyAt + length).toString("utf8") })
    rest = rest.subarray(bodyAt + length)
  }
}

function parse(text: string): unknown {
  return text === "" ? undefined : JSON.parse(text.split("\n", 1)[0] ?? "")
}

/** A webhook endpoint; the first part of the path says whose consumer secret answers its challenges. */
async function startEndpoint(apps: readonly AppCredentials[]): Promise<{ url: string; close(): void }> {
  const endpoint = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://endpoint")
    const app = apps.find((one) => url.pathname.startsWith(`/${one.application_id}/`))
    const answer = createHmac("sha256", app?.consumer_secret ?? "").update(
      url.searchParams.get("crc_token") ?? "",
    )
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify({ response_token: `sha256=${answer.digest("base64")}` }))
  })
  await new Promise<void>((resolve) => {
    endpoint.listen(0, "127.0.0.1", resolve)
  })
  return {
    url: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`,
    close: () => {
      endpoint.close()
      endpoint.closeAllConnections()
    },
  }
}

/** The whole body of a problem that its status tells about, as every route renders it. */
export function problemBody(status: number, title: string, detail: string, type = "about:blank"): unknown {
  const error = { title, type, detail, status }
  return { ...error, message: detail, errors: [error] }
}

/** The whole body of a request with faults: X's message and parameters, and our detail where there is one. */
export function faultsBody(
  faults: readonly {
    message: string
    parameters?: Readonly<Record<string, readonly string[]>>
    detail?: string
  }[],
): unknown {
  const head = { title: "Invalid Request", type: "https://api.x.com/2/problems/invalid-request", status: 400 }
  const told = faults.map(({ message, detail }) => (detail === undefined ? message : `${message}: ${detail}`))
  const detail = ["One or more parameters to your request was invalid.", ...told.map(sentence)].join(" ")
  const errors = faults.map(({ message, parameters = {} }, index) => ({
    ...head,
    detail: sentence(told[index] ?? ""),
    message,
    parameters,
  }))
  return { ...head, detail, message: detail, errors }
}

function sentence(text: string): string {
  return /[.?!]$/.test(text) ? text : `${text}.`
}
