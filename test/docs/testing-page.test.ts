/** The commands of docs/testing.md, run as they stand there. */
import { readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { paths } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { run } from "../../packages/sluice/src/command.testing.ts"
import { readEnvironment } from "../../packages/sluice/src/environment.ts"
import { runProgram } from "../../packages/sluice/src/program.ts"
import { postFrame, startJetstreamHost } from "../../packages/server/src/sources/bluesky/jetstream-host.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { startTestServer, type TestServer } from "../support/test-server.testing.ts"

const page = readFileSync(new URL("../../docs/testing.md", import.meta.url), "utf8")

const commands = Array.from(page.matchAll(/^```sh\n(.*?)^```$/gms), ([, block = ""]) => block.trim().split("\n")).flat()

const resources = new AsyncDisposableStack()
let at: TestServer
let env: Readonly<Record<string, string>>
let webhookId: string
let ruleId: string
let directory: string

/** A directory with the files that the page names: sources that are on this machine, and items of one of them. */
async function prepareSources(): Promise<string> {
  const { path } = resources.use(await temporaryDirectory())
  const jetstream = resources.use(await startJetstreamHost(...Array.from({ length: 5 }, () => postFrame("A heron", 1))))
  const sources = [
    { name: "sky", type: "bluesky", urls: jetstream.url },
    { name: "feed", type: "http", url: "https://feed.example.com/", mapping: '{ "uri": "feed:" & id, "text": words }' },
  ]
  await writeFile(join(path, "sluice.yaml"), JSON.stringify({ sources }))
  await writeFile(join(path, "items.ndjson"), '{ "id": 1, "words": "A heron" }\n')
  return path
}

beforeAll(async () => {
  at = resources.use(await startTestServer())
  directory = await prepareSources()
  const { bearer_token, consumer_secret } = at.app
  env = {
    SLUICE_URL: at.url,
    SLUICE_TOKEN: bearer_token,
    SLUICE_CONSUMER_SECRET: consumer_secret,
    SLUICE_SOURCE_ALLOW: "127.0.0.0/8",
  }
  webhookId = await at.webhook()
  ruleId = (await at.send("POST", paths.rules, { add: [{ value: "heron" }] })).body.data[0].id as string
})

afterAll(() => resources.disposeAsync())

/** The words of a line, quotes taken off, with ids in place of their names. */
function wordsOf(line: string): readonly string[] {
  const words = Array.from(
    line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g),
    ([, single, double, bare]) => single ?? double ?? bare ?? "",
  )
  const named: Readonly<Record<string, string>> = { WEBHOOK_ID: webhookId, RULE_ID: ruleId }
  return words.map((word) => named[word] ?? word)
}

/** Runs `listen` until it is ready, as when the reader of its output leaves then. */
async function listenUntilReady(args: readonly string[]): Promise<{ status: number; stderr: string }> {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
  let stderr = ""
  streams.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString()
    if (chunk.includes("sluice trigger")) streams.stdout.emit("error", Object.assign(new Error(), { code: "EPIPE" }))
  })
  const status = await runProgram(args, { ...streams, environment: readEnvironment(env) })
  return { status, stderr }
}

test("the page has every command of the three", () => {
  const subcommands = commands.filter((line) => line.startsWith("sluice trouble")).map((line) => line.split(" ")[2])
  expect(new Set(subcommands)).toEqual(
    new Set(["responses", "repeats", "challenges", "page-tokens", "disconnect", "list", "clear"]),
  )
  expect(commands.length).toBeGreaterThan(15)
})

test.each(commands)("the command works as written: %s", async (line) => {
  const [program, ...args] = wordsOf(line)
  expect(program).toBe("sluice")
  const outcome = args[0] === "listen" ? await listenUntilReady(args) : await run(args, { env, cwd: directory })
  expect(outcome, outcome.stderr).toMatchObject({ status: 0 })
})
