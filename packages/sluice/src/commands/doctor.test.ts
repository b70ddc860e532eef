import { open, readdir, readFile, writeFile } from "node:fs/promises"
import { createServer, type AddressInfo } from "node:net"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, expect, test } from "vitest"
import { defineRowChecksum, rowChecksum } from "../../../server/src/store/embedded/connection/checked-rows.ts"
import { ended, run, start, startDev, type Run } from "../command.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../../../../test/support/webhook-receiver.testing.ts"

/** The output of `--json`. */
interface Printed {
  readonly ok: boolean
  readonly findings: readonly { level: string; subject: string; text: string; advice?: string }[]
  readonly proof?: {
    readonly holds: boolean
    readonly posts: Readonly<Record<string, number>>
    readonly links: readonly Readonly<Record<string, unknown>>[]
  }
}

const resources = new AsyncDisposableStack()
let directory: string
let data: string
let receiver: WebhookReceiver
let webhookId: string
let whileRunning: Run

/** Posts in the store; half of them match the rule. */
const posts = 40

beforeAll(async () => {
  directory = resources.use(await temporaryDirectory()).path
  data = join(directory, ".sluice")
  await using dev = await startDev(data)
  receiver = resources.use(await WebhookReceiver.start(dev.ready.app.consumer_secret))
  const sluice = async (...args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await run(args, { cwd: directory })
    expect({ status, stderr }).toMatchObject({ status: 0 })
    return stdout
  }
  await sluice("rules", "add", "cat")
  webhookId = (JSON.parse(await sluice("webhooks", "add", receiver.url, "--json")) as { id: string }).id
  await sluice("links", "add", webhookId)
  const lines = Array.from({ length: posts }, (_, at) =>
    JSON.stringify({
      data: { id: String(5_000 + at), text: at % 2 === 0 ? `cat number ${String(at)}` : "dog" },
    }),
  )
  await writeFile(join(directory, "posts.ndjson"), lines.join("\n"))
  await sluice("import", "posts.ndjson")
  await receiver.arrived(posts / 2)
  whileRunning = await doctor()
  dev.process.end("SIGTERM")
  expect((await dev.process.ended()).code).toBe(0)
}, 60_000)
afterAll(() => resources.disposeAsync())

function doctor(...args: string[]): Promise<Run> {
  return run(["doctor", "--json", "--data", data, ...args], { cwd: directory })
}

function printed({ stdout }: Run): Printed {
  expect(stdout.split("\n")).toHaveLength(2)
  return JSON.parse(stdout) as Printed
}

function errors(outcome: Run): readonly string[] {
  return printed(outcome)
    .findings.filter(({ level }) => level === "error")
    .map(({ text }) => text)
}

/** How the sum at the end names so many warnings, and those about the disk: how full it is, is not our doing. */
function warnings({ stdout }: Run, ours: number): string {
  const count = ours + [...stdout.matchAll(/^warning +disk |"level":"warning","subject":"disk"/gm)].length
  return count === 0 ? "no warnings" : `${String(count)} warning${count === 1 ? "" : "s"}`
}

test("next to a running server `sluice doctor` finds everything in order", () => {
  expect(whileRunning).toMatchObject({ status: 0, stderr: "" })
  expect(printed(whileRunning).proof).toMatchObject({
    holds: true,
    posts: { accepted: posts, stored: posts },
  })
})

test("after the server's end the proof accounts for every match", async () => {
  const outcome = await doctor()
  expect(outcome).toMatchObject({ status: 0, stderr: "" })
  const { ok, proof, findings } = printed(outcome)
  expect(ok).toBe(true)
  expect(proof).toMatchObject({
    holds: true,
    posts: { accepted: posts, trimmed: 0, stored: posts },
    links: [{ webhook_id: webhookId, owed: 20, delivered: 20, waiting: 0, confirmed: 20 }],
  })
  expect(findings.filter(({ level, subject }) => level !== "ok" && subject !== "disk")).toEqual([])
  expect(findings.find(({ subject }) => subject === "endpoints")?.text).toContain("answered its challenge")
})

test("a person gets a line for each finding, and a summary at the end", async () => {
  const outcome = await run(["doctor"], { cwd: directory })
  expect(outcome.status).toBe(0)
  expect(outcome.stdout).toMatch(/^ok +settings +Every setting can be read\. \.sluice\/credentials\.json is there/)
  expect(outcome.stdout).toContain(`\nok       proof       ${String(posts)} posts acknowledged = `)
  expect(outcome.stderr).toBe(`No errors, ${warnings(outcome, 0)}.\n`)
})

test("--offline sends no request", async () => {
  const before = receiver.challenges
  const outcome = await doctor("--offline")
  expect(outcome.status).toBe(0)
  expect(printed(outcome).findings.some(({ subject }) => subject === "endpoints")).toBe(false)
  expect(receiver.challenges).toBe(before)
  await doctor()
  expect(receiver.challenges).toBe(before + 1)
})

