/**
 * One app or producer that does the worst it may: each attack goes on until it is stopped, and takes up at once
 * again what the server refuses or cuts. Everything here is within what a client with a token, or without one, can do.
 */
import { once } from "node:events"
import { request as httpRequest } from "node:http"
import { createServer, connect, type AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { gzipSync } from "node:zlib"
import { pathOf, paths } from "../packages/api/src/paths.ts"
import type { MeasuredApp } from "./app-client.ts"

/** An attack on a server. */
export interface Attack {
  /** What has to be there first. */
  readonly prepare?: (app: MeasuredApp) => Promise<void>
  readonly run: (app: MeasuredApp, signal: AbortSignal) => Promise<void>
}

const rulesPath = paths.rules
const postsPath = paths.ingest
const pagesPath = pathOf(paths.userPosts, { id: "7" })

/** Requests whose responses are never read, no token needed. */
const pipelining: Attack = {
  async run(app, signal) {
    const requests = (path: string, count: number): Buffer =>
      Buffer.from(`GET ${path} HTTP/1.1\r\nHost: attack\r\n\r\n`.repeat(count))
    const documents = requests(paths.openapi, 3_000)
    const metrics = requests(paths.metrics, 1_700)
    await Promise.all([
      ...repeated(50, signal, () => sendUnread(app, documents, signal)),
      ...repeated(5, signal, () => sendUnread(app, metrics, signal)),
    ])
  },
}

/** Posts as large as they may be, and everything that reads many of them. */
const largePosts: Attack = {
  async prepare(app) {
    const filler = "x".repeat(250_000)
    for (let from = 0; from < 5_000; from += 100) {
      await send(
        app,
        "POST",
        postsPath,
        gzipped(lines(100, (at) => post(from + at, "large", { filler, in_reply_to_user_id: "8" }))),
      )
    }
  },
  async run(app, signal) {
    const test = JSON.stringify({ value: "large", recent: 1_000 })
    const page = `${pagesPath}?max_results=100&exclude=replies`
    const whole = `${pagesPath}?max_results=100&tweet.fields=created_at`
    await Promise.all([
      ...repeated(6, signal, () => send(app, "POST", paths.ruleTest, test, signal)),
      ...repeated(40, signal, () => send(app, "GET", page, undefined, signal)),
      ...repeated(40, signal, () => send(app, "GET", whole, undefined, signal)),
    ])
  },
}

/** A rule of many phrases, tried on a thousand posts of the longest text. */
const ruleTestQueue: Attack = {
  async prepare(app) {
    const text = "lorem ipsum dolor sit amet ".repeat(925)
    await send(app, "POST", postsPath, gzipped(lines(1_000, (at) => post(at, text))))
  },
  async run(app, signal) {
    const phrases = Array.from({ length: 150 }, (_, at) => `"lorem x${at}"`).join(" OR ")
    const test = JSON.stringify({ value: phrases, recent: 1_000 })
    await Promise.all(repeated(4, signal, () => send(app, "POST", paths.ruleTest, test, signal)))
  },
}

/** As many rules as an app may have, with the longest tags, all of which match; and a stream that begins again and again. */
const matchingTags: Attack = {
  async prepare(app) {
    const tag = "\u{1f30a}".repeat(255)
    await addRules(app, 25_000, (at) => ({ value: `cat OR x${at}`, tag }))
  },
  async run(app, signal) {
    let next = 0
    const backfill = `${paths.stream}?backfill_minutes=5`
    await Promise.all([
      ...repeated(2, signal, () =>
        send(
          app,
          "POST",
          postsPath,
          lines(1, () => post(next++, "a cat")),
          signal,
        ),
      ),
      ...repeated(1, signal, () => readSome(app, backfill, 20_000_000, signal)),
    ])
  },
}

/** As many rules of words near each other as the server takes, and posts of nothing but these words. */
const proximityRules: Attack = {
  async prepare(app) {
    const pairs = commonWords.flatMap((a) => commonWords.map((b) => `"${a} ${b}"`))
    const values = [6, 5, 4, 3, 2, 1].flatMap((near) => pairs.map((pair) => `${pair}~${near}`))
    await addRules(app, 25_000, (at) => ({ value: values[at] ?? "" }))
  },
  async run(app, signal) {
    let next = 0
    const texts = [280, 25_000].map((length) => `${commonWords.join(" ")} `.repeat(200).slice(0, length))
    await Promise.all(
      repeated(2, signal, () =>
        send(
          app,
          "POST",
          postsPath,
          lines(1, () => post(next++, texts[next % 2] ?? "")),
          signal,
        ),
      ),
    )
  },
}

/** Lines that are refused, as many as fit into a body. */
const shortLines: Attack = {
  async run(app, signal) {
    const plain = Buffer.from("x\n".repeat(2_000_000))
    const bomb = gzipped(Buffer.from("x\n".repeat(100_000_000)))
    const blank = gzipped(Buffer.from("\n".repeat(200_000_000)))
    await Promise.all(
      [plain, bomb, blank].flatMap((body) => repeated(2, signal, () => send(app, "POST", postsPath, body, signal))),
    )
  },
}

/** The largest changes of rules, and many of them: added, tried and deleted. */
const ruleChanges: Attack = {
  async run(app, signal) {
    let next = 0
    const long = (): string =>
      JSON.stringify({
        add: Array.from({ length: 1_000 }, () => ({ value: `w${next++} `.repeat(200).slice(0, 1_000) })),
      })
    const many = JSON.stringify({ add: Array.from({ length: 30_000 }, (_, at) => ({ value: `many${at}` })) })
    const values = JSON.stringify({
      delete: { values: Array.from({ length: 1_000 }, (_, at) => `${at} ${"v".repeat(1_000)}`) },
    })
    await Promise.all([
      ...repeated(3, signal, () => send(app, "POST", `${rulesPath}?dry_run=true`, long(), signal)),
      ...repeated(1, signal, () => send(app, "POST", rulesPath, many, signal)),
      ...repeated(6, signal, () => send(app, "POST", rulesPath, values, signal)),
    ])
  },
}

/** A body of one line that never ends, a byte a chunk. */
const byteChunks: Attack = {
  async run(app, signal) {
    const chunks = Buffer.from("1\r\n{\r\n".repeat(1_500_000))
    await Promise.all(
      repeated(6, signal, async () => {
        const { hostname, port } = new URL(app.url)
        const socket = connect({ port: Number(port), host: hostname, signal })
        socket.on("error", () => undefined)
        socket.write(
          `POST ${postsPath} HTTP/1.1\r\nHost: attack\r\nAuthorization: Bearer ${app.token}\r\n` +
            "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        socket.write(chunks)
        await Promise.race([once(socket, "close"), sleep(5_000, undefined, { signal })]).catch(() => undefined)
        socket.destroy()
      }),
    )
  },
}

/** Webhooks at an endpoint that takes every challenge and never responds. */
const challenges: Attack = {
  async run(app, signal) {
    const silent = createServer((socket) => socket.on("error", () => undefined))
    await once(silent.listen(0, "127.0.0.1"), "listening")
    const { port } = silent.address() as AddressInfo
    let next = 0
    const register = async (): Promise<void> => {
      const body = JSON.stringify({ url: `http://127.0.0.1:${port}/${next++}` })
      const status = await send(app, "POST", paths.webhooks, body, signal)
      // As long as the response asks for. Without this it would be any flood of requests, and not one of challenges.
      if (status === 429) await sleep(1_000 + 1_000 * Math.random(), undefined, { signal })
    }
    await Promise.all(repeated(3_000, signal, register))
    silent.close()
  },
}

/** By the names of their figures. */
export const attacks: Readonly<Record<string, Attack>> = {
  pipelining,
  "large-posts": largePosts,
  "rule-tests": ruleTestQueue,
  "matching-tags": matchingTags,
  "proximity-rules": proximityRules,
  "short-lines": shortLines,
  "rule-changes": ruleChanges,
  "byte-chunks": byteChunks,
  challenges,
}

const commonWords =
  "the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what all were we when your can said there use an each which she do how their if will up other about out many then them these so some her would make like him into time has look two more write go see number no way could people my than first water been call who oil its now find".split(
    " ",
  )

/** Does it again and again, so many at a time, with a breath between two so that a refusal costs the attacker as well. */
function repeated(count: number, signal: AbortSignal, work: () => Promise<unknown>): readonly Promise<void>[] {
  return Array.from({ length: count }, async () => {
    while (!signal.aborted) {
      await work().catch(() => undefined)
      await sleep(10)
    }
  })
}

function lines(count: number, line: (at: number) => object): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, at) => `${JSON.stringify(line(at))}\n`).join(""))
}

