/** X's sample of a filtered stream for Python, and tweepy, in the machine's versions: `.ci/services` installs them. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { snowflakeEpochMs } from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { envelope, startTestServer, type TestApp, type TestServer } from "../support/test-server.testing.ts"

/** A Python that has the libraries; another one may precede Debian's in the path. */
const python = ["python3", "/usr/bin/python3"].find(
  (command) => spawnSync(command, ["-c", "import requests, tweepy"]).status === 0,
)
if (python === undefined) {
  const why = "there is no python3 with requests and tweepy: install python3-requests and python3-tweepy"
  if (process.env.CI !== undefined) throw new Error(why)
  process.stderr.write(`skipping the clients for Python: ${why}\n`)
}

describe.runIf(python !== undefined)("clients for Python", () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer()
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test("X's sample for Python sets its rules and reads its stream, from an empty store and a second time", async () => {
    const app = await server.newApp()
    const first = await runSample(app)
    expect(first.map(({ step, status }) => [step, status])).toEqual([
      ["list", 200],
      ["add", 201],
      ["connect", 200],
      ["record", 200],
    ])
    expect(first.at(-1)?.body).toMatchObject({ matching_rules: [{ tag: "cat pictures" }, { tag: "" }] })
    const second = await runSample(app)
    expect(second.map(({ step, status }) => [step, status])).toEqual([
      ["list", 200],
      ["delete", 200],
      ["add", 201],
      ["connect", 200],
      ["record", 200],
    ])
    expect(second[1]?.body).toMatchObject({ meta: { summary: { deleted: 3, not_deleted: 0 } } })
  })

  test("tweepy's streaming client receives the matches of a rule with a tag and of one without", async () => {
    const printed = await run("tweepy_stream.py", await server.newApp(), () => [
      envelope(1_001, "a cat"),
      envelope(1_002, "a grey cat"),
    ])
    const [added, listed] = printed as readonly [Printed, Printed]
    const [[pets], [grey]] = added.body as [[string, string], [string, null]]
    expect(added.body).toEqual([
      [pets, "pets"],
      [grey, null],
    ])
    // The list of rules has no tag where a rule has none.
    expect(listed.body).toEqual([
      ["grey", null],
      ["cat", "pets"],
    ])
    expect(printed.slice(2)).toEqual([
      { step: "connect", body: null },
      { step: "record", body: { id: 1_001, rules: [[pets, "pets"]] } },
      {
        step: "record",
        body: {
          id: 1_002,
          rules: [
            [pets, "pets"],
            [grey, ""],
          ],
        },
      },
    ])
  })

  test("tweepy searches and counts posts and lists mentions, page by page", async () => {
    const nowMs = Date.now()
    // Counts end ten seconds before their request.
    const ids = Array.from(
      { length: 23 },
      (_, index) => (BigInt(nowMs - (index + 1) * 60_000 - snowflakeEpochMs) << 22n) + 1n,
    )
    const mention = { entities: { mentions: [{ start: 0, end: 5, id: "7", username: "wren" }] } }
    const app = await server.newApp()
    const posts = ids.map((id) => envelope(String(id), "@wren a plover", mention))
    await app.ingest(...posts)
    const printed = await run("tweepy_search.py", app, () => [])
    const numbers = ids.map(Number)
    const byStep = Object.fromEntries(printed.map(({ step, body }) => [step, body]))
    expect(byStep).toEqual({
      connect: null,
      search: [numbers.slice(0, 10), ["wren"]],
      pages: numbers,
      none: [[]],
      counts: [23, 23],
      "count pages": [23, ...Array.from({ length: pagesSince("2026-01-01") - 1 }, () => 0)],
      mentions: numbers,
    })
  })

  const runSample = (app: TestApp) => run("filtered_stream.py", app, () => [picture()])

  /** Runs a script to its end, with posts for it once it is connected. Returns its output, in order. */
  async function run(script: string, app: TestApp, posts: () => readonly unknown[]): Promise<readonly Printed[]> {
    const client = spawn(python ?? "", [fileURLToPath(new URL(script, import.meta.url))], {
      env: {
        ...process.env,
        SLUICE_URL: app.url,
        BEARER_TOKEN: app.app.bearer_token,
        NO_PROXY: "*",
        PYTHONDONTWRITEBYTECODE: "1",
      },
      stdio: ["ignore", "pipe", "pipe"],
    })
    const ended = once(client, "exit")
    const failure = text(client.stderr)
    let printed = ""
    for await (const chunk of client.stdout.setEncoding("utf8")) {
      printed += chunk as string
      if ((chunk as string).includes('"connect"')) await app.ingest(...posts())
    }
    expect(await ended, await failure).toEqual([0, null])
    return printed
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Printed)
  }
})

interface Printed {
  readonly step: string
  readonly status: number
  readonly body: unknown
}

/** Pages of 31 days from a date until now. */
function pagesSince(date: string): number {
  return Math.ceil((Date.now() - 10_000 - Date.parse(date)) / (31 * 86_400_000))
}

let pictures = 0

function picture(): unknown {
  pictures += 1
  const { data, includes } = envelope(pictures, "a cat", { attachments: { media_keys: ["3_1"] } })
  return { data, includes: { ...includes, media: [{ media_key: "3_1", type: "photo" }] } }
}
