import { paths } from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../../../test/support/test-server.testing.ts"
import { rawResponses } from "../../../../../test/support/raw-http.testing.ts"
import { faultsBody, problemBody } from "../problem-bodies.testing.ts"

let at: TestServer
let as = ""
beforeAll(async () => {
  at = await startTestServer({ "request-seconds-max": "2" })
  as = `Authorization: Bearer ${at.app.bearer_token}\r\n`
})
afterAll(async () => {
  expect((await at.call(paths.links)).status).toBe(200)
  expect((await at.call(paths.rules)).body).toMatchObject({ meta: { result_count: 0 } })
  await at[Symbol.asyncDispose]()
})

/** `H`: host, token and close. `K`: host and token. `J`: a JSON body. */
function filledIn(request: string): Buffer {
  return Buffer.from(
    request
      .replaceAll("{H}", `Host: x\r\n${as}Connection: close\r\n`)
      .replaceAll("{K}", `Host: x\r\n${as}`)
      .replaceAll("{J}", "Content-Type: application/json\r\n"),
    "latin1",
  )
}

const invalid = (reason: string): unknown =>
  problemBody(400, "Bad Request", `The request is not valid HTTP/1.1 (${reason}).`)
const nothingAt = (path: string): unknown =>
  problemBody(404, "Not Found", `There is nothing at [${path}]. GET /openapi.json describes what there is.`)
const notTaken = (method: string, methods: string): unknown =>
  problemBody(405, "Method Not Allowed", `This path does not take ${method}. It takes ${methods}.`)
const oneHost = problemBody(400, "Bad Request", "A request names its host exactly once, in the header `Host`.")
const versions = problemBody(400, "Bad Request", "This server speaks HTTP/1.1 and HTTP/1.0.")
const codings = problemBody(400, "Bad Request", "The only transfer coding that this server reads is chunked.")
const headTooLarge = problemBody(
  431,
  "Request Header Fields Too Large",
  "The head of the request is larger than 16384 bytes or has more than 256 headers.",
)
const bodyTooLarge = problemBody(413, "Payload Too Large", "The body is larger than 1048576 bytes.")
const jsonOnly = problemBody(
  415,
  "Unsupported Media Type",
  "This route takes a body of the content type application/json, and of no other.",
)
const addOrDelete = faultsBody([
  {
    message: "JSON doesn't match expected schema",
    parameters: { add: [], delete: [] },
    detail: "Send `add` or `delete`, or the parameter delete_all=true.",
  },
])
const badEscape = faultsBody([{ message: "The path is not valid: its percent-encoding is broken" }])
const notAnId = (id: string): unknown =>
  faultsBody([
    {
      message: `The \`id\` query parameter value [${id}] does not match ^[0-9]{1,19}$`,
      parameters: { id: [id] },
      detail: "An id is 1 to 19 decimal digits, up to 9223372036854775807.",
    },
  ])
const noLinks = { data: { links: [] } }
const noWebhooks = { data: [], meta: { result_count: 0 } }

type Expected = readonly [status: number, body: unknown]
const L = paths.links
const R = paths.rules

