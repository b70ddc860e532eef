import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { join, resolve } from "node:path"
import { PassThrough } from "node:stream"
import { text } from "node:stream/consumers"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, expect, test } from "vitest"
import { ended, run, start, startDev, type DevServer, type Surroundings } from "../command.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { readEnvironment } from "../environment.ts"
import { runProgram } from "../program.ts"
import { openStream } from "../../../../test/support/open-stream.testing.ts"
import { listening } from "../../../../test/support/listening.testing.ts"

const resources = new AsyncDisposableStack()
let directory: string
let dev: DevServer

beforeAll(async () => {
  directory = resources.use(await temporaryDirectory()).path
  dev = resources.use(await startDev(join(directory, ".sluice")))
})
afterAll(() => resources.disposeAsync())

const envelope = (id: number, words = "hello"): string => JSON.stringify({ data: { id: String(id), text: words } })

async function file(name: string, content: string | Uint8Array): Promise<string> {
  await writeFile(join(directory, name), content)
  return name
}

test("all kinds of lines add up, and each bad one is reported by its number in the file", async () => {
  const lines = [
    envelope(1),
    "",
    "not json",
    envelope(1),
    "   ",
    '{"data":{"id":"2"}}',
    envelope(3),
    "x".repeat(1_048_577),
    envelope(4),
  ]
  const outcome = await run(["import", await file("mixed.ndjson", lines.join("\r\n")), "--json"], {
    cwd: directory,
  })
  expect(outcome.status).toBe(1)
  expect(JSON.parse(outcome.stdout)).toEqual({ accepted: 3, duplicates: 1, rejected: 3, skipped: 0, lines: 7 })
  expect(outcome.stderr.match(/^line \d+/gm)?.toSorted()).toEqual(["line 3", "line 6", "line 8"])
  expect(outcome.stderr).toMatch(/\nerror: 3 of 7 lines were rejected\.\n$/)
})

test("the first twenty of many bad lines are reported, all are counted, and the import fails", async () => {
  const lines = Array.from({ length: 450 }, (_, at) => (at % 9 === 0 ? envelope(10_000 + at) : `bad ${String(at)}`))
  const outcome = await run(["import", await file("bad.ndjson", lines.join("\n")), "--json"], {
    cwd: directory,
  })
  expect(JSON.parse(outcome.stdout)).toEqual({ accepted: 50, duplicates: 0, rejected: 400, skipped: 0, lines: 450 })
  expect(outcome.status).toBe(1)
  const bad = lines.flatMap((line, at) => (line.startsWith("bad") ? [at + 1] : []))
  const reported = outcome.stderr.trimEnd().split("\n")
  expect(reported.slice(0, -1).map((line) => Number(/^line (\d+): /.exec(line)?.[1]))).toEqual(bad.slice(0, 20))
  expect(reported.at(-1)).toBe("error: 400 of 450 lines were rejected; the first 20 are shown.")
})

test("a gzip file and standard input are imported; a second time everything is a duplicate", async () => {
  const content = Array.from({ length: 5000 }, (_, at) => envelope(20_000 + at)).join("\n")
  const packed = await run(["import", await file("posts.ndjson.gz", gzipSync(content)), "--json"], {
    cwd: directory,
  })
  expect(JSON.parse(packed.stdout)).toEqual({ accepted: 5000, duplicates: 0, rejected: 0, skipped: 0, lines: 5000 })
  const again = await run(["import", "-"], { cwd: directory, input: content })
  expect(again).toMatchObject({
    status: 0,
    stdout: "5,000 lines: 0 accepted, 5,000 duplicates, 0 rejected\n",
  })
})

test("--from-line begins in the middle of the file", async () => {
  const name = await file("ten.ndjson", Array.from({ length: 10 }, (_, at) => envelope(30_000 + at)).join("\n"))
  const outcome = await run(["import", name, "--from-line", "8", "--json"], { cwd: directory })
  expect(JSON.parse(outcome.stdout)).toEqual({ accepted: 3, duplicates: 0, rejected: 0, skipped: 0, lines: 3 })
})

const page = (...ids: readonly number[]) => ({
  data: ids.map((id) => ({ id: String(id), text: "of a page", author_id: "7" })),
  includes: { users: [{ id: "7", username: "wren" }] },
  meta: { result_count: ids.length },
})

