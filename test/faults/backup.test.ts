/**
 * Backups while a server takes posts as fast as it can, and a restore that is killed.
 *
 * The import stands still while a copy is verified, which takes longer than the copy itself: it would make the next copy
 * larger by half each time. While a copy is made, and for a second before, it is as fast as the server takes posts.
 *
 * `SLUICE_FAULT_ROUNDS` is how many copies are made, one after every second of it, at most 20, and 2
 * without it. `npm run test:backup` makes 20.
 */
import { once } from "node:events"
import { readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { runProcess, start } from "../../packages/sluice/src/command.testing.ts"
import { examine, loadConfig, startServer } from "../../packages/server/src/index.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { SluiceClient } from "../oracle/sluice-client.ts"

const copies = Math.min(20, Number(process.env.SLUICE_FAULT_ROUNDS ?? 2))
const postsPerBody = 1_000

/** Every fiftieth post matches the rule. */
function bodyOf(number: number): string {
  const lines = Array.from({ length: postsPerBody }, (_, index) => {
    const id = number * postsPerBody + index + 1
    return JSON.stringify({
      data: { id: String(id), text: id % 50 === 0 ? `a cat, number ${id}` : `post ${id}`, author_id: "7" },
    })
  })
  return `${lines.join("\n")}\n`
}

interface Ready {
  readonly url: string
  readonly app: { readonly bearer_token: string; readonly consumer_secret: string }
}

/** A rule, and a link to a receiver of its own. */
async function linked(client: SluiceClient, receiver: WebhookReceiver): Promise<void> {
  await client.json("POST", "/2/tweets/search/stream/rules", { add: [{ value: "cat" }] })
  const webhook = (await client.json("POST", "/2/webhooks", { url: `${receiver.url}/` })) as { data: { id: string } }
  await client.json("POST", `/2/tweets/search/webhooks/${webhook.data.id}`)
}

/** Runs `sluice backup` to its end. `onCopied` is called when the store is copied, and the copy is to be verified. */
async function backedUp(data: string, copy: string, onCopied: () => void): Promise<void> {
  const child = start(["backup", copy, "--with-key", "--data", data])
  let errors = ""
  let isCopied = false
  child.stdout.resume()
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString()
    if (isCopied || !errors.includes("Verifying")) return
    isCopied = true
    onCopied()
  })
  const [status] = (await once(child, "close")) as [number | null]
  expect(status, errors).toBe(0)
  expect(isCopied).toBe(true)
}

test(`a backup every second during an import at full speed: each of ${copies} copies passes doctor and starts`, async () => {
  await using directory = await temporaryDirectory()
  const data = join(directory.path, "data")
  await using server = new SluiceProcess(data)
  const { url, app } = JSON.parse(await server.mustBeReady()) as Ready
  await using receiver = await WebhookReceiver.start(app.consumer_secret)
  const client = new SluiceClient(url, app.bearer_token)
  await linked(client, receiver)

  let [begun, acknowledged] = [0, 0]
  const over = new AbortController()
  let goesOn = Promise.resolve()
  const importing = Promise.all(
    Array.from({ length: 2 }, async () => {
      while (!over.signal.aborted) {
        await goesOn
        const number = begun
        begun += 1
        const { status } = await client.send("POST", "/sluice/v1/posts", {
          type: "application/x-ndjson",
          text: bodyOf(number),
        })
        expect(status).toBe(200)
        acknowledged += postsPerBody
      }
    }),
  )
  const made: { readonly copy: string; readonly before: number; readonly after: number }[] = []
  try {
    for (let number = 1; number <= copies; number += 1) {
      await sleep(1_000)
      const copy = join(directory.path, `copy-${number}`)
      const before = acknowledged
      const verified = Promise.withResolvers<void>()
      await backedUp(data, copy, () => {
        // The import went on while the copy was made.
        expect(acknowledged).toBeGreaterThan(before)
        made.push({ copy, before, after: begun * postsPerBody })
        goesOn = verified.promise
      }).finally(verified.resolve)
    }
  } finally {
    over.abort()
    await importing
  }
  server.end("SIGTERM")
  expect((await server.ended()).code).toBe(0)

  let position = 0
  for (const { copy, before, after } of made) {
    const { findings, proof } = await examine({ flags: { data: copy }, env: {}, isOffline: true })
    expect(findings.filter(({ level }) => level === "error")).toEqual([])
    // What was acknowledged before the backup began is in it.
    expect(proof?.posts.stored).toBeGreaterThanOrEqual(before)
    expect(proof?.posts.stored).toBeLessThanOrEqual(after)
    const config = loadConfig({ posture: "serve", flags: { data: copy, port: "0", "log-level": "silent" }, env: {} })
    const started = await startServer(config)
    try {
      const states = await new SluiceClient(started.url, app.bearer_token).json("GET", "/sluice/v1/links")
      const [link] = (states as { data: { position: number; head: number }[] }).data
      expect(link?.head).toBe(Math.floor((proof?.posts.stored ?? 0) / 50))
      expect(link?.position).toBeGreaterThanOrEqual(position)
      position = link?.position ?? 0
    } finally {
      await started.close()
    }
    await rm(copy, { recursive: true })
  }
}, 1_800_000)

test("a restore that is killed before its store is in place is no data directory, and is completed by the next one", async () => {
  await using directory = await temporaryDirectory()
  const [data, copy, place] = ["data", "copy", "place"].map((name) => join(directory.path, name)) as [
    string,
    string,
    string,
  ]
  await runProcess(["app", "create", "one", "--data", data])
  expect(await runProcess(["backup", copy, "--with-key", "--data", data])).toMatchObject({ status: 0 })
  const env = { SLUICE_CRASH_POINT: "in-placing" }
  const killed = await runProcess(["restore", copy, "--data", place], { env })
  expect(killed).toMatchObject({ status: null, stdout: "" })
  expect(killed.stderr).toContain("crash point in-placing")
  expect(await readFile(join(place, "master.key"), "utf8")).toBe(await readFile(join(copy, "master.key"), "utf8"))

  const refused = await runProcess(["serve", "--port", "0", "--data", place])
  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain("is missing, and master.key beside it says that there was one")
  expect(await runProcess(["restore", copy, "--data", place])).toMatchObject({ status: 0 })
  expect((await runProcess(["app", "list", "--data", place])).stdout).toContain("one")
}, 120_000)
