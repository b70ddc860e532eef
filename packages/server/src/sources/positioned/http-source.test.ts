import { writeFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { gzipSync } from "node:zlib"
import { afterEach, expect, test } from "vitest"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"
import { systemClock } from "../../runtime/clock.ts"
import { parseAllowedDestinations } from "../../runtime/outbound/allowed-destinations.ts"
import { SettingsReader, type SourceMembers } from "../settings.ts"
import { checkMapping } from "./feed-mapper.ts"
import { createHttpReader, readHttpSettings, type FeedDeps } from "./http-source.ts"
import { driven, startFeed, type DrivenReader, type TakenLine } from "./reading.testing.ts"

const used: AsyncDisposable[] = []

afterEach(async () => {
  for (const one of used.splice(0).toReversed()) await one[Symbol.asyncDispose]()
})

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

async function feedOf(answer: Answer): Promise<number> {
  const feed = await startFeed((request, response) => void answer(request, response))
  used.push(feed)
  return feed.port
}

interface Reading {
  readonly deps?: Partial<FeedDeps>
  readonly env?: Record<string, string>
  readonly position?: string
  readonly taken?: (line: TakenLine) => Promise<unknown>
}

async function reading(
  members: SourceMembers,
  { deps = {}, env = {}, ...driving }: Reading = {},
): Promise<DrivenReader> {
  const settings = readHttpSettings(new SettingsReader({ name: "feed", type: "http", ...members }, env))
  const reader = createHttpReader(settings, {
    clock: systemClock,
    posture: { allowPrivate: true },
    postBytesMax: 262_144,
    ...deps,
  })
  const run = driven(reader, driving)
  used.push(run)
  return run
}

const lineOf = (id: number): string => `${JSON.stringify({ id, words: `heron ${id}` })}\n`
const mapping = '{ "uri": "feed:" & id, "text": words, "cursor": id }'
const numbersOf = (run: DrivenReader): number[] => run.lines.map(({ cursor }) => Number(cursor))
const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1)

test("lines are read as they come; after a cut in the middle of one it goes on behind the last whole one", async () => {
  let connections = 0
  const port = await feedOf(({ url, socket }, response) => {
    connections += 1
    const since = Number(new URL(`http://a${url}`).searchParams.get("since") ?? 0)
    for (let id = since + 1; id <= since + 10; id += 1) response.write(lineOf(id))
    response.write(lineOf(since + 11).slice(0, 12))
    if (connections < 5) setTimeout(() => socket.destroy(), 20)
  })
  const run = await reading({ url: `http://127.0.0.1:${port}/items?since={cursor}&all=1`, mapping })
  await expect.poll(() => run.lines.length, { timeout: 20_000 }).toBe(50)
  expect(numbersOf(run)).toEqual(upTo(50))
  expect(run.lines[0]).toEqual({ uri: "feed:1", text: "heron 1", cursor: 1 })
  expect(run.begun).toEqual([undefined, "10", "20", "30", "40"])
  expect(run.failures).toHaveLength(4)
  expect(run.connected[0]).toBe(`127.0.0.1:${port}`)
})

test("events are read with their ids; the last one is sent as Last-Event-ID", async () => {
  const heard: unknown[] = []
  const port = await feedOf(({ headers }, response) => {
    heard.push(headers["last-event-id"])
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" })
    if (heard.length > 1) return
    response.write(": welcome\nretry: 1500\n\n")
    response.write('id: a1\nevent: posted\ndata: {"data":\ndata: {"id":"1"}}\n\n')
    response.write('data: {"data":{"id":"2"}}\r\n\r\n')
    response.write("id: a2\n\n")
    response.write('data: {"data":{"id":"3"}}\n\nid: a3\ndata: {"data":{"id":"cut')
    setTimeout(() => response.end(), 50)
  })
  const run = await reading({ url: `http://127.0.0.1:${port}/` })
  await expect.poll(() => heard.length).toBe(2)
  expect(run.lines).toEqual([
    { envelope: '{"data":\n{"id":"1"}}', cursor: "a1" },
    { envelope: '{"data":{"id":"2"}}', cursor: "a1" },
    { envelope: '{"data":{"id":"3"}}', cursor: "a2" },
  ])
  expect(heard).toEqual([undefined, "a2"])
  expect(run.failures[0]).toContain("has ended the response. (Sluice connects again by itself.")
  expect(run.failures[0]).toContain("; 1500)")
})