test("a file may mix all formats, line by line", async () => {
  const lines = [
    envelope(50_001),
    JSON.stringify(page(50_002, 50_003)),
    '{"id":"50004","text":"by itself","author":{"id":"8","username":"owl"}}',
    '{"id_str":"50005","full_text":"older","user":{"id_str":"9","screen_name":"jay"},"created_at":"Wed Oct 10 20:19:24 +0000 2018"}',
    '{"delete":{"status":{"id_str":"1"}}}',
    '{"data":[{"id":"50006","text":"right"},{"id":"50007"}]}',
    "[]]",
  ]
  const outcome = await run(["import", await file("all.ndjson", lines.join("\n"))], { cwd: directory })
  expect(outcome).toMatchObject({
    status: 1,
    stdout: "7 lines: 6 accepted, 0 duplicates, 2 rejected, 1 without a post\n",
  })
  expect(outcome.stderr).toContain("line 6, post 2: Invalid Post: `data.text` is missing.\n")
  expect(outcome.stderr).toMatch(/^line 7: Invalid JSON: Expected an envelope /m)
  expect(outcome.stderr).toMatch(/^error: 2 of 8 posts were rejected\.$/m)
  for (const [user, id] of [
    ["7", "50003"],
    ["8", null],
    ["9", "50005"],
  ] as const) {
    const { status, stdout } = await run(["posts", user, "--json"], { cwd: directory })
    expect(status).toBe(0)
    if (id !== null) expect(stdout).toContain(`"id":"${id}"`)
  }
})

test("a page as curl and jq save it is imported, and so is an array of any layout", async () => {
  const saved = await file("page.json", `${JSON.stringify(page(60_001, 60_002), undefined, 2)}\n`)
  const single = await file("array.json", JSON.stringify([page(60_003), { id: "60004", text: "by itself" }]))
  const several = await file(
    "values.json",
    `${JSON.stringify({ data: { id: "60005", text: "a" } }, undefined, 1)}\n`.repeat(2),
  )
  const totals = async (name: string): Promise<unknown> =>
    JSON.parse((await run(["import", name, "--json"], { cwd: directory })).stdout)
  expect(await totals(saved)).toEqual({ accepted: 2, duplicates: 0, rejected: 0, skipped: 0, lines: 1 })
  expect(await totals(single)).toEqual({ accepted: 2, duplicates: 0, rejected: 0, skipped: 0, lines: 2 })
  expect(await totals(several)).toEqual({ accepted: 1, duplicates: 1, rejected: 0, skipped: 0, lines: 2 })
})

test("--no-deliver stores and matches posts, and delivers no match, then or later", async () => {
  await run(["rules", "add", "bittern"], { cwd: directory })
  await using live = await openStream(dev.ready)
  const name = await file(
    "archive.ndjson",
    [80_001, 80_002, 80_003].map((id) => envelope(id, `bittern ${id}`)).join("\n"),
  )
  const archived = await run(["import", name, "--no-deliver"], { cwd: directory })
  expect(archived).toMatchObject({
    status: 0,
    stdout: "3 lines: 3 accepted, 0 duplicates, 0 rejected; 3 matches not delivered\n",
  })
  // To send them again delivers nothing either: they are stored.
  const again = await run(["import", name, "--no-deliver", "--json"], { cwd: directory })
  expect(JSON.parse(again.stdout)).toEqual({
    accepted: 0,
    duplicates: 3,
    rejected: 0,
    skipped: 0,
    lines: 3,
    undelivered: 0,
  })
  await run(["import", "-"], { cwd: directory, input: envelope(80_004, "a live bittern") })
  expect(await live.next()).toMatchObject({ data: { id: "80004" } })
  await live[Symbol.asyncDispose]()
  await using late = await openStream(dev.ready, "?backfill_minutes=5")
  const seen = new Set<string>()
  while (!seen.has("80004")) seen.add((await late.next()).data.id)
  expect([...seen].filter((id) => ["80001", "80002", "80003"].includes(id))).toEqual([])
  const tested = await run(["rules", "test", "bittern", "--json"], { cwd: directory })
  expect(tested.stdout.match(/"id":"8000[1-4]"/g)).toHaveLength(4)
})

test("--format insists on one format, and reports the expected and the found one", async () => {
  const name = await file("two.ndjson", `${envelope(70_001)}\n${JSON.stringify(page(70_002))}`)
  const outcome = await run(["import", name, "--format", "page"], { cwd: directory })
  expect(outcome).toMatchObject({ status: 1, stdout: "2 lines: 1 accepted, 0 duplicates, 1 rejected\n" })
  expect(outcome.stderr).toMatch(/^line 1: Wrong Format: Expected a page .* It is an envelope/)
  const wrong = await run(["import", name, "--format", "csv"], { cwd: directory })
  expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining("auto, envelope, page, post, v1.1") })
})

