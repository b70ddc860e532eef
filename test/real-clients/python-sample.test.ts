/** X's sample of a filtered stream for Python, over the `requests` of the machine: `.ci/run` installs it. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { envelope, startTestServer, type TestApp, type TestServer } from "../support/test-server.testing.ts"

/** A Python that has `requests`; another one may stand before Debian's in the path. */
const python = ["python3", "/usr/bin/python3"].find(
  (command) => spawnSync(command, ["-c", "import requests"]).status === 0,
)
if (python === undefined) {
  const why = "there is no python3 with requests: install python3-requests"
  if (process.env.CI !== undefined) throw new Error(why)
  process.stderr.write(`skipping X's sample for Python: ${why}\n`)
}

describe.runIf(python !== undefined)("X's sample for Python", () => {
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
    expect(first.at(-1)?.body).toMatchObject({ matching_rules: [{ tag: "cat pictures" }] })
    const second = await runSample(app)
    expect(second.map(({ step, status }) => [step, status])).toEqual([
      ["list", 200],
      ["delete", 200],
      ["add", 201],
      ["connect", 200],
      ["record", 200],
    ])
    expect(second[1]?.body).toMatchObject({ meta: { summary: { deleted: 2, not_deleted: 0 } } })
  })

  /** Runs it to its end, with a post for it once it is connected. What it printed, in order. */
  async function runSample(app: TestApp): Promise<readonly Printed[]> {
    const sample = spawn(python ?? "", [fileURLToPath(new URL("filtered_stream.py", import.meta.url))], {
      env: { ...process.env, SLUICE_URL: app.url, BEARER_TOKEN: app.app.bearer_token, NO_PROXY: "*" },
      stdio: ["ignore", "pipe", "pipe"],
    })
    const ended = once(sample, "exit")
    const failure = text(sample.stderr)
    let printed = ""
    for await (const chunk of sample.stdout.setEncoding("utf8")) {
      printed += chunk as string
      if ((chunk as string).includes('"connect"')) await app.ingest(picture())
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

let pictures = 0

function picture(): unknown {
  pictures += 1
  const { data, includes } = envelope(pictures, "a cat", { attachments: { media_keys: ["3_1"] } })
  return { data, includes: { ...includes, media: [{ media_key: "3_1", type: "photo" }] } }
}
