/** The examples do what their first lines say, against a real server. */
import { createHmac } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { join } from "node:path"
import { paths, type Envelope } from "@sluice/api"
import { describe, expect, test, type ExpectStatic } from "vitest"
import { MovableClock } from "../../packages/server/src/index.ts"
import { listening } from "../support/listening.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { envelope, startTestServer, type TestApp } from "../support/test-server.testing.ts"
import { ExampleProgram, isInstalled, type Language } from "./example-program.testing.ts"

const hasPython = isInstalled("python3", "python3")
const hasPhp = isInstalled("php", "php-cli")

test("the index names every example", () => {
  const directory = new URL("../../examples/", import.meta.url)
  const index = readFileSync(new URL("README.md", directory), "utf8")
  const listed = [...index.matchAll(/^\| \[([^\]]+)\]\(\1\)/gm)].map(([, name]) => name)
  expect(new Set(listed)).toEqual(new Set(readdirSync(directory).filter((name) => name !== "README.md")))
})

interface ReceiverExample {
  readonly language: Language
  readonly args: readonly string[]
  readonly stopsAt: "SIGINT" | "SIGTERM"
  readonly isThere: boolean
}

const receivers: readonly ReceiverExample[] = [
  { language: "node", args: ["receiver.ts"], stopsAt: "SIGTERM", isThere: true },
  { language: "python3", args: ["receiver.py"], stopsAt: "SIGTERM", isThere: hasPython },
  { language: "php", args: ["-S", "127.0.0.1:0", "receiver.php"], stopsAt: "SIGINT", isThere: hasPhp },
]

// They wait for the server, which saves attempts once a second.
describe.concurrent.each(receivers.filter(({ isThere }) => isThere))("the receiver in $language", (example) => {
  const { language, args, stopsAt } = example
  test("passes the challenge, handles a post once, refuses a forged delivery, and stops in order", async (context) => {
    await using directory = await temporaryDirectory()
    await using server = await startTestServer()
    const secret = server.app.client_secret
    const kept = { DATABASE: join(directory.path, "posts.db"), DELIVERIES: join(directory.path, "deliveries") }
    await using receiver = new ExampleProgram(language, args, { CLIENT_SECRET: secret, PORT: "0", ...kept })
    await context.expect.poll(() => receiver.url, { message: receiver.errors }).toBeDefined()
    const url = `${receiver.url}/`

    await server.send("POST", paths.rules, { add: [{ value: "cat", tag: "pets" }] })
    const webhook = await server.send("POST", paths.webhooks, { url })
    expect(webhook, receiver.errors).toMatchObject({ status: 200 })
    const webhookId = webhook.body.data.id as string
    expect((await server.send("POST", paths.link.replace(":webhook_id", webhookId))).status).toBe(200)

    const text = 'A "cat"\nat the gate 🐈'
    await server.ingest(envelope(1_001, text))
    const once = [{ post: "1001", text, tags: ["pets"] }]
    await context.expect.poll(() => receiver.printed, { message: receiver.errors }).toEqual(once)

    // The server itself sends it again, under the same id.
    const eventId = await deliveredId(server, webhookId, 1, context.expect)
    await server.send("POST", paths.redeliverMatches, { event_ids: [eventId] })
    await deliveredId(server, webhookId, 2, context.expect)
    expect(receiver.printed).toEqual(once)

    const body = JSON.stringify({ data: { id: "666", text: "forged" }, matching_rules: [] })
    const other = createHmac("sha256", "another secret").update(body).digest("base64")
    const headers = { "webhook-id": "msg_1_2", "x-twitter-webhooks-signature-oauth2": `sha256=${other}` }
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(403)
    expect((await fetch(url, { method: "POST", body })).status).toBe(403)
    expect(receiver.printed).toEqual(once)

    expect(await receiver.stop(stopsAt), receiver.errors).toBe(0)
  })
})

/** The id of the newest match that was delivered, once so many attempts have succeeded. */
async function deliveredId(
  app: TestApp,
  webhookId: string,
  count: number,
  { poll }: Pick<ExpectStatic, "poll">,
): Promise<string> {
  let eventId = ""
  const successes = async (): Promise<number> => {
    const { body } = await app.call(paths.attempts.replace(":webhook_id", webhookId))
    const attempts = body.data as readonly { readonly event_id: string; readonly outcome: string }[]
    eventId = attempts[0]?.event_id ?? ""
    return attempts.filter(({ outcome }) => outcome === "delivered").length
  }
  await poll(successes).toBe(count)
  return eventId
}

test("the bot greets each post once: live, after a restart of the server, and after one of its own", async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  const first = await startTestServer({ data })
  const { url, app } = first
  const { port } = new URL(url)
  const env = { SLUICE_URL: url, TOKEN: app.bearer_token, RULE: "cat", POSITION: join(directory.path, "position") }
  await using bot = new ExampleProgram("node", ["bot.ts"], env)
  await isStreamed(first)
  await first.ingest(envelope(1, "a cat"))
  const greeting = (id: string) => ({ in_reply_to: id, text: "Hello @wren!" })
  await expect.poll(() => bot.printed, { message: bot.errors }).toEqual([greeting("1")])
  await first[Symbol.asyncDispose]()

  await using second = await startTestServer({ data, port })
  // Matched before the bot is back.
  await second.ingest(envelope(2, "another cat"))
  await expect.poll(() => bot.printed, { message: bot.errors }).toEqual([greeting("1"), greeting("2")])
  expect(await bot.stop("SIGTERM"), bot.errors).toBe(0)

  // As if it had been stopped for longer than a backfill reaches.
  await writeFile(
    env.POSITION,
    (await readFile(env.POSITION, "utf8")).replaceAll(/\d{13}/g, (at) => `${+at - 600_000}`),
  )
  await second.ingest(envelope(3, "a third cat"))
  await using again = new ExampleProgram("node", ["bot.ts"], env)
  await expect.poll(() => again.printed, { message: again.errors }).toEqual([greeting("3")])
  await second.ingest(envelope(4, "a fourth cat"))
  await expect.poll(() => again.printed, { message: again.errors }).toEqual([greeting("3"), greeting("4")])
  expect(await again.stop("SIGTERM"), again.errors).toBe(0)
})

