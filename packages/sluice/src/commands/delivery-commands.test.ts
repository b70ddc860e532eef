/** The commands that show deliveries and repair failed ones, against a server and a failing endpoint. */
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { run, startDev, type Run } from "../command.testing.ts"
import { listening } from "../../../../test/support/listening.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../../../../test/support/webhook-receiver.testing.ts"

const resources = new AsyncDisposableStack()
let directory: string
let receiver: WebhookReceiver
let webhookId: string

beforeAll(async () => {
  directory = resources.use(await temporaryDirectory()).path
  // One failure makes a dead letter, so that no test waits for a schedule.
  const env = { SLUICE_DELIVERY_ATTEMPTS_MAX: "1" }
  const dev = resources.use(await startDev(join(directory, ".sluice"), env))
  receiver = resources.use(await WebhookReceiver.start(dev.ready.app.consumer_secret))
  receiver.statusOf = () => 500
  await sluice("rules", "add", "cat")
  webhookId = ((await json("webhooks", "add", receiver.url)) as { id: string }).id
  await sluice("links", "add", webhookId)
}, 30_000)
afterAll(() => resources.disposeAsync())

function sluice(...args: string[]): Promise<Run> {
  return run(args, { cwd: directory })
}

async function json(...args: string[]): Promise<unknown> {
  const { status: exit, stdout, stderr } = await sluice(...args, "--json")
  expect({ exit, stderr }).toMatchObject({ exit: 0 })
  return JSON.parse(stdout)
}

interface Letter {
  readonly id: string
  readonly post_id: string
  readonly event_id: string
  readonly dead_lettered_at: string
}

async function deadLetters(count: number): Promise<readonly Letter[]> {
  let found: readonly Letter[] = []
  await expect
    .poll(
      async () => {
        found = (await json("dead-letters", "list")) as readonly Letter[]
        return found.length
      },
      { timeout: 15_000 },
    )
    .toBe(count)
  return found
}

async function importPosts(...ids: readonly string[]): Promise<void> {
  const input = ids.map((id) => JSON.stringify({ data: { id, text: "a cat" } })).join("\n")
  expect((await run(["import", "-"], { cwd: directory, input })).status).toBe(0)
}

test("dead letters are listed, counted in the state of the link, and sent again", async () => {
  expect((await sluice("dead-letters", "list")).stderr).toBe("No dead letters.\n")
  await importPosts("101", "102", "103")
  const letters = await deadLetters(3)
  expect(letters.map(({ post_id: id }) => id).toSorted()).toEqual(["101", "102", "103"])
  const shown = await sluice("dead-letters", "list", "--webhook", webhookId)
  expect(shown.stdout).toMatch(/^ID +WEBHOOK +POST +DEAD-LETTERED +FAILURES +LAST ERROR\n\d+ /)
  expect((await sluice("dead-letters", "list", "--webhook", "1")).stderr).toBe("No dead letters.\n")
  expect(await json("links", "status")).toMatchObject([{ total: { dead_letters: 3, delivered: 0 } }])
  const stated = await sluice("links", "status")
  expect(stated.stdout).toMatch(/^WEBHOOK +LAG +DELIVERED +RETRYING +DEAD LETTERS +MISSED +STATE\n\d+ +0 +0 +0 +3 +0 /)
  expect(stated.stderr).toContain("sluice dead-letters list")

  receiver.statusOf = () => 200
  receiver.received.length = 0
  const [first] = letters
  expect(await json("dead-letters", "redeliver", first?.id ?? "")).toEqual({ redelivered: 1 })
  await deadLetters(2)
  const gone = await sluice("dead-letters", "redeliver", first?.id ?? "")
  expect(gone).toMatchObject({ status: 1, stdout: "Redelivering 0 dead letters.\n" })
  expect(gone.stderr).toContain("Could not redeliver 1 dead letter: not found, or no room for retries.")
  expect(gone.stderr).toContain("a link has room for 1,000 retries or 16 MiB.")
  expect(await json("dead-letters", "redeliver", "--all", "--since", "2999-01-01T00:00:00Z")).toEqual({
    redelivered: 0,
  })
  const rest = await sluice("dead-letters", "redeliver", "--all", "--webhook", webhookId)
  expect(rest).toMatchObject({ status: 0, stdout: "Redelivering 2 dead letters.\n" })
  await expect.poll(() => receiver.received.length).toBe(3)
  const delivered = receiver.received.map(({ eventId }) => eventId)
  expect(delivered.toSorted()).toEqual(letters.map(({ event_id: id }) => id).toSorted())
  await deadLetters(0)
}, 60_000)

