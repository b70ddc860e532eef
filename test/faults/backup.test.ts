/**
 * Backups while a server ingests posts at full speed, and a restore that is killed.
 *
 * The import pauses while a copy is verified, which takes longer than the copy itself: otherwise it would make the next
 * copy larger by half each time. While a copy is made, and for a second before, it runs at full speed.
 *
 * `SLUICE_FAULT_ROUNDS` is the number of copies, one after every second of import: at most 20, by default 2. `npm run
 * test:backup` makes 20.
 */
import { once } from "node:events"
import { readdir, readFile, rm } from "node:fs/promises"
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

/** Adds a rule and a link to a new receiver. */
async function linked(client: SluiceClient, receiver: WebhookReceiver): Promise<void> {
  await client.json("POST", "/2/tweets/search/stream/rules", { add: [{ value: "cat" }] })
  const webhook = (await client.json("POST", "/2/webhooks", { url: `${receiver.url}/` })) as { data: { id: string } }
  await client.json("POST", `/2/tweets/search/webhooks/${webhook.data.id}`)
}

/** Runs `sluice backup` to its end. Calls `onCopied` when the store is copied, before the copy is verified. */
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
        // The import continued while the copy was made.
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
    // The copy holds all posts acknowledged before the backup began.
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

/** A store with an app, and a backup of it, in a directory that takes further files. */
async function backedUpApp(withKey: boolean, path: (name: string) => string): Promise<void> {
  await runProcess(["app", "create", "one", "--data", path("data")])
  const backup = ["backup", path("copy"), ...(withKey ? ["--with-key"] : []), "--data", path("data")]
  expect(await runProcess(backup)).toMatchObject({ status: 0 })
}

/** Runs a command and kills it at the given visit of the crash point at which it moves files into place. */
async function killedInPlacing(visit: number, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const killed = await runProcess([...args], { env: { ...env, SLUICE_CRASH_POINT: `in-placing:${visit}` } })
  expect(killed).toMatchObject({ status: null, stdout: "" })
  expect(killed.stderr).toContain("crash point in-placing")
}

test.each([
  ["with the key in the backup", true, 1],
  ["with the key in the backup, which is in place", true, 2],
  ["with the key in the settings", false, 1],
])(
  "a server and every command refuse the directory of a restore killed %s, and the next restore completes it",
  async (_, withKey, visit) => {
    await using directory = await temporaryDirectory()
    const path = (name: string): string => join(directory.path, name)
    await backedUpApp(withKey, path)
    const key = await readFile(path("data/master.key"), "utf8")
    const env = withKey ? {} : { SLUICE_MASTER_KEY: key.trim() }
    const restore = ["restore", path("copy"), "--data", path("place")]
    await killedInPlacing(visit, restore, env)
    const before = await readdir(path("place"))
    expect(before).not.toContain("sluice.db")
    for (const command of [
      ["serve", "--port", "0"],
      ["dev", "--port", "0"],
      ["app", "list"],
    ]) {
      const refused = await runProcess([...command, "--data", path("place")], { env })
      expect(refused.status, refused.stderr).toBe(1)
      expect(refused.stderr).toContain("was not finished")
      expect(refused.stderr).toContain("Run `sluice restore` again")
    }
    expect(await readdir(path("place"))).not.toContain("sluice.db")
    expect(await runProcess(restore, { env })).toMatchObject({ status: 0 })
    expect((await runProcess(["app", "list", "--data", path("place")], { env })).stdout).toContain("one")
    expect((await readdir(path("place"))).filter((name) => name.startsWith(".partial-"))).toEqual([])
  },
  120_000,
)

test("a backup that is killed between any of its renames leaves no description without a store", async () => {
  await using directory = await temporaryDirectory()
  const path = (name: string): string => join(directory.path, name)
  await runProcess(["app", "create", "one", "--data", path("data")])
  const found: string[][] = []
  // Before the key, the store, the description, and after it.
  for (const visit of [1, 2, 3, 4]) {
    await killedInPlacing(visit, ["backup", path(`copy-${visit}`), "--with-key", "--data", path("data")])
    const names = await readdir(path(`copy-${visit}`))
    found.push(["master.key", "sluice.db", "backup.json"].filter((name) => names.includes(name)))
  }
  expect(found).toEqual([[], ["master.key"], ["master.key", "sluice.db"], ["master.key", "sluice.db", "backup.json"]])
  const restored = await runProcess(["restore", path("copy-3"), "--data", path("place")])
  expect(restored.status, restored.stderr).toBe(0)
  expect(restored.stdout).toContain("has no backup.json with its SHA-256")
}, 120_000)