test("the kind of an event is a variable of the mapping, which may pass events over", async () => {
  const port = await feedOf((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write('event: update\nid: 1\ndata: {"n":1}\n\nevent: ping\nid: 2\ndata: {}\n\nid: 3\ndata: {"n":3}\n\n')
  })
  const run = await reading({
    url: `http://127.0.0.1:${port}/`,
    mapping: '$event = "update" ? {"uri": $string(n), "text": "t"}',
  })
  await expect.poll(() => run.lines.length).toBe(3)
  expect(run.lines).toEqual([
    { uri: "1", text: "t", cursor: "1" },
    { skipped: true, cursor: "2" },
    { skipped: true, cursor: "3" },
  ])
})

test("an endpoint whose items are envelopes with their positions is polled from the last of them on", async () => {
  const asked: (string | null)[] = []
  const envelopeOf = (cursor: number): string => JSON.stringify({ envelope: { data: { id: `${cursor}` } }, cursor })
  const port = await feedOf(({ url }, response) => {
    const since = new URL(`http://a${url}`).searchParams.get("since")
    asked.push(since)
    const from = Number(since)
    response.end(from < 4 ? `${envelopeOf(from + 1)}\n${envelopeOf(from + 2)}\n` : "")
  })
  const run = await reading({ url: `http://127.0.0.1:${port}/items?since={cursor}`, pollSeconds: 1, start: "0" })
  await expect.poll(() => asked.length, { timeout: 5_000 }).toBe(4)
  expect(asked).toEqual(["0", "2", "4", "4"])
  expect(run.lines).toEqual([1, 2, 3, 4].map((cursor) => ({ envelope: { data: { id: `${cursor}` } }, cursor })))
})

test("an endpoint that ends its responses is polled, at once while the position moves", async () => {
  const asked: (string | null)[] = []
  const port = await feedOf(({ url }, response) => {
    const since = new URL(`http://a${url}`).searchParams.get("since")
    asked.push(since)
    const from = Number(since)
    response.setHeader("content-encoding", "gzip")
    // The last line has no line break.
    const page = [1, 2, 3].map((step) => lineOf(from + step)).join("")
    response.end(gzipSync(from < 9 ? page.trim() : ""))
  })
  const url = `http://127.0.0.1:${port}/items?since={cursor}`
  const run = await reading({ url, mapping, pollSeconds: 1, start: "0" })
  await expect.poll(() => asked.length, { timeout: 5_000 }).toBe(5)
  expect(asked).toEqual(["0", "3", "6", "9", "9"])
  expect(numbersOf(run)).toEqual(upTo(9))
  expect(run.failures).toEqual([])
  expect(run.connected).toHaveLength(1)
})

test("a request may be a POST whose body and headers hold the position", async () => {
  const heard: unknown[] = []
  const port = await feedOf(async (request, response) => {
    let body = ""
    for await (const chunk of request) body += String(chunk)
    heard.push([request.method, JSON.parse(body), request.headers["x-since"], request.headers["content-type"]])
    response.end(heard.length === 1 ? lineOf(7) : undefined)
  })
  const url = `http://127.0.0.1:${port}/`
  const body = '{"since": "{cursor}"}'
  await reading({ url, mapping, method: "POST", body, headers: { "x-since": "{cursor}" }, pollSeconds: 60 })
  await expect.poll(() => heard.length).toBe(2)
  expect(heard).toEqual([
    ["POST", { since: "" }, undefined, "application/json"],
    ["POST", { since: "7" }, "7", "application/json"],
  ])
})

test("the time between responses without an end is a gap where nothing asks for what came meanwhile", async () => {
  let connections = 0
  const port = await feedOf(({ socket }, response) => {
    connections += 1
    response.write(`id: ${connections}\ndata: ${lineOf(connections)}\n`)
    if (connections < 3) setTimeout(() => socket.destroy(), 50)
  })
  const url = `http://127.0.0.1:${port}/`
  const withoutCursor = '{ "uri": "feed:" & id, "text": words }'
  for (const [members, gaps] of [
    [{ format: "lines", mapping: '$exists(id) ? { "uri": "feed:" & id, "text": words } : undefined' }, 2],
    [{ format: "events", mapping }, 0],
    // Such a server knows nothing of the id that it is sent.
    [{ mapping: '$exists(id) ? { "uri": "feed:" & id, "text": words, "cursor": id } : undefined' }, 2],
    [{ format: "lines", mapping: withoutCursor, pollSeconds: 1 }, 0],
  ] as const) {
    connections = 0
    const run = await reading({ url, ...members })
    await expect.poll(() => connections, { timeout: 10_000 }).toBe(3)
    await expect.poll(() => run.gaps.length).toBe(gaps)
    await run[Symbol.asyncDispose]()
  }
})