test("attempts are shown, newest first, as many as requested", async () => {
  receiver.statusOf = () => 500
  await importPosts("104")
  await deadLetters(1)
  await expect
    .poll(() => json("links", "attempts", webhookId, "--limit", "1"))
    .toMatchObject([
      { event_id: expect.stringMatching(/_4$/), outcome: "server_error", fault: "endpoint", status: 500 },
    ])
  const all = (await json("links", "attempts", webhookId)) as readonly { outcome: string }[]
  expect(all.length).toBeGreaterThanOrEqual(7)
  const shown = await sluice("links", "attempts", webhookId)
  expect(shown.stdout).toMatch(
    /^TIME +TOOK +EVENT +OUTCOME +STATUS +ERROR\n\S+Z +\d+ ms +msg_\d+_4 +server_error +500 /,
  )
  expect((await sluice("links", "attempts", "1")).status).toBe(1)
}, 30_000)

test("attempts are shown with the request and the response", async () => {
  const sent = receiver.received.at(-1)
  const [newest] = (await json("links", "attempts", webhookId, "--payload", "--limit", "1")) as readonly object[]
  expect(newest).toMatchObject({
    request: { method: "POST", url: receiver.url, body: sent?.body, headers: { "webhook-id": sent?.eventId } },
    response: { status: 500 },
  })
  const shown = await sluice("links", "attempts", webhookId, "--payload", "--limit", "2")
  const text = shown.stdout
  expect(text).toMatch(/^\S+Z {2}server_error {2}\d+ ms {2}msg_\d+_4\n {2}responded with status 500\n> POST http/)
  expect(text).toContain(`\n> webhook-id: ${sent?.eventId}\n`)
  expect(text).toContain(`\n${sent?.body}\n< 500\n< `)
  expect(text.match(/^> POST /gm)).toHaveLength(2)
  expect((await json("links", "attempts", webhookId, "--payload")) as readonly object[]).toHaveLength(5)
}, 30_000)

test("any match is sent again by its event id, and all failed ones at once", async () => {
  receiver.statusOf = () => 200
  const delivered = (await json("links", "attempts", webhookId)) as readonly { event_id: string; outcome: string }[]
  const eventId = delivered.find(({ outcome }) => outcome === "delivered")?.event_id ?? ""
  receiver.received.length = 0
  expect(await json("deliveries", "redeliver", eventId)).toEqual({ redelivered: 1, refused: [] })
  await expect.poll(() => receiver.received.map((one) => one.eventId)).toEqual([eventId])
  await expect
    .poll(() => json("links", "status"))
    .toMatchObject([{ total: { retrying: 0, delivered: 3, dead_letters: 1 } }])

  const failed = await sluice("deliveries", "redeliver", "--failed", "--webhook", webhookId)
  expect(failed).toMatchObject({ status: 0, stdout: "Redelivering 1 match.\n" })
  await expect.poll(() => json("links", "status")).toMatchObject([{ total: { delivered: 4, dead_letters: 0 } }])

  const refused = await sluice("deliveries", "redeliver", eventId, "msg_1_1", "nonsense")
  expect(refused).toMatchObject({ status: 1, stdout: "Redelivering 1 match.\n" })
  expect(refused.stderr).toContain("2 of 3 matches are not redelivered.")
  expect(refused.stderr).toContain("nonsense: not found")
}, 30_000)

test("a link is put in strict order and back", async () => {
  expect(await json("links", "order", webhookId, "strict")).toMatchObject({
    webhook_id: webhookId,
    ordered: true,
  })
  await expect
    .poll(async () => (await sluice("links", "status")).stdout)
    .toMatch(/ in order, (up to date|failing since)/)
  const back = await sluice("links", "order", webhookId, "any")
  expect(back).toMatchObject({ status: 0, stdout: `Webhook ${webhookId} receives matches in any order.\n` })
}, 30_000)

test("a link is paused and resumed", async () => {
  expect(await json("links", "pause", webhookId)).toMatchObject({ webhook_id: webhookId, paused: true })
  expect((await sluice("links", "status")).stdout).toContain(" paused since ")
  const again = await sluice("links", "pause", webhookId)
  expect(again.stdout).toBe(
    `Paused webhook ${webhookId}: matches wait. To deliver them: sluice links resume ${webhookId}\n`,
  )
  const resumed = await sluice("links", "resume", webhookId)
  expect(resumed).toMatchObject({ status: 0, stdout: `Resumed webhook ${webhookId}: what waited is delivered.\n` })
  expect(await json("links", "status")).toMatchObject([{ paused: false }])
}, 30_000)