test("an import that stops within a page continues from the page's line", async () => {
  await using server = await fakeServer([takes, isBusy(401)])
  const lines = [
    envelope(1),
    JSON.stringify(page(...Array.from({ length: 2_500 }, (_, at) => at + 2))),
    envelope(9_999),
  ]
  const outcome = await run(["import", await file("cut.ndjson", lines.join("\n"))], server.surroundings)
  expect(outcome.stderr).toContain("Everything before line 2 is stored.")
  expect(outcome.stdout).toBe("1 lines: 2,000 accepted, 0 duplicates, 0 rejected\n")
})

test("a missing file is an error", async () => {
  const outcome = await run(["import", "none.ndjson"], { cwd: directory })
  expect(outcome).toMatchObject({ status: 1, stdout: "", stderr: "error: There is no file none.ndjson.\n" })
})

test("the real posts are imported, and add up", async (context) => {
  const shared = process.env["SLUICE_SHARED"] ?? resolve(import.meta.dirname, "../../../../../shared")
  const posts = join(shared, "data/x/posts-full.ndjson.gz")
  if (!existsSync(posts)) {
    if (process.env["CI"] !== undefined) throw new Error(`${posts} is missing`)
    context.skip(`${posts} is not here`)
  }
  const first = await run(["import", posts, "--json"], { cwd: directory })
  const totals = JSON.parse(first.stdout) as Record<"accepted" | "duplicates" | "rejected" | "lines", number>
  expect(first.status).toBe(totals.rejected === 0 ? 0 : 1)
  expect(totals.lines).toBe(15_832)
  expect(totals.accepted + totals.duplicates + totals.rejected).toBe(totals.lines)
  const second = await run(["import", posts, "--json"], { cwd: directory })
  expect(JSON.parse(second.stdout)).toMatchObject({ accepted: 0, lines: 15_832, rejected: totals.rejected })
}, 120_000)