test("a file of a secret that is not there, or empty, is a fault of the settings", async () => {
  await using directory = await temporaryDirectory()
  const [empty, missing] = [join(directory.path, "empty"), join(directory.path, "missing")]
  await writeFile(empty, "\n")
  const url = "http://127.0.0.1:9/"
  await expect(reading({ url, tokenFile: missing })).rejects.toThrow(`cannot start: The file ${missing} cannot be read`)
  await expect(reading({ url, tokenFile: empty })).rejects.toThrow(`cannot start: The file ${empty} is empty`)
})

test("secrets come from files and variables, are read again for each connection, and stand in no message", async () => {
  await using directory = await temporaryDirectory()
  const tokenFile = join(directory.path, "token")
  await writeFile(tokenFile, "first-secret\n")
  const heard: unknown[] = []
  const port = await feedOf(({ headers }, response) => {
    heard.push([headers.authorization, headers["x-api-key"], headers["x-plain"]])
    response.writeHead(401).end("first-secret")
  })
  const headers = { "x-api-keyVariable": "KEY", "x-plain": "yes" }
  const run = await reading({ url: `http://127.0.0.1:${port}/`, tokenFile, headers }, { env: { KEY: "key-secret" } })
  await expect.poll(() => heard.length).toBeGreaterThan(0)
  await writeFile(tokenFile, "second-secret")
  await expect.poll(() => heard.at(-1)).toEqual(["Bearer second-secret", "key-secret", "yes"])
  expect(heard[0]).toEqual(["Bearer first-secret", "key-secret", "yes"])
  await writeFile(tokenFile, "a\nb")
  await expect.poll(() => run.failures.at(-1)).toContain("The value of the header authorization has a line break")
  expect(run.failures[0]).toContain("has answered with the status 401. (Check the token in the headers of the source")
  expect(run.failures.join(" ")).not.toContain("secret")
})

test("other answers are failures, each with advice and the wait that it asks for", async () => {
  const answers: Record<string, [number, Record<string, string>]> = {
    "/403": [403, {}],
    "/404": [404, {}],
    "/410": [410, {}],
    "/429": [429, { "retry-after": "120" }],
    "/503": [503, { "retry-after": "999999999" }],
    "/302": [302, { location: "http://169.254.169.254/latest" }],
  }
  const asked: (string | undefined)[] = []
  const port = await feedOf(({ url = "" }, response) => {
    asked.push(url)
    response.writeHead(...(answers[url] ?? [500, {}])).end()
  })
  const failure = async (path: string): Promise<string | undefined> => {
    const run = await reading({ url: `http://127.0.0.1:${port}${path}` })
    await expect.poll(() => run.failures.length).toBeGreaterThan(0)
    await run[Symbol.asyncDispose]()
    return run.failures[0]
  }
  expect(await failure("/403")).toMatch(/status 403\. \(Check what the token .*; 0\)/)
  expect(await failure("/404")).toMatch(/\(Check the address of the source: nothing is there\./)
  expect(await failure("/410")).toMatch(/Rewind it to a position that it has/)
  expect(await failure("/429")).toMatch(/It asks to wait 120 s\. \(.*pollSeconds.*; 120000\)/)
  expect(await failure("/503")).toMatch(/Sluice tries again by itself\.; 3600000\)/)
  expect(await failure("/302")).toMatch(/Redirects are not followed\./)
  expect(new Set(asked)).toEqual(new Set(Object.keys(answers)))
})

test("only public addresses are connected to, whatever a name resolves to, unless they are allowed", async () => {
  const port = await feedOf((_, response) => void response.write(lineOf(1)))
  const posture = { allowPrivate: false }
  const resolve = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }])
  const failure = async (url: string): Promise<string | undefined> => {
    const run = await reading({ url }, { deps: { posture, resolve } })
    await expect.poll(() => run.failures.length).toBeGreaterThan(0)
    await run[Symbol.asyncDispose]()
    return run.failures[0]
  }
  expect(await failure(`http://127.0.0.1:${port}/`)).toMatch(/only https is accepted\. \(.*SLUICE_SOURCE_ALLOW/)
  expect(await failure("https://127.0.0.1/")).toMatch(/which is a loopback address\. \(/)
  expect(await failure("https://feed.example.com/")).toMatch(/feed\.example\.com has no public address/)
  const allowed = parseAllowedDestinations(`feed.lan:${port}`)
  const deps = { posture: { allowPrivate: false, allowed }, resolve }
  const run = await reading({ url: `http://feed.lan:${port}/`, mapping }, { deps })
  await expect.poll(() => numbersOf(run)).toEqual([1])
})