test("a bot that is stopped in the middle of a recovery goes on with it, and greets none twice", async () => {
  await using directory = await temporaryDirectory()
  const clock = new MovableClock()
  await using server = await startTestServer({ search: "off" }, "dev", undefined, { clock })
  const { url, app } = server
  await server.send("POST", paths.rules, { add: [{ value: "cat", tag: "bot" }] })
  const ids = Array.from({ length: 3_000 }, (_, at) => String(10_000 + at))
  await server.ingest(...ids.map((id) => envelope(id, `a cat ${"x".repeat(4_000)}`)))
  // Older than a backfill reaches: for the server by its clock, for the bot by its file.
  await clock.advance(600_000)
  const env = { SLUICE_URL: url, TOKEN: app.bearer_token, RULE: "cat", POSITION: join(directory.path, "position") }
  await writeFile(env.POSITION, `${JSON.stringify({ id: "", atMs: Date.now() - 600_000 })}\n`)

  await using bot = new ExampleProgram("node", ["bot.ts"], env)
  await expect.poll(() => bot.lines.length, { message: bot.errors, interval: 1 }).toBeGreaterThan(0)
  expect(await bot.stop("SIGTERM"), bot.errors).toBe(0)
  const greeted = (lines: readonly string[]) => lines.map((line) => (JSON.parse(line) as Greeting).in_reply_to)
  const before = greeted(bot.lines)
  expect(before.length).toBeLessThan(ids.length)

  await using again = new ExampleProgram("node", ["bot.ts"], env)
  await expect.poll(() => greeted(again.lines).at(-1), { message: again.errors }).toBe(ids.at(-1))
  expect([...before, ...greeted(again.lines)]).toEqual(ids)
  expect(await again.stop("SIGTERM"), again.errors).toBe(0)
})

interface Greeting {
  readonly in_reply_to: string
}

/** Resolves when a stream of the server has a client. */
async function isStreamed({ url }: TestApp): Promise<void> {
  const metrics = async (): Promise<string> => (await fetch(url + paths.metrics)).text()
  await expect.poll(metrics).toMatch(/^sluice_stream_connections\S* 1$/m)
}

test.runIf(hasPython)(
  "the source's posts are stored once, though it is killed before it knows that they are",
  async () => {
    await using directory = await temporaryDirectory()
    await using server = await startTestServer()
    const items = [
      item("First & best", "Tue, 03 Mar 2026 10:00:00 GMT"),
      item("Second", "Wed, 04 Mar 2026 10:00:00 +0100"),
      "<item><title>Without a date</title></item>",
    ]
    let notModified = 0
    await using feed = await listening((request, response) => {
      const etag = `"${items.length}"`
      if (request.headers["if-none-match"] !== etag) {
        return void response
          .setHeader("etag", etag)
          .end(`<rss><channel><title>News</title>${items.join("")}</channel></rss>`)
      }
      notModified += 1
      response.writeHead(304).end()
    })
    // Passes posts on, and keeps the server's first response to itself.
    const reports: { readonly accepted: number; readonly duplicates: number }[] = []
    const passOn = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>))
      const headers = { "content-type": "application/x-ndjson" }
      const report = await server.call(request.url ?? "", { method: "POST", headers, body })
      reports.push(report.body)
      if (reports.length > 1) response.end(report.text)
    }
    await using between = await listening((request, response) => void passOn(request, response))
    const env = {
      SLUICE_URL: between.url,
      TOKEN: server.app.bearer_token,
      STATE: join(directory.path, "state.json"),
      POLL_SECONDS: "0.05",
    }
    const start = () => new ExampleProgram("python3", ["rss-source.py", `${feed.url}/feed.xml`], env)
    await using killed = start()
    await expect.poll(() => reports, { message: killed.errors }).toMatchObject([{ accepted: 2, duplicates: 0 }])
    await killed.stop("SIGKILL")

    await using source = start()
    await expect.poll(() => reports[1], { message: source.errors }).toMatchObject({ accepted: 0, duplicates: 2 })
    await expect.poll(() => notModified).toBeGreaterThan(1)
    items.unshift(item("Third", "Thu, 05 Mar 2026 10:00:00 GMT"))
    await expect.poll(() => reports[2], { message: source.errors }).toMatchObject({ lines: 1, accepted: 1 })
    expect(source.errors).toContain("skipped, without a date or a text: 'Without a date'")
    expect(await source.stop("SIGTERM"), source.errors).toBe(0)

    // The newest is first: ids hold the dates of the items.
    const { body } = await server.call("/sluice/v1/posts?max_results=10")
    const stored = body.data as readonly Envelope[]
    expect(stored.map(({ data }) => [data?.text, data?.created_at])).toEqual([
      ["Third\nhttps://example.com/Third", "2026-03-05T10:00:00.000Z"],
      ["Second\nhttps://example.com/Second", "2026-03-04T09:00:00.000Z"],
      ["First & best\nhttps://example.com/First", "2026-03-03T10:00:00.000Z"],
    ])
  },
)

function item(title: string, date: string): string {
  const link = `https://example.com/${title.split(" ", 1)[0]}`
  return `<item><title>${title.replace("&", "&amp;")}</title><link>${link}</link><pubDate>${date}</pubDate></item>`
}
