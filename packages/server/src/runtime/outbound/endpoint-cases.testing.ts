/**
 * Endpoints of every kind, for tests: what one may send back to a challenge and to a delivery, and what either is
 * to make of it. They speak over bare TCP, so that they can be wrong at every level.
 */
import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import { gzipSync } from "node:zlib"
import { signature } from "../signatures.ts"
import type { AttemptOutcome } from "@sluice/api"

/** The consumer secret of the app whose endpoint this is. */
export const endpointSecret = "the app's consumer secret"

/**
 * The deadline of a request to an endpoint. Those that are too slow stay so forever, and are waited for but shortly; of
 * all others, none may be taken for one of them, however slow the machine.
 */
export function endpointDeadlineMs({ delivery }: Pick<EndpointCase, "delivery">): number {
  return delivery === "timeout" ? 300 : 10_000
}

/** A response of an endpoint, and the outcomes of a challenge and of a delivery that receive it. */
export interface EndpointCase {
  readonly name: string
  /** `right` is the body that passes this challenge; for a delivery the same for an empty token. */
  readonly respond: (socket: Socket, right: string) => void
  readonly challenge: "valid" | "invalid" | "unreachable"
  readonly delivery: AttemptOutcome
}

/** A server on 127.0.0.1 that hands each request's socket over, once the request is in. */
export async function listening(respond: EndpointCase["respond"]): Promise<Server & { readonly port: number }> {
  const server = createServer((socket) => {
    let received = ""
    socket.on("error", () => undefined)
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1")
      if (!isWhole(received)) return
      const token = /[?&]crc_token=([A-Za-z0-9_-]+)/.exec(received)?.[1] ?? ""
      received = ""
      respond(socket, JSON.stringify({ response_token: signature(endpointSecret, token) }))
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return Object.assign(server, { port: portOf(server) })
}

/** The port that a server listens on. */
export function portOf(server: Server): number {
  const address = server.address()
  assert(typeof address === "object" && address !== null)
  return address.port
}

/** True when a request is in, its body included. */
function isWhole(received: string): boolean {
  const headEnd = received.indexOf("\r\n\r\n")
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(received)?.[1] ?? 0)
  return headEnd !== -1 && received.length >= headEnd + 4 + length
}

function head(status: number | string, headers: readonly string[] = []): string {
  return [`HTTP/1.1 ${status} Status`, ...headers, "", ""].join("\r\n")
}

/** A response in one piece, of a length that is declared. */
function responseOf(status: number, body: string | Buffer, headers: readonly string[] = []): Buffer {
  const bytes = Buffer.from(body)
  const all = ["content-type: application/json", `content-length: ${bytes.length}`, ...headers]
  return Buffer.concat([Buffer.from(head(status, all), "latin1"), bytes])
}

/** Sends a response made from the right body. */
function sends(make: (right: string) => string | Buffer): EndpointCase["respond"] {
  return (socket, right) => void socket.write(make(right))
}

/** Sends a response and closes. */
function sendsAndCloses(make: (right: string) => string | Buffer): EndpointCase["respond"] {
  return (socket, right) => void socket.end(make(right))
}

/** Sends some of a response and resets the connection. */
function sendsAndResets(text: string): EndpointCase["respond"] {
  return (socket) => {
    if (text === "") socket.resetAndDestroy()
    else socket.write(text, () => setTimeout(() => socket.resetAndDestroy(), 20))
  }
}

/** Sends piece by piece until the other side has had enough. */
function keepsSending(first: string, next: string | Buffer, everyMs: number): EndpointCase["respond"] {
  return (socket) => {
    socket.write(first)
    const timer = setInterval(() => socket.write(next), everyMs)
    socket.on("close", () => clearInterval(timer))
  }
}

/** A 200 whose `response_token` is made from the right one. */
function withToken(change: (token: string) => unknown): EndpointCase["respond"] {
  return sends((right) => {
    const token = right.slice('{"response_token":"'.length, -'"}'.length)
    return responseOf(200, JSON.stringify({ response_token: change(token) }))
  })
}

const chunked = (...chunks: readonly string[]): string =>
  head(200, ["transfer-encoding: chunked"]) +
  chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")

const bomb = gzipSync(Buffer.alloc(20_000_000, " "), { level: 9 })

const valid = { challenge: "valid", delivery: "delivered" } as const
const wrongBody = { challenge: "invalid", delivery: "delivered" } as const
const redirect = { challenge: "invalid", delivery: "redirect" } as const
const rejected = { challenge: "unreachable", delivery: "rejected" } as const
const gone = { challenge: "unreachable", delivery: "gone" } as const
const failed = { challenge: "unreachable", delivery: "server_error" } as const
const tooLarge = { challenge: "invalid", delivery: "too_large" } as const
const broken = { challenge: "unreachable", delivery: "invalid_response" } as const
const slow = { challenge: "unreachable", delivery: "timeout" } as const
const closed = { challenge: "unreachable", delivery: "connect" } as const

const statusCases = (statuses: readonly number[], expected: Pick<EndpointCase, "challenge" | "delivery">) =>
  statuses.map((status): EndpointCase => {
    const headers = status < 400 ? ["location: http://127.0.0.1:1/elsewhere"] : ["retry-after: -1"]
    return {
      name: `status ${status}`,
      respond: sends((right) => responseOf(status, right, headers)),
      ...expected,
    }
  })

/** The endpoints. */
export const endpointCases: readonly EndpointCase[] = [
  // Right responses, in every way that HTTP knows.
  { name: "the right response", respond: sends((right) => responseOf(200, right)), ...valid },
  { name: "status 201", respond: sends((right) => responseOf(201, right)), ...valid },
  { name: "in chunks", respond: sends((right) => chunked(right.slice(0, 9), right.slice(9), "")), ...valid },
  { name: "until the connection closes", respond: sendsAndCloses((right) => head(200) + right), ...valid },
  {
    name: "HTTP/1.0",
    respond: sendsAndCloses((right) => `HTTP/1.0 200 OK\r\n\r\n${right}`),
    ...valid,
  },
  {
    name: "after an interim 103",
    respond: sends((right) => head(103) + String(responseOf(200, right))),
    ...valid,
  },
  {
    name: "of another content type",
    respond: sends((right) => `${head(200, ["content-type: text/html", `content-length: ${right.length}`])}${right}`),
    ...valid,
  },
  {
    name: "with members besides",
    respond: sends((right) => responseOf(200, right.replace("{", '{"a":[1,{}],'))),
    ...valid,
  },
  {
    name: "with the member twice, the right one last",
    respond: sends((right) => responseOf(200, right.replace("{", '{"response_token":1,'))),
    ...valid,
  },
  {
    name: "with more bytes than its length says",
    respond: sends((right) => Buffer.concat([responseOf(200, right), Buffer.from("more")])),
    ...valid,
  },
  // 2xx with a wrong body.
  { name: "no body", respond: sends(() => responseOf(200, "")), ...wrongBody },
  { name: "204", respond: sends(() => head(204)), ...wrongBody },
  { name: "204 with a body", respond: sends((right) => responseOf(204, right)), ...wrongBody },
  { name: "205 with a body", respond: sends(() => responseOf(205, "reset")), ...wrongBody },
  { name: "not JSON", respond: sends(() => responseOf(200, "ok")), ...wrongBody },
  { name: "HTML", respond: sends(() => responseOf(200, "<!doctype html><title>Hi</title>")), ...wrongBody },
  { name: "JSON and then something", respond: sends((right) => responseOf(200, `${right};`)), ...wrongBody },
  {
    name: "JSON after a byte order mark",
    respond: sends((right) => responseOf(200, `\ufeff${right}`)),
    ...wrongBody,
  },
  { name: "UTF-16", respond: sends((right) => responseOf(200, Buffer.from(right, "utf16le"))), ...wrongBody },
  { name: "bytes that are no text", respond: sends(() => responseOf(200, Buffer.alloc(99, 0xff))), ...wrongBody },
  { name: "JSON null", respond: sends(() => responseOf(200, "null")), ...wrongBody },
  { name: "a JSON string", respond: sends(() => responseOf(200, '"sha256=x"')), ...wrongBody },
  { name: "a JSON array", respond: sends((right) => responseOf(200, `[${right}]`)), ...wrongBody },
  { name: "JSON of depth 30,000", respond: sends(() => responseOf(200, "[".repeat(30_000))), ...wrongBody },
  { name: "no response_token", respond: sends(() => responseOf(200, "{}")), ...wrongBody },
  {
    name: "response_token in the prototype",
    respond: sends((right) => responseOf(200, `{"__proto__":${right}}`)),
    ...wrongBody,
  },
  { name: "response_token null", respond: withToken(() => null), ...wrongBody },
  { name: "response_token a number", respond: withToken(() => 1), ...wrongBody },
  { name: "response_token true", respond: withToken(() => true), ...wrongBody },
  { name: "response_token an array", respond: withToken((token) => [token]), ...wrongBody },
  { name: "response_token an object", respond: withToken((token) => ({ token })), ...wrongBody },
  { name: "response_token empty", respond: withToken(() => ""), ...wrongBody },
  { name: "response_token without sha256=", respond: withToken((token) => token.slice(7)), ...wrongBody },
  {
    name: "response_token with SHA256=",
    respond: withToken((token) => `SHA256=${token.slice(7)}`),
    ...wrongBody,
  },
  { name: "response_token with a space", respond: withToken((token) => `${token} `), ...wrongBody },
  { name: "response_token cut short", respond: withToken((token) => token.slice(0, -1)), ...wrongBody },
  {
    name: "response_token of 60,000 characters",
    respond: withToken((token) => token.repeat(1_000)),
    ...wrongBody,
  },
  {
    name: "response_token in hexadecimal",
    respond: withToken((token) => `sha256=${Buffer.from(token.slice(7), "base64").toString("hex")}`),
    ...wrongBody,
  },
  {
    name: "response_token in base64url",
    respond: withToken((token) => `sha256=${Buffer.from(token.slice(7), "base64").toString("base64url")}`),
    ...wrongBody,
  },
  {
    name: "response_token of another challenge",
    respond: withToken(() => signature(endpointSecret, "another-token")),
    ...wrongBody,
  },
  {
    name: "response_token under another secret",
    respond: withToken((token) => signature("another secret", token)),
    ...wrongBody,
  },
  {
    name: "a right response, compressed",
    respond: sends((right) => responseOf(200, gzipSync(right), ["content-encoding: gzip"])),
    ...wrongBody,
  },
  {
    name: "a compression bomb",
    respond: sends(() => responseOf(200, bomb, ["content-encoding: gzip"])),
    ...wrongBody,
  },
  // More than is read.
  {
    name: "a right response of 10 MB",
    respond: sends((right) => responseOf(200, right.replace("{", `{"a":"${"x".repeat(10_000_000)}",`))),
    ...tooLarge,
  },
  {
    name: "a right response of 64 KiB and a byte",
    respond: sends((right) => responseOf(200, right + " ".repeat(65_537 - right.length))),
    ...tooLarge,
  },
  {
    name: "a right response of 64 KiB",
    respond: sends((right) => responseOf(200, right + " ".repeat(65_536 - right.length))),
    ...valid,
  },
  {
    name: "an endless body",
    respond: keepsSending(head(200, ["transfer-encoding: chunked"]), `8000\r\n${"x".repeat(0x8000)}\r\n`, 1),
    ...tooLarge,
  },
  {
    name: "an endless body, compressed",
    respond: keepsSending(head(200, ["content-encoding: gzip"]), bomb, 1),
    ...tooLarge,
  },
  {
    name: "an endless body of status 503",
    respond: keepsSending(head(503, ["retry-after: 9"]), "x".repeat(0x8000), 1),
    ...tooLarge,
  },
  {
    name: "an endless body of status 410",
    respond: keepsSending(head(410), "x".repeat(0x8000), 1),
    ...tooLarge,
  },
  {
    name: "a chunk's extension without end",
    respond: keepsSending(head(200, ["transfer-encoding: chunked"]) + "1;a=", "x".repeat(0x10000), 1),
    ...tooLarge,
  },
  {
    name: "chunks of one byte with long extensions",
    respond: keepsSending(head(200, ["transfer-encoding: chunked"]), `1;a=${"b".repeat(0x8000)}\r\nx\r\n`.repeat(2), 1),
    ...tooLarge,
  },
  {
    name: "trailers without end",
    respond: keepsSending(`${head(200, ["transfer-encoding: chunked"])}0\r\n`, "a: b\r\n".repeat(9_999), 1),
    ...broken,
  },
  // Statuses.
  ...statusCases([300, 301, 302, 303, 304, 307, 308, 399], redirect),
  ...statusCases([400, 401, 403, 404, 405, 408, 413, 418, 429, 499], rejected),
  ...statusCases([410], gone),
  ...statusCases([500, 501, 502, 503, 504, 599, 999], failed),
  // Responses that are not HTTP.
  { name: "interim responses without end", respond: sends(() => head(103).repeat(5_000)), ...broken },
  ...["000", "001", "099", "100", "101"].flatMap((status): readonly EndpointCase[] => [
    { name: `status ${status}`, respond: sends((right) => head(status) + right), ...broken },
    {
      name: `status ${status} before the right response`,
      respond: sends((right) => head(status) + String(responseOf(200, right))),
      ...broken,
    },
  ]),
  {
    name: "101 Switching Protocols",
    respond: sends(() => head(101, ["upgrade: x", "connection: upgrade"])),
    ...broken,
  },
  {
    name: "one header of 10 MB",
    respond: sends(() => head(200, [`a: ${"x".repeat(10_000_000)}`])),
    ...broken,
  },
  {
    name: "100,000 headers",
    respond: sends(() =>
      head(
        200,
        Array.from({ length: 100_000 }, (_, index) => `a${index}: b`),
      ),
    ),
    ...broken,
  },
  { name: "another protocol", respond: sends(() => "SSH-2.0-OpenSSH_9.9\r\n"), ...broken },
  { name: "HTTP/2 in plain text", respond: sends(() => "HTTP/2 200 OK\r\n\r\n"), ...broken },
  { name: "a status of four digits", respond: sends(() => head("2000")), ...broken },
  { name: "a status that is no number", respond: sends(() => head("OK")), ...broken },
  { name: "a NUL in a header", respond: sends(() => head(200, ["a: \0"])), ...broken },
  { name: "a header without a colon", respond: sends(() => head(200, ["header"])), ...broken },
  {
    name: "two different lengths",
    respond: sends(() => `${head(200, ["content-length: 1", "content-length: 2"])}{}`),
    ...broken,
  },
  { name: "a negative length", respond: sends(() => `${head(200, ["content-length: -1"])}{}`), ...broken },
  {
    name: "a length beyond all numbers",
    respond: sends(() => `${head(200, [`content-length: ${"9".repeat(30)}`])}{}`),
    ...broken,
  },
  {
    name: "a length and chunks",
    respond: sends(() => `${head(200, ["content-length: 2", "transfer-encoding: chunked"])}0\r\n\r\n`),
    ...broken,
  },
  {
    name: "a chunk whose size is no number",
    respond: sends(() => `${head(200, ["transfer-encoding: chunked"])}zz\r\n{}\r\n0\r\n\r\n`),
    ...broken,
  },
  {
    name: "a chunk that is longer than it says",
    respond: sends(() => `${head(200, ["transfer-encoding: chunked"])}1\r\n{}\r\n0\r\n\r\n`),
    ...broken,
  },
  { name: "chunks without an end", respond: sendsAndCloses((right) => chunked(right)), ...broken },
  {
    name: "a body shorter than its length",
    respond: sendsAndCloses((right) => head(200, [`content-length: ${right.length + 1}`]) + right),
    ...broken,
  },
  {
    name: "a reset within the body",
    respond: sendsAndResets(`${head(200, ["content-length: 9"])}{`),
    ...broken,
  },
  // Too slow.
  { name: "no response", respond: () => undefined, ...slow },
  { name: "slow headers", respond: keepsSending("HTTP/1.1 200 OK\r\n", "a: b\r\n", 20), ...slow },
  { name: "a slow status line", respond: keepsSending("HTTP/1.1 ", "2", 10_000), ...slow },
  { name: "a head and no body", respond: sends(() => head(200, ["content-length: 2"])), ...slow },
  {
    name: "a byte now and then",
    respond: keepsSending(head(200, ["content-length: 9999"]), "x", 20),
    ...slow,
  },
  {
    name: "chunks now and then",
    respond: keepsSending(head(200, ["transfer-encoding: chunked"]), "1\r\nx\r\n", 20),
    ...slow,
  },
  // Closed.
  { name: "a reset", respond: sendsAndResets(""), ...closed },
  { name: "a reset within the head", respond: sendsAndResets("HTTP/1.1 200 OK\r\n"), ...closed },
  { name: "a close", respond: (socket) => void socket.destroy(), ...closed },
  { name: "a half close", respond: (socket) => void socket.end(), ...closed },
  { name: "a close within the head", respond: sendsAndCloses(() => "HTTP/1.1 200 OK\r\na: b"), ...closed },
]