/** A copy of the data directory as it is, for a test that breaks it. */
async function copied(): Promise<{ readonly path: string; readonly file: string } & AsyncDisposable> {
  const copy = await temporaryDirectory()
  for (const name of await readdir(data))
    await writeFile(join(copy.path, name), await readFile(join(data, name)), { mode: 0o600 })
  const file = join(copy.path, "sluice.db")
  return { path: copy.path, file, [Symbol.asyncDispose]: () => copy[Symbol.asyncDispose]() }
}

/** As a server would have stored it. */
function setWebhookUrl(file: string, url: string): void {
  using db = new DatabaseSync(file)
  defineRowChecksum(db)
  db.prepare("UPDATE webhooks SET url = ?").run(url)
  db.exec(`UPDATE webhooks SET checksum = ${rowChecksum("webhooks")}`)
}

test("a dead endpoint is a warning that says what to do", async () => {
  await using copy = await copied()
  setWebhookUrl(copy.file, "http://127.0.0.1:9/\u001B[31m")
  const outcome = await run(["doctor", "--data", copy.path])
  expect(outcome.status).toBe(0)
  expect(outcome.stdout).toMatch(/^warning +endpoints +Webhook \d+ failed its challenge: .*$\n +→ /m)
  expect(outcome.stdout).not.toContain("\u001B")
  expect(outcome.stderr).toBe(`No errors, ${warnings(outcome, 1)}.\n`)
})

test("a flipped bit in a post is an error that names it", async () => {
  await using copy = await copied()
  const content = await readFile(copy.file)
  {
    await using file = await open(copy.file, "r+")
    const text = 'cat number 6"'
    for (let at = content.indexOf(text); at !== -1; at = content.indexOf(text, at + 1))
      await file.write(Buffer.of((content[at] ?? 0) ^ 4), 0, 1, at)
  }
  const outcome = await doctor("--data", copy.path, "--offline")
  expect(outcome.status).toBe(1)
  expect(outcome.stderr.replace(warnings(outcome, 0), "no warnings")).toMatch(
    /^error: Problems found: \d+ errors?, no warnings\.\n$/,
  )
  expect(errors(outcome).join("\n")).toContain("post 5006")
  expect(printed(outcome)).toMatchObject({ ok: false, proof: { holds: false } })
})

test("a link whose numbers do not add up is an error with the numbers", async () => {
  await using copy = await copied()
  {
    using db = new DatabaseSync(copy.file)
    db.exec("UPDATE links SET delivered = delivered - 1")
  }
  const outcome = await doctor("--data", copy.path, "--offline")
  expect(outcome.status).toBe(1)
  expect(errors(outcome)[0]).toMatch(
    /^The link to webhook \d+ has passed 20 matches and accounts for 19: 19 delivered, /,
  )
})

test("a store of a newer Sluice, and no store, are errors without a proof", async () => {
  await using copy = await copied()
  {
    using db = new DatabaseSync(copy.file)
    db.exec("PRAGMA user_version = 9999")
  }
  const newer = await doctor("--data", copy.path)
  expect(newer.status).toBe(1)
  expect(errors(newer)).toEqual([expect.stringContaining("it was made by a newer Sluice")])
  expect(printed(newer).proof).toBeUndefined()

  await using empty = await temporaryDirectory()
  const nowhere = await doctor("--data", join(empty.path, "nowhere"))
  expect(nowhere.status).toBe(1)
  expect(errors(nowhere)).toEqual([`There is no data directory ${join(empty.path, "nowhere")}.`])
  expect(await readdir(empty.path)).toEqual([])
})

test("settings that the server would refuse are errors", async () => {
  const outcome = await run(["doctor", "--json", "--offline", "--data", data], {
    env: { SLUICE_RETRY_SECONDS_MAX: "0" },
  })
  expect(outcome.status).toBe(1)
  expect(errors(outcome)).toEqual([expect.stringContaining("retrySecondsMax")])
})

test("wrong usage exits 2", async () => {
  expect(await doctor("--onlin")).toMatchObject({ status: 2, stdout: "" })
  expect(await doctor("extra")).toMatchObject({ status: 2, stdout: "" })
})

test("Ctrl-C ends `sluice doctor`, even while it waits for an endpoint", async () => {
  await using copy = await copied()
  const asked = Promise.withResolvers<void>()
  const silent = createServer(() => asked.resolve())
  await new Promise<void>((resolve) => {
    silent.listen(0, "127.0.0.1", resolve)
  })
  try {
    setWebhookUrl(copy.file, `http://127.0.0.1:${String((silent.address() as AddressInfo).port)}/`)
    const child = start(["doctor", "--data", copy.path])
    const end = ended(child)
    await asked.promise
    child.kill("SIGINT")
    expect(await end).toMatchObject({ status: null, stdout: "" })
  } finally {
    silent.close()
  }
})