test("a signing key is rotated, and the old one stays valid for a while", async () => {
  const before = (await json("webhooks", "key", webhookId)) as { signing_key: string }
  const after = (await json("webhooks", "rotate-key", webhookId)) as { signing_key: string }
  expect(after.signing_key).toMatch(/^whsec_/)
  expect(after.signing_key).not.toBe(before.signing_key)
  const shown = await sluice("webhooks", "key", webhookId)
  expect(shown.stdout).toBe(`${after.signing_key}\n`)
  expect(shown.stderr).toMatch(/^The previous key is also used until \d{4}-.*Z\.\n$/)
})

test("a replay is requested by minutes, and the server decides which matches it can replay", async () => {
  expect((await sluice("webhooks", "replays")).stderr).toContain("No replays yet.")
  const young = await sluice(
    "webhooks",
    "replay",
    webhookId,
    "--from",
    "2026-03-14T12:30+01:00",
    "--to",
    "202603141145",
  )
  expect(young).toMatchObject({ status: 1, stdout: "" })
  // The server repeats the value that it received: a minute in UTC.
  expect(young.stderr).toContain("from_date is more than 24 hours ago")

  const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString()
  const started = await json("webhooks", "replay", webhookId, "--from", minutesAgo(60), "--to", minutesAgo(40))
  const { job_id: jobId } = started as { job_id: string }
  await expect.poll(() => json("webhooks", "replays")).toMatchObject([{ job_id: jobId, webhook_id: webhookId }])
  expect((await sluice("webhooks", "replays")).stdout).toMatch(
    new RegExp(
      `^ID +WEBHOOK +FROM \\(UTC\\) +TO \\(UTC\\) +DELIVERED +FAILED +STATE\\n${jobId} +${webhookId} +\\d{12} +\\d{12} `,
    ),
  )
}, 30_000)

test.each<[args: readonly string[], said: string]>([
  [["dead-letters", "redeliver"], "specify ids of dead letters, or --all"],
  [["dead-letters", "redeliver", "1", "--all"], "specify ids of dead letters, or --all"],
  [["dead-letters", "redeliver", "1", "--webhook", "2"], "--webhook and --since require --all"],
  [["dead-letters", "redeliver", "--all", "--since", "noon"], "Expected a time such as"],
  [["deliveries", "redeliver"], "specify event ids, or --failed"],
  [["deliveries", "redeliver", "msg_1_1", "--failed", "--webhook", "1"], "specify event ids, or --failed"],
  [["deliveries", "redeliver", "--failed"], "--failed and --webhook must be used together"],
  [["links", "order", "1", "loose"], "Allowed choices are strict, any"],
  [["links", "attempts", "1", "--limit", "0"], "Expected a whole number from 1 to 1000."],
  [["links", "attempts", "1", "--limit", "1001"], "Expected a whole number from 1 to 1000."],
  [["webhooks", "replay", "1", "--from", "202603141230"], "required option '--to <minute>' not specified"],
  [["webhooks", "replay", "1", "--from", "yesterday", "--to", "202603141230"], "Expected a minute such as"],
  [["webhooks", "replay", "1", "--from", "2026-02-30T99:00Z", "--to", "202603141230"], "Expected a minute such as"],
])("wrong usage exits 2 with the reason: %j", async (args, said) => {
  const outcome = await sluice(...args)
  expect(outcome).toMatchObject({ status: 2, stdout: "" })
  expect(outcome.stderr).toContain(said)
})

// A server would need more than a thousand dead letters of one link.
test("dead letters for which a link has no room are reported", async () => {
  const newest = { id: "1", webhook_id: "2", dead_lettered_at: "2026-03-14T12:30:00.000Z" }
  await using server = await listening((request, response) => {
    const body = request.method === "POST" ? { data: { redelivered: 1_000 } } : { data: [newest], meta: {} }
    response.end(JSON.stringify(body))
  })
  const redeliver = (...args: string[]): Promise<Run> =>
    run(["dead-letters", "redeliver", "--all", "--url", server.url, "--token", "t", ...args], { cwd: directory })
  const some = await redeliver()
  expect(some).toMatchObject({ status: 1, stdout: "Redelivering 1000 dead letters.\n" })
  expect(some.stderr).toContain("Dead letters remain: there is no room for more retries.")
  expect(await redeliver("--since", "2026-03-14T12:30:00Z")).toMatchObject({ status: 1 })
  expect(await redeliver("--since", "2026-03-14T12:31:00Z")).toMatchObject({ status: 0, stderr: "" })
})