test("a server that falls silent is left; comments show that it is there", async () => {
  let comments = 0
  const port = await feedOf(({ url }, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(": here\n\n")
    if (url !== "/comments") return
    const timer = setInterval(() => {
      comments += 1
      response.write(":\n")
      if (comments === 8) response.write('data: {"data":{}}\n\n')
    }, 250)
    response.on("close", () => clearInterval(timer))
  })
  const silent = await reading({ url: `http://127.0.0.1:${port}/silent`, silenceSeconds: 1 })
  const lively = await reading({ url: `http://127.0.0.1:${port}/comments`, silenceSeconds: 1 })
  await expect.poll(() => silent.failures[0], { timeout: 5_000 }).toBe(`127.0.0.1:${port} has sent nothing for 1 s.`)
  await expect.poll(() => lively.lines.length, { timeout: 5_000 }).toBe(1)
  expect(lively.failures).toEqual([])
})

test("while a line is not taken, the rest waits at the server", async () => {
  const content = "x".repeat(20_000)
  const waiting: ServerResponse[] = []
  const port = await feedOf((_, response) => {
    waiting.push(response)
    for (let id = 1; id <= 1_000; id += 1) response.write(`${JSON.stringify({ id, words: content })}\n`)
  })
  const hold = Promise.withResolvers<void>()
  const run = await reading({ url: `http://127.0.0.1:${port}/`, mapping }, { taken: () => hold.promise })
  const unsent = (): number => waiting[0]?.socket?.writableLength ?? -1
  let [before, now] = [-1, unsent()]
  while (now < 0 || before !== now) {
    await sleep(200)
    ;[before, now] = [now, unsent()]
  }
  expect(now).toBeGreaterThan((1_000 * content.length) / 2)
  hold.resolve()
  await expect.poll(() => run.lines.length, { timeout: 20_000 }).toBe(1_000)
  expect(numbersOf(run)).toEqual(upTo(1_000))
}, 30_000)

test("a line of 100 MB, and one that a few kilobytes are decompressed to, is one dead letter with its beginning", async () => {
  const chunk = Buffer.alloc(1_000_000, "\r")
  const port = await feedOf(async ({ url }, response) => {
    if (url === "/bomb") {
      response.setHeader("content-encoding", "gzip")
      response.end(gzipSync(Buffer.concat([Buffer.alloc(100_000_000, "a"), Buffer.from(`\n${lineOf(2)}`)])))
      return
    }
    response.write(lineOf(1))
    for (let at = 0; at < 100; at += 1)
      if (!response.write(chunk)) await new Promise((drained) => response.once("drain", drained))
    response.write(`\n${lineOf(2)}`)
  })
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  const watch = (): Promise<void> => {
    most = Math.max(most, process.memoryUsage().arrayBuffers)
    return Promise.resolve()
  }
  const long = await reading({ url: `http://127.0.0.1:${port}/long` }, { taken: watch })
  await expect.poll(() => long.lines.length, { timeout: 20_000 }).toBe(3)
  expect(long.lines[1]).toMatchObject({ error: { title: "Line Too Long" } })
  expect(long.lines[1]?.record).toHaveLength(65_536)
  expect(long.lines[2]).toMatchObject({ id: 2 })
  expect(most - before).toBeLessThan(50_000_000)
  const bomb = await reading({ url: `http://127.0.0.1:${port}/bomb`, pollSeconds: 60 })
  await expect.poll(() => bomb.lines.length, { timeout: 20_000 }).toBe(2)
  expect(bomb.lines[0]).toMatchObject({ error: { title: "Line Too Long" } })
}, 30_000)

test("an event that is too large is a dead letter, and the events around it are read", async () => {
  const port = await feedOf((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write('id: 1\ndata: {"data":{"id":"1"}}\n\nid: 2\ndata: "begins')
    for (let at = 0; at < 40; at += 1) response.write(`${"x".repeat(9_999)}\ndata: `)
    response.write('"\n\nid: 3\ndata: {"data":{"id":"3"}}\n\n')
  })
  const run = await reading({ url: `http://127.0.0.1:${port}/` })
  await expect.poll(() => run.lines.length).toBe(3)
  expect(run.lines.map(({ cursor }) => cursor)).toEqual(["1", "1", "3"])
  expect(run.lines[1]).toMatchObject({ error: { title: "Line Too Long" } })
  expect(run.lines[1]?.record).toContain('data: "beginsxxx')
})