/** A server that responds to ingest as given, request by request, and remembers how many lines each body had. */
async function fakeServer(
  responders: readonly ((response: ServerResponse, lines: number, request: IncomingMessage) => void)[],
): Promise<{ surroundings: Surroundings; bodies: readonly number[] } & AsyncDisposable> {
  const bodies: number[] = []
  const server = await listening((request, response) => {
    const respond = async (): Promise<void> => {
      const body = await text(request)
      const lines = body.split("\n").length - 1
      bodies.push(lines)
      const responder = responders[bodies.length - 1] ?? responders.at(-1)
      responder?.(response, lines, request)
    }
    void respond()
  })
  return {
    surroundings: { cwd: directory, env: { SLUICE_URL: server.url, SLUICE_TOKEN: "t" } },
    bodies,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

const takes = (response: ServerResponse, lines: number): void =>
  void response.end(JSON.stringify({ accepted: lines, duplicates: 0, rejected: [], rejected_count: 0 }))
const isBusy = (status: number) => (response: ServerResponse) =>
  void response
    .writeHead(status, { "retry-after": "0", "content-type": "application/problem+json" })
    .end(JSON.stringify({ title: "Busy", detail: "Try again.", status }))
const breaks = (response: ServerResponse): void => void response.destroy()

test("the import waits for a busy server and after a lost connection, and sends the chunk again", async () => {
  await using server = await fakeServer([takes, isBusy(503), breaks, isBusy(429), takes])
  const name = await file("long.ndjson", Array.from({ length: 3000 }, (_, at) => envelope(at)).join("\n"))
  const outcome = await run(["import", name, "--json"], server.surroundings)
  expect(outcome.status).toBe(0)
  expect(JSON.parse(outcome.stdout)).toEqual({ accepted: 3000, duplicates: 0, rejected: 0, skipped: 0, lines: 3000 })
  expect(server.bodies).toEqual([2000, 1000, 1000, 1000, 1000])
  expect(outcome.stderr.match(/Retrying in/g)).toHaveLength(3)
})

test("a permanent refusal ends the import and says how to continue", async () => {
  await using server = await fakeServer([takes, isBusy(401)])
  const name = await file("more.ndjson", Array.from({ length: 3000 }, (_, at) => envelope(at)).join("\n"))
  const outcome = await run(["import", name, "--json"], server.surroundings)
  expect(outcome.status).toBe(1)
  expect(JSON.parse(outcome.stdout)).toEqual({ accepted: 2000, duplicates: 0, rejected: 0, skipped: 0, lines: 2000 })
  expect(outcome.stderr).toBe(
    "error: Busy: Try again.\n  Everything before line 2001 is stored. Continue with: sluice import more.ndjson --from-line 2001\n",
  )
})

test("an interruption ends the import and says how to continue", async () => {
  const waiting = Promise.withResolvers<void>()
  await using server = await fakeServer([takes, () => waiting.resolve()])
  const name = await file("even more.ndjson", Array.from({ length: 2500 }, (_, at) => `${envelope(at)}\n\n`).join(""))
  const child = start(["import", name], server.surroundings)
  const end = ended(child)
  await waiting.promise
  child.kill("SIGINT")
  const outcome = await end
  expect(outcome).toMatchObject({
    status: 1,
    stdout: "2,000 lines: 2,000 accepted, 0 duplicates, 0 rejected\n",
  })
  expect(outcome.stderr).toContain("error: Interrupted by SIGINT.")
  expect(outcome.stderr).toContain("Continue with: sluice import 'even more.ndjson' --from-line 4000")
})

test("a live pipe is sent as it comes, and an interruption ends the wait for more of it", async () => {
  const arrived = Promise.withResolvers<void>()
  await using server = await fakeServer([
    (response, lines) => {
      takes(response, lines)
      arrived.resolve()
    },
  ])
  const child = start(["import", "-"], server.surroundings)
  const outputs = Promise.all([text(child.stdout), text(child.stderr)])
  const closed = new Promise<number | null>((done) => child.once("close", done))
  child.stdin.write(`${envelope(1)}\n${envelope(2)}\n${envelope(3)}\n{"data":`)
  await arrived.promise
  expect(server.bodies).toEqual([3])
  child.kill("SIGINT")
  // Its standard input is open still.
  expect(await closed).toBe(1)
  const [stdout, stderr] = await outputs
  expect(stdout).toBe("3 lines: 3 accepted, 0 duplicates, 0 rejected\n")
  expect(stderr).toBe(
    "error: Interrupted by SIGINT.\n  Everything before line 4 is stored. Continue the input from there.\n",
  )
})

test("a line of a live pipe reaches a stream connection before the next one is written", async () => {
  await run(["rules", "add", "kingfisher"], { cwd: directory })
  await using stream = await openStream(dev.ready)
  const child = start(["import", "-"], { cwd: directory })
  for (let id = 40_001; id <= 40_004; id++) {
    child.stdin.write(`${envelope(id, "a kingfisher")}\n`)
    expect(await stream.next()).toMatchObject({ data: { id: String(id) } })
  }
  expect(await ended(child)).toMatchObject({
    status: 0,
    stdout: "4 lines: 4 accepted, 0 duplicates, 0 rejected\n",
  })
})

test("a refusal ends the import of a pipe that has no end", async () => {
  await using server = await fakeServer([isBusy(401)])
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  streams.stdin.write(`${envelope(1)}\n`)
  const environment = readEnvironment(server.surroundings.env)
  expect(await runProgram(["import", "-"], { ...streams, environment })).toBe(1)
  expect(streams.stdin.destroyed).toBe(true)
})

test.each([
  ["xterm", true],
  ["dumb", false],
])("on a terminal of the kind %s the progress is drawn over itself: %j", async (kind, isDrawn) => {
  await using server = await fakeServer([takes])
  const name = await file("bar.ndjson", envelope(1))
  const { surroundings } = server
  const env = { ...surroundings.env, TERM: kind }
  const outcome = await run(["import", name], { ...surroundings, env, terminal: { columns: 80 } })
  expect(outcome).toMatchObject({ status: 0, stdout: "1 lines: 1 accepted, 0 duplicates, 0 rejected\n" })
  expect(outcome.stderr.includes("\u001B")).toBe(isDrawn)
  expect(outcome.stderr === "").toBe(!isDrawn)
})

test.each([
  ["http://127.0.0.1:2", "connection refused."],
  ["http://nowhere.invalid:8080", "there is no host of that name."],
  ["http://127.0.0.1:1", "bad port."],
])("a server at %s that cannot be reached is reported at once, without a retry", async (url, reason) => {
  const name = await file("one.ndjson", envelope(1))
  const outcome = await run(["import", name, "--url", url, "--token", "t"], { cwd: directory })
  expect(outcome.status).toBe(1)
  expect(outcome.stderr).toContain(reason)
  expect(outcome.stderr).not.toContain("Retrying")
})