function post(at: number, text: string, members: object = {}): object {
  return {
    data: {
      id: String(4_000_000_000_000_000_000n + BigInt(at)),
      text,
      author_id: "7",
      created_at: "2026-03-14T09:26:53.000Z",
      ...members,
    },
  }
}

/** A body that was compressed. */
class Gzipped {
  readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

function gzipped(bytes: Buffer): Gzipped {
  return new Gzipped(gzipSync(bytes))
}

/** Adds rules, a thousand at a time, until the server takes no more. */
async function addRules(
  app: MeasuredApp,
  count: number,
  rule: (at: number) => { readonly value: string; readonly tag?: string },
): Promise<void> {
  // A request has 1 MiB at most, and a tag of emoji a kilobyte.
  const atOnce = 500
  for (let from = 0; from < count; from += atOnce) {
    const add = Array.from({ length: atOnce }, (_, at) => rule(from + at))
    if ((await send(app, "POST", rulesPath, JSON.stringify({ add }))) !== 201) return
  }
}

/** Sends a request, reads its response; returns its status. */
async function send(
  app: MeasuredApp,
  method: string,
  path: string,
  body?: string | Buffer | Gzipped,
  signal?: AbortSignal,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = {
    authorization: `Bearer ${app.token}`,
    ...(body !== undefined && {
      "content-type": path === postsPath ? "application/x-ndjson" : "application/json",
    }),
    ...(body instanceof Gzipped && { "content-encoding": "gzip" }),
  }
  const request = httpRequest(app.url + path, { method, headers, agent: false, ...(signal && { signal }) })
  request.on("error", reject)
  request.on("response", (response) => {
    response.on("error", reject).on("end", () => resolve(response.statusCode ?? 0))
    response.resume()
  })
  request.end(body instanceof Gzipped ? body.bytes : body)
  return promise
}

/** Reads so many bytes of a response, and leaves. */
async function readSome(app: MeasuredApp, path: string, bytesMax: number, signal: AbortSignal): Promise<void> {
  const response = await fetch(app.url + path, { headers: { authorization: `Bearer ${app.token}` }, signal })
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length
    if (bytes > bytesMax) return
  }
}

/** Sends bytes on a connection of its own, and reads nothing of what comes back until the server has cut it. */
async function sendUnread(app: MeasuredApp, bytes: Buffer, signal: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(app.url)
  const socket = connect({ port: Number(port), host: hostname, signal })
  socket.on("error", () => undefined)
  socket.pause()
  socket.write(bytes)
  await Promise.race([once(socket, "close"), sleep(5_000, undefined, { signal })]).catch(() => undefined)
  socket.destroy()
}
