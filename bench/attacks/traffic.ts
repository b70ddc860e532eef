/** The type of an attack, and the traffic that attacks consist of. */
import { once } from "node:events"
import { Agent, request as httpRequest } from "node:http"
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { gzipSync } from "node:zlib"
import { paths } from "../../packages/api/src/paths.ts"
import type { MeasuredApp } from "../app-client.ts"

/** One app or producer that does the worst that a client may do with a token, or without one. */
export interface Attack {
  /** Settings of the server that is attacked, by their environment variables. */
  readonly settings?: Readonly<Record<string, string>>
  /** Creates what the attack needs. */
  readonly prepare?: (app: MeasuredApp) => Promise<void>
  /** Continues until the signal is aborted, and repeats at once every request that the server refuses or cuts. */
  readonly run: (app: MeasuredApp, signal: AbortSignal) => Promise<void>
}

/** Repeats the work in this many loops, with a pause after each turn so that a refusal costs the attacker as well. */
export function repeated(count: number, signal: AbortSignal, work: () => Promise<unknown>): readonly Promise<void>[] {
  return Array.from({ length: count }, async () => {
    while (!signal.aborted) {
      await work().catch(() => undefined)
      await sleep(10)
    }
  })
}

/** Lines of NDJSON. */
export function lines(count: number, line: (at: number) => object): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, at) => `${JSON.stringify(line(at))}\n`).join(""))
}

/** A post with a text and additional members. */
export function post(at: number, text: string, members: object = {}): object {
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

/** A compressed body. */
export class Gzipped {
  readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

/** The body, compressed. */
export function gzipped(bytes: Buffer): Gzipped {
  return new Gzipped(gzipSync(bytes))
}

/** Adds rules until the server accepts no more, as many per request as the body may hold. */
export async function addRules(
  app: MeasuredApp,
  count: number,
  rule: (at: number) => { readonly value: string; readonly tag?: string },
): Promise<void> {
  let add: object[] = []
  let bytes = 0
  const flush = async (): Promise<boolean> => {
    const status = await send(app, "POST", paths.rules, JSON.stringify({ add }))
    add = []
    bytes = 0
    return status === 201
  }
  for (let at = 0; at < count; at += 1) {
    const one = rule(at)
    add.push(one)
    bytes += Buffer.byteLength(JSON.stringify(one)) + 1
    if ((add.length === rulesAtOnce || bytes >= rulesBytesMax) && !(await flush())) return
  }
  if (add.length > 0) await flush()
}

/** Rules of a request, and their bytes: a body has 1 MiB at most. */
const rulesAtOnce = 500
const rulesBytesMax = 1_000_000

/** Connections of the attacker, which stay open. */
const agent = new Agent({ keepAlive: true })

/** Sends a request, reads its response and returns the status. `ownHeaders` replace the default headers. */
export async function send(
  app: MeasuredApp,
  method: string,
  path: string,
  body?: string | Buffer | Gzipped,
  signal?: AbortSignal,
  ownHeaders: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = {
    authorization: `Bearer ${app.token}`,
    ...(body !== undefined && {
      "content-type": path === paths.posts ? "application/x-ndjson" : "application/json",
    }),
    ...(body instanceof Gzipped && { "content-encoding": "gzip" }),
    ...ownHeaders,
  }
  const request = httpRequest(app.url + path, { method, headers, agent, ...(signal && { signal }) })
  request.on("error", reject)
  request.on("response", (response) => {
    response.on("error", reject).on("end", () => resolve(response.statusCode ?? 0))
    response.resume()
  })
  request.end(body instanceof Gzipped ? body.bytes : body)
  return promise
}

/** Reads this many bytes of a response, then closes the connection. */
export async function readSome(app: MeasuredApp, path: string, bytesMax: number, signal: AbortSignal): Promise<void> {
  const response = await fetch(app.url + path, { headers: { authorization: `Bearer ${app.token}` }, signal })
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length
    if (bytes > bytesMax) return
  }
}

/** Sends bytes on a new connection and reads nothing until the server has cut it. */
export async function sendUnread(app: MeasuredApp, bytes: Buffer, signal: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(app.url)
  const socket = connect({ port: Number(port), host: hostname, signal })
  socket.on("error", () => undefined)
  socket.pause()
  socket.write(bytes)
  await Promise.race([once(socket, "close"), sleep(5_000, undefined, { signal })]).catch(() => undefined)
  socket.destroy()
}

/** The body of a response. */
export async function getJson<Body>(app: MeasuredApp, path: string): Promise<Body> {
  const response = await fetch(app.url + path, { headers: { authorization: `Bearer ${app.token}` } })
  return (await response.json()) as Body
}