/** The bytes to send, and each response that comes back. */
const cases: readonly (readonly [name: string, request: string, ...expected: Expected[]])[] = [
  ["a plain request", `GET ${L} HTTP/1.1\r\n{H}\r\n`, [200, noLinks]],
  [
    "Content-Length with Transfer-Encoding",
    `POST ${R} HTTP/1.1\r\n{H}{J}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    [400, invalid("Transfer-Encoding can't be present with Content-Length")],
  ],
  [
    "Transfer-Encoding with Content-Length",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
    [400, invalid("Content-Length can't be present with Transfer-Encoding")],
  ],
  [
    "two lengths",
    `POST ${R} HTTP/1.1\r\n{H}{J}Content-Length: 5\r\nContent-Length: 6\r\n\r\n123456`,
    [400, invalid("Duplicate Content-Length")],
  ],
  [
    "the same length twice",
    `POST ${R} HTTP/1.1\r\n{H}{J}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
    [400, invalid("Duplicate Content-Length")],
  ],
  [
    "a list of lengths",
    `POST ${R} HTTP/1.1\r\n{H}{J}Content-Length: 2, 2\r\n\r\n{}`,
    [400, invalid("Invalid character in Content-Length")],
  ],
  [
    "a negative length",
    `POST ${R} HTTP/1.1\r\n{H}{J}Content-Length: -1\r\n\r\n`,
    [400, invalid("Invalid character in Content-Length")],
  ],
  [
    "a length with a plus",
    `POST ${R} HTTP/1.1\r\n{H}{J}Content-Length: +2\r\n\r\n{}`,
    [400, invalid("Invalid character in Content-Length")],
  ],
  [
    "a hexadecimal length",
    `POST ${R} HTTP/1.1\r\n{H}{J}Content-Length: 0x2\r\n\r\n{}`,
    [400, invalid("Invalid character in Content-Length")],
  ],
  [
    "a length beyond all numbers",
    `POST ${R} HTTP/1.1\r\n{H}{J}Content-Length: 99999999999999999999999\r\n\r\n{}`,
    [400, invalid("Content-Length overflow")],
  ],
  ["an empty length", `POST ${R} HTTP/1.1\r\n{H}{J}Content-Length: \r\n\r\n`, [400, invalid("Empty Content-Length")]],
  ["a length over the limit", `POST ${R} HTTP/1.1\r\n{H}{J}Content-Length: 1048577\r\n\r\n`, [413, bodyTooLarge]],
  ["the coding identity", `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: identity\r\n\r\n`, [400, codings]],
  ["an unknown coding", `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, [400, codings]],
  [
    "chunked before another coding",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
    [400, invalid("Invalid `Transfer-Encoding` header value")],
  ],
  [
    "chunked after another coding",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    [400, codings],
  ],
  [
    "the coding twice",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    [400, invalid("Invalid `Transfer-Encoding` header value")],
  ],
  [
    "a space before the colon",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
    [400, invalid("Invalid header field char")],
  ],
  [
    "a tab after the colon, which is fine",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding:\tchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    [400, addOrDelete],
  ],
  [
    "a folded header",
    `GET ${L} HTTP/1.1\r\nX-Fold: a\r\n b\r\n{H}\r\n`,
    [400, invalid("Unexpected whitespace after header value")],
  ],
  [
    "a folded first header",
    `GET ${L} HTTP/1.1\r\n X-Fold: a\r\n{H}\r\n`,
    [400, invalid("Unexpected space after start line")],
  ],
  ["bare line feeds", `GET ${L} HTTP/1.1\nHost: x\n\n`, [400, invalid("Expected CRLF after version")]],
  [
    "a bare line feed in the head",
    `GET ${L} HTTP/1.1\r\nX-A: b\nX-C: d\r\n{H}\r\n`,
    [400, invalid("Missing expected CR after header value")],
  ],
  [
    "a bare carriage return in the head",
    `GET ${L} HTTP/1.1\r\nX-A: b\rX-C: d\r\n{H}\r\n`,
    [400, invalid("Missing expected LF after header value")],
  ],
  ["NUL in a header", `GET ${L} HTTP/1.1\r\nX-A: b\0c\r\n{H}\r\n`, [400, invalid("Invalid header value char")]],
  ["a header without a colon", `GET ${L} HTTP/1.1\r\nfoo\r\n{H}\r\n`, [400, invalid("Invalid header token")]],
  ["a header without a name", `GET ${L} HTTP/1.1\r\n: foo\r\n{H}\r\n`, [400, invalid("Invalid header token")]],
  [
    "a parenthesis in a header's name",
    `GET ${L} HTTP/1.1\r\nfo(o: a\r\n{H}\r\n`,
    [400, invalid("Invalid header token")],
  ],
  ["a space in a header's name", `GET ${L} HTTP/1.1\r\nfo o: a\r\n{H}\r\n`, [400, invalid("Invalid header token")]],
  ["the absolute form", `GET http://x${L} HTTP/1.1\r\n{H}\r\n`, [200, noLinks]],
  ["the absolute form in capitals, with a port and user", `GET HTTPS://u@x:1${L} HTTP/1.1\r\n{H}\r\n`, [200, noLinks]],
  ["the absolute form without a path", `PUT http://x HTTP/1.1\r\n{H}\r\n`, [405, notTaken("PUT", "GET, HEAD")]],
  ["the absolute form with only a query", `PUT http://x?a=b HTTP/1.1\r\n{H}\r\n`, [405, notTaken("PUT", "GET, HEAD")]],
  ["the absolute form of another scheme", `GET ftp://x${L} HTTP/1.1\r\n{H}\r\n`, [404, nothingAt(`ftp://x${L}`)]],
  ["the asterisk form", "OPTIONS * HTTP/1.1\r\n{H}\r\n", [404, nothingAt("*")]],
  ["the authority form", "CONNECT x:80 HTTP/1.1\r\n{H}\r\n", [405, notTaken("CONNECT", "GET")]],
  ["no target", "GET  HTTP/1.1\r\n{H}\r\n", [400, invalid("Unexpected char in url schema")]],
  ["%00 in an id", "GET /2/users/%00/tweets HTTP/1.1\r\n{H}\r\n", [400, notAnId("\0")]],
  ["%00 in a path", "GET /2/tweets%00/search HTTP/1.1\r\n{H}\r\n", [404, nothingAt("/2/tweets%00/search")]],
  ["%zz", "GET /2/users/%zz/tweets HTTP/1.1\r\n{H}\r\n", [400, badEscape]],
  ["% alone", "GET /2/users/%/tweets HTTP/1.1\r\n{H}\r\n", [400, badEscape]],
  ["an overlong dot", "GET /2/users/%c0%ae/tweets HTTP/1.1\r\n{H}\r\n", [400, badEscape]],
  ["encoded dots for an id", "GET /2/users/%2e%2e/tweets HTTP/1.1\r\n{H}\r\n", [400, notAnId("..")]],
  ["dots in a path", "GET /2/../2/webhooks HTTP/1.1\r\n{H}\r\n", [404, nothingAt("/2/../2/webhooks")]],
  ["two slashes", "GET //2/webhooks HTTP/1.1\r\n{H}\r\n", [404, nothingAt("//2/webhooks")]],
  ["a slash at the end", "GET /2/webhooks/ HTTP/1.1\r\n{H}\r\n", [404, nothingAt("/2/webhooks/")]],
  ["capitals in a path", "GET /2/Webhooks HTTP/1.1\r\n{H}\r\n", [404, nothingAt("/2/Webhooks")]],
  ["an encoded slash", "GET /2%2Fwebhooks HTTP/1.1\r\n{H}\r\n", [404, nothingAt("/2%2Fwebhooks")]],
  ["a semicolon", "GET /2/webhooks;x=1 HTTP/1.1\r\n{H}\r\n", [404, nothingAt("/2/webhooks;x=1")]],
  ["backslashes", "GET \\2\\webhooks HTTP/1.1\r\n{H}\r\n", [400, invalid("Unexpected start char in url")]],
  [
    "bytes that are not ASCII",
    "GET /2/users/\u00e9/tweets HTTP/1.1\r\n{H}\r\n",
    [400, invalid("Invalid char in url path")],
  ],
  ["a space in a path", "GET /2/web hooks HTTP/1.1\r\n{H}\r\n", [400, invalid("Expected HTTP/, RTSP/ or ICE/")]],
  ["a tab in a path", "GET /2/web\thooks HTTP/1.1\r\n{H}\r\n", [400, invalid("Invalid characters in url")]],
  ["empty lines before it, which are fine", `\r\n\r\nGET ${L} HTTP/1.1\r\n{H}\r\n`, [200, noLinks]],
  ["HTTP/0.9", `GET ${L}\r\n\r\n`, [400, versions]],
  ["HTTP/1.0 without a host", `GET ${L} HTTP/1.0\r\n{A}\r\n`, [200, noLinks]],
  ["HTTP/1.2", `GET ${L} HTTP/1.2\r\n{H}\r\n`, [400, invalid("Invalid HTTP version")]],
  ["HTTP/2.0 in plain text", `GET ${L} HTTP/2.0\r\n{H}\r\n`, [400, versions]],
  ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, invalid("Pause on PRI/Upgrade")]],
  ["a method in lower case", `get ${L} HTTP/1.1\r\n{H}\r\n`, [400, invalid("Invalid method encountered")]],
  ["an unknown method", `FROB ${L} HTTP/1.1\r\n{H}\r\n`, [400, invalid("Invalid method encountered")]],
  ["PROPFIND", `PROPFIND ${L} HTTP/1.1\r\n{H}\r\n`, [405, notTaken("PROPFIND", "GET, HEAD")]],
  ["TRACE", `TRACE ${L} HTTP/1.1\r\n{H}\r\n`, [405, notTaken("TRACE", "GET, HEAD")]],
  ["QUERY", `QUERY ${L} HTTP/1.1\r\n{H}\r\n`, [405, notTaken("QUERY", "GET, HEAD")]],
  ["PATCH on an id", "PATCH /2/webhooks/1 HTTP/1.1\r\n{H}\r\n", [405, notTaken("PATCH", "DELETE, PUT")]],
  [
    "POST with a method override",
    `POST ${L} HTTP/1.1\r\n{H}X-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n\r\n`,
    [405, notTaken("POST", "GET, HEAD")],
  ],
  ["an unknown method of an unknown path", "PURGE /x HTTP/1.1\r\n{H}\r\n", [404, nothingAt("/x")]],
  ["no host", `GET ${L} HTTP/1.1\r\nConnection: close\r\n\r\n`, [400, oneHost]],
  ["two hosts", `GET ${L} HTTP/1.1\r\nHost: y\r\n{H}\r\n`, [400, oneHost]],
  ["a header of 16 KiB", `GET ${L} HTTP/1.1\r\n{H}X-A: ${"a".repeat(16_384)}\r\n\r\n`, [431, headTooLarge]],
  ["a target of 16 KiB", `GET ${L}?${"a".repeat(16_384)} HTTP/1.1\r\n{H}\r\n`, [431, headTooLarge]],
  [
    "an id of 15,000 digits",
    `GET /2/users/${"1".repeat(15_000)}/tweets HTTP/1.1\r\n{H}\r\n`,
    [400, notAnId(`${"1".repeat(199)}…`)],
  ],
  ["256 headers", `GET ${L} HTTP/1.1\r\n${"a:\r\n".repeat(253)}{H}\r\n`, [200, noLinks]],
  ["257 headers", `GET ${L} HTTP/1.1\r\n${"a:\r\n".repeat(254)}{H}\r\n`, [431, headTooLarge]],
  [
    "a second token after 3,000 headers",
    `GET ${L} HTTP/1.1\r\n{H}${"a:\r\n".repeat(3_000)}{A}\r\n`,
    [431, headTooLarge],
  ],
  [
    "a second token after 252 headers",
    `GET ${L} HTTP/1.1\r\n{A}${"a:\r\n".repeat(252)}{H}\r\n`,
    [401, problemBody(401, "Unauthorized", "Unauthorized")],
  ],
  [
    "two requests at once",
    `GET ${L} HTTP/1.1\r\n{K}\r\nGET ${paths.webhooks} HTTP/1.1\r\n{H}\r\n`,
    [200, noLinks],
    [200, noWebhooks],
  ],
  [
    "a body and the next request at once",
    `POST ${R} HTTP/1.1\r\n{K}{J}Content-Length: 2\r\n\r\n{}GET ${paths.webhooks} HTTP/1.1\r\n{H}\r\n`,
    [400, addOrDelete],
    [200, noWebhooks],
  ],
  [
    "a good request and a broken one at once",
    `GET ${L} HTTP/1.1\r\n{K}\r\nFROB\r\n\r\n`,
    [200, noLinks],
    [400, invalid("Invalid method encountered")],
  ],
  [
    "a request after a refused one",
    `GET /nowhere HTTP/1.1\r\n{K}\r\nGET ${L} HTTP/1.1\r\n{H}\r\n`,
    [404, nothingAt("/nowhere")],
    [200, noLinks],
  ],
  [
    "a chunk's size that is none",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    [400, invalid("Invalid character in chunk size")],
  ],
  [
    "a chunk's size beyond all numbers",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n`,
    [400, invalid("Chunk size overflow")],
  ],
  [
    "chunks over the limit",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: chunked\r\n\r\n1e8480\r\n${"a".repeat(2_000_000)}\r\n0\r\n\r\n`,
    [413, bodyTooLarge],
  ],
  [
    "a chunk longer than its size",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n`,
    [400, invalid("Expected LF after chunk data")],
  ],
  [
    "chunks with bare line feeds",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n`,
    [400, invalid("Missing expected CR after chunk size")],
  ],
  [
    "a chunk extension of 20 KB",
    `POST ${R} HTTP/1.1\r\n{H}{J}Transfer-Encoding: chunked\r\n\r\n2;${"a".repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
    [413, problemBody(413, "Payload Too Large", "The extensions of a chunk are too large.")],
  ],
  [
    "a token in a trailer",
    `POST ${R} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{J}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n{A}\r\n`,
    [401, problemBody(401, "Unauthorized", "Unauthorized")],
  ],
  [
    "an expectation that cannot be met",
    `POST ${R} HTTP/1.1\r\n{H}{J}Expect: miracles\r\nContent-Length: 2\r\n\r\n{}`,
    [417, problemBody(417, "Expectation Failed", "The only expectation that this server meets is 100-continue.")],
  ],
  [
    "an upgrade to WebSocket, which is passed over",
    `GET ${L} HTTP/1.1\r\n{K}Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
    [200, noLinks],
  ],
  [
    "an upgrade to HTTP/2, which is passed over",
    `GET ${L} HTTP/1.1\r\n{K}Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n`,
    [200, noLinks],
  ],
  ["a body with GET, which is passed over", `GET ${L} HTTP/1.1\r\n{H}Content-Length: 5\r\n\r\nhello`, [200, noLinks]],
  [
    "chunks with GET, which are passed over",
    `GET ${L} HTTP/1.1\r\n{H}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    [200, noLinks],
  ],
  ["a body without a content type", `POST ${R} HTTP/1.1\r\n{H}Content-Length: 2\r\n\r\n{}`, [415, jsonOnly]],
  [
    "a content type that is none",
    `POST ${R} HTTP/1.1\r\n{H}Content-Type: ;;;\r\nContent-Length: 2\r\n\r\n{}`,
    [415, jsonOnly],
  ],
  ["a TLS handshake", "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", [400, invalid("Invalid method encountered")]],
  ["noise", "\x00\xff\x01\x02\x03\r\n\r\n", [400, invalid("Invalid method encountered")]],
]

describe("raw HTTP", () => {
  test.each(cases.map(([name, request, ...expected]) => ({ name, request, expected })))(
    "the responses to [$name] are as HTTP requires",
    async ({ request, expected }) => {
      const responses = await rawResponses(at.url, filledIn(request.replaceAll("{A}", as)))
      expect(responses.map(({ status }) => status)).toEqual(expected.map(([status]) => status))
      expect(responses.map(({ text }) => parsed(text))).toEqual(expected.map(([, body]) => body))
      for (const { status, headers } of responses) {
        expect(headers.get("content-type")).toBe(
          status < 300 ? "application/json; charset=utf-8" : "application/problem+json; charset=utf-8",
        )
        expect(headers.has("x-rate-limit-remaining")).toBe(status !== 401)
      }
    },
  )

  test("HEAD returns the headers of GET without a body, and a stream has no HEAD", async () => {
    const [get] = await rawResponses(at.url, filledIn(`GET ${L} HTTP/1.1\r\n{H}\r\n`))
    const [head] = await rawResponses(at.url, filledIn(`HEAD ${L} HTTP/1.1\r\n{H}\r\n`))
    expect(head?.text).toBe("")
    expect([...(head?.headers.keys() ?? [])]).toEqual([...(get?.headers.keys() ?? [])])
    expect(head?.headers.get("content-length")).toBe(get?.headers.get("content-length"))
    const [stream] = await rawResponses(at.url, filledIn(`HEAD ${paths.stream} HTTP/1.1\r\n{H}\r\n`))
    expect([stream?.status, stream?.headers.get("allow")]).toEqual([405, "GET"])
  })

  test("a 405 names the allowed methods", async () => {
    const [response] = await rawResponses(at.url, filledIn("PATCH /2/webhooks/1 HTTP/1.1\r\n{H}\r\n"))
    expect(response?.headers.get("allow")).toBe("DELETE, PUT")
  })

  test("100 Continue is sent before the body arrives", async () => {
    const responses = await rawResponses(
      at.url,
      filledIn(`POST ${R} HTTP/1.1\r\n{H}{J}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`),
    )
    expect(responses.map(({ status }) => status)).toEqual([100, 400])
  })

  test.each([
    [11, 11],
    [12, 11],
    [100, 11],
  ])(
    "of %i pipelined requests %i get a response, in order, and then the connection closes",
    async (sent, responded) => {
      const ids = Array.from({ length: sent }, (_, index) => String(index + 1))
      const requests = ids.map((id) => `GET /nowhere/${id} HTTP/1.1\r\n{K}\r\n`).join("")
      const bytes = filledIn(sent === responded ? requests.replace(/\{K\}(?!.*\{K\})/s, "{H}") : requests)
      const responses = await rawResponses(at.url, bytes)
      expect(responses.map(({ text }) => /nowhere\/(\d+)/.exec(text)?.[1])).toEqual(ids.slice(0, responded))
      expect(responses.at(-1)?.headers.get("connection")).toBe("close")
    },
  )

  test.each([
    ["a later request", "GET /nowhere/3 HTTP/1.1\r\nnonsense\r\n\r\n"],
    ["a later request's body", `POST ${R} HTTP/1.1\r\n{K}{J}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n`],
    ["many later requests", "nonsense\r\n\r\n".repeat(100)],
  ])("%s that is malformed gets its error after the responses before it", async (_name, broken) => {
    const requests = ["1", "2"].map((id) => `GET /nowhere/${id} HTTP/1.1\r\n{K}\r\n`).join("")
    const responses = await rawResponses(at.url, filledIn(requests + broken))
    expect(responses.map(({ status }) => status)).toEqual([404, 404, 400])
  })

  test("requests with an unmet expectation are handled in order too", async () => {
    const responses = await rawResponses(at.url, filledIn("GET / HTTP/1.1\r\n{K}Expect: wonders\r\n\r\n".repeat(1_000)))
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 11 }, () => 417))
  })

  test.each([
    ["a name twice", paths.webhooks, (long: string) => `{"${long}":1,"${long}":2}`],
    ["an unknown name", paths.webhooks, (long: string) => `{"url":"https://example.com/","${long}":1}`],
    ["a webhook's URL", paths.webhooks, (long: string) => `{"url":"https://${long}"}`],
    ["an id", paths.rules, (long: string) => `{"delete":{"ids":["${long}"]}}`],
    ["a rule to delete", paths.rules, (long: string) => `{"delete":{"values":["${long}"]}}`],
    ["a tag", paths.rules, (long: string) => `{"add":[{"value":"cat","tag":"${long}"}]}`],
    [
      "a replay's dates",
      paths.webhookReplay,
      (long: string) => `{"webhook_id":"1","from_date":"${long}","to_date":"${long}"}`,
    ],
    ["a parameter's name", `${paths.links}?{LONG}=1`, undefined],
    ["a parameter's value", `${paths.links}?max_results={LONG}`, undefined],
    ["a page token", `${paths.links}?pagination_token={LONG}`, undefined],
    ["a list of fields", `/2/users/1/tweets?tweet.fields={LONG}`, undefined],
    ["a path", `/2/{LONG}`, undefined],
  ] as const)("a response repeats no more than 200 characters of %s", async (_name, path, body) => {
    const response =
      body === undefined
        ? await at.call(path.replace("{LONG}", "x".repeat(7_000)))
        : await at.send("POST", path, body("x".repeat(500_000)))
    expect(response.status).toBeLessThan(500)
    expect(response.text).not.toMatch(/x{201}/)
    expect(response.text.length).toBeLessThan(5_000)
  })

  test("an id of 1 MB in a path makes the head too large", async () => {
    const [response] = await rawResponses(
      at.url,
      filledIn(`GET /2/users/${"1".repeat(1_000_000)}/tweets HTTP/1.1\r\n{H}\r\n`),
    )
    expect(response?.status).toBe(431)
  })
})

function parsed(text: string): unknown {
  return JSON.parse(text) as unknown
}