test("a compression that was not asked for, and a body that is none, are failures", async () => {
  const port = await feedOf(({ url }, response) => {
    response.setHeader("content-encoding", url === "/br" ? "br" : "gzip")
    response.end("not compressed")
  })
  const other = await reading({ url: `http://127.0.0.1:${port}/br` })
  await expect.poll(() => other.failures[0]).toContain('has compressed its response by "br".')
  const broken = await reading({ url: `http://127.0.0.1:${port}/gzip` })
  await expect.poll(() => broken.failures[0]).toContain("incorrect header check")
})

test("bad records are dead letters with what was received, and never end the connection", async () => {
  const bad: readonly (readonly [line: string | Buffer, title: string])[] = [
    ["not json", "Invalid JSON"],
    ['{"id":1', "Invalid JSON"],
    [Buffer.from([0xff, 0xfe, 0x41]), "Invalid Text"],
    ['{"id":5,"words":{"a":1}}', "Mapping Failed"],
    ["[1,2]", "Mapping Failed"],
    ["null", "Mapping Failed"],
    ['"text"', "Mapping Failed"],
    [`{"id":"${"9".repeat(300_000)}","words":"a"}`, "Mapping Failed"],
    [`{"id":1,"words":"${"long ".repeat(300_000)}"}`, "Line Too Long"],
  ]
  const port = await feedOf((_, response) => {
    for (const [line] of bad) {
      response.write(line)
      response.write("\n\r\n  \n")
      response.write(lineOf(1))
    }
  })
  const strict =
    '($assert($type(words) = "string", "words is no text"); {"uri": "feed:" & id, "text": $uppercase(words)})'
  const run = await reading({ url: `http://127.0.0.1:${port}/`, mapping: strict })
  await expect.poll(() => run.lines.length, { timeout: 10_000 }).toBe(2 * bad.length)
  const failed = run.lines.filter(({ error }) => error !== undefined)
  expect(failed.map(({ error }) => error?.title)).toEqual(bad.map(([, title]) => title))
  expect(failed[3]).toEqual({
    error: { title: "Mapping Failed", detail: "line 1, column 9: words is no text" },
    record: '{"id":5,"words":{"a":1}}',
  })
  expect(run.failures).toEqual([])
})

test("settings that have no use are refused, with what would be right", () => {
  const url = "https://feed.example.com/"
  const refused: readonly (readonly [SourceMembers, string | RegExp])[] = [
    [{}, "has no url: say where it is, such as https://feed.example.com/items?since={cursor}."],
    [{ url: "https://user:pw@feed.example.com/" }, "holds credentials"],
    [{ url: "ftp://feed.example.com/" }, "begins with ftp://"],
    [{ url: `${url}?access_token=a` }, "has the parameter access_token in its url, and it may be a secret"],
    [{ url: "https://{cursor}.example.com/" }, /host/],
    [{ url, headers: { authorization: "Bearer a" } }, "has the header authorization in the configuration file"],
    [{ url, headers: { "x-auth-token": "a" } }, "has the header x-auth-token in the configuration file"],
    [{ url, headers: { host: "a" } }, 'has a header "host", which cannot be set'],
    [{ url, headers: { "a b": "a" } }, 'has a header "a b", which cannot be set'],
    [{ url, headers: { a: "x\r\ny: z" } }, "must be text on one line"],
    [{ url, headers: { authorizationVariable: "A", AuthorizationFile: "b" } }, "has the header Authorization twice"],
    [{ url, token: "a" }, "has token in the configuration file"],
    [{ url, body: "{}" }, "has a body, and method is GET: set method to POST."],
    [{ url, pollSeconds: -1 }, "has pollSeconds -1: it must be a whole number from 0 to 86400."],
    [{ url, mapping: "a", mappingFile: "b" }, "has both mapping and mappingFile"],
    [{ url, mappingFile: "/none/there" }, "has a mappingFile that cannot be read"],
    [{ url, mapping: 5 }, "has mapping 5: it must be text, which may have several lines."],
    [{ url, headers: "a" }, 'has headers "a": it must have members of its own.'],
    [{ url, pollseconds: 5 }, 'has an unknown member "pollseconds"'],
  ]
  const read = (members: SourceMembers) => () =>
    readHttpSettings(new SettingsReader({ name: "feed", type: "http", ...members }, { A: "a" }))
  for (const [members, message] of refused) expect(read(members)).toThrow(message)
})

test("a mapping with an error in it is refused at the start, with the place", async () => {
  const refused = "has a mapping that cannot be used: line 3, column 1: "
  await expect(checkMapping('{\n  "id": $string(\n}')).rejects.toThrow(refused)
  await expect(checkMapping('{ "id": id }')).resolves.toBeUndefined()
  await expect(checkMapping(undefined)).resolves.toBeUndefined()
})
