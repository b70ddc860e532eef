/** Replays and retention on a server whose log holds matches of hours ago, put into its store before it starts. */
import { paths, snowflakeEpochMs, type LinkDetail, type ReplayState } from "@sluice/api"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { AppId, PostId } from "../../model/ids.ts"
import { signature } from "../../runtime/signatures.ts"
import { openTestedStore } from "../../store/tested-store.testing.ts"
import { startTestServer, type TestResponse, type TestServer } from "../../../../../test/support/test-server.testing.ts"
import { WebhookReceiver } from "../../../../../test/support/webhook-receiver.testing.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs

let data: TemporaryDirectory
let server: TestServer
let app: TestServer["app"]
let receiver: WebhookReceiver
let webhook: string

beforeEach(async () => {
  data = await temporaryDirectory()
  await start()
  ;({ app } = server)
  receiver = await WebhookReceiver.start(app.consumer_secret)
  const made = await ask("POST", paths.webhooks, { url: receiver.url })
  webhook = made.body.data.id
  await ask("POST", `${paths.links}/${webhook}`)
  await ask("POST", paths.rules, { add: [{ value: "cat" }] })
})

afterEach(async () => {
  await stop()
  await receiver[Symbol.asyncDispose]()
  await data.remove()
})

async function start(): Promise<void> {
  server = await startTestServer({ data: data.path, search: "off" })
}

async function stop(): Promise<void> {
  await server[Symbol.asyncDispose]()
}

/** A request of the app, which outlives a restart. */
function ask(method: string, path: string, body?: unknown): Promise<TestResponse> {
  return server.send(method, path, body, app.bearer_token)
}

/** Matches of the app, made at `atMs`, in the log of the server that is stopped. */
async function appendOld(atMs: number, ids: readonly number[]): Promise<void> {
  await using store = await openTestedStore(data.path)
  const batch = ids.map((id) => ({
    post: {
      id: String(id) as PostId,
      createdAtMs: atMs,
      isReply: false,
      isRepost: false,
      core: Buffer.from(JSON.stringify({ id: String(id), text: "an old cat", edit_history_tweet_ids: [String(id)] })),
      envelope: Buffer.from(JSON.stringify({ data: { id: String(id), text: "an old cat" } })),
      userIds: [],
      users: [],
      includedIds: [],
    },
    matches: [{ appId: app.application_id as AppId, rules: [{ id: "5", tag: "" }] }],
  }))
  await store.append(batch, atMs)
}

async function ingest(...ids: readonly number[]): Promise<void> {
  await server.ingest(...ids.map((id) => ({ data: { id: String(id), text: "a cat" } })))
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index)

const minute = (atMs: number): string => new Date(atMs).toISOString().slice(0, 16).replaceAll(/\D/g, "")

async function replays(): Promise<ReplayState[]> {
  return (await ask("GET", paths.replays)).body.data
}

async function state(): Promise<LinkDetail> {
  return (await ask("GET", paths.linkDetail.replace(":webhook_id", webhook))).body.data
}

/** How often each post has arrived. */
function arrivals(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { body } of receiver.received) {
    const id = (JSON.parse(body) as { data?: { id: string } }).data?.id
    if (id !== undefined) counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  return counts
}

const completion = () => receiver.received.find(({ body }) => body.includes("replay_job_status"))

describe("a replay", () => {
  test("a replay sends a past window again, shows its progress, and sends the completion event of X", async () => {
    await stop()
    const atMs = Date.now() - 2 * hourMs
    await appendOld(atMs - 10 * minuteMs, range(1, 20))
    await appendOld(atMs, range(21, 60))
    await appendOld(atMs + 10 * minuteMs, range(61, 80))
    await start()
    await expect.poll(() => arrivals().size).toBe(80)

    const window = { from_date: minute(atMs - minuteMs), to_date: minute(atMs + minuteMs) }
    const made = await ask("POST", paths.webhookReplay, { webhook_id: webhook, ...window })
    expect(made.status).toBe(200)
    const { job_id: jobId } = made.body.data as { job_id: string }
    expect(made.body).toEqual({
      data: {
        job_id: expect.stringMatching(/^\d{1,19}$/) as string,
        created_at: expect.stringMatching(/Z$/) as string,
      },
    })
    await expect
      .poll(() => completion()?.body)
      .toBe(
        JSON.stringify({
          replay_job_status: {
            webhook_id: webhook,
            job_state: "Complete",
            job_state_description: "Job completed successfully",
            job_id: jobId,
          },
        }),
      )
    const { headers = {}, body = "" } = completion() ?? {}
    expect(headers["webhook-id"]).toBe(`replay_${jobId}`)
    expect(headers["x-twitter-webhooks-signature"]).toBe(signature(app.consumer_secret, body))
    expect(await replays()).toEqual([
      {
        job_id: jobId,
        webhook_id: webhook,
        application_id: app.application_id,
        ...window,
        state: "complete",
        position: 60,
        end: 60,
        delivered: 40,
        failed: 0,
        created_at: expect.stringMatching(/Z$/) as string,
        ended_at: expect.stringMatching(/Z$/) as string,
      },
    ])
    const counts = arrivals()
    for (const id of range(1, 80)) expect(counts.get(String(id)), `post ${id}`).toBe(id > 20 && id <= 60 ? 2 : 1)
    expect(await state()).toMatchObject({ position: 80, lag: 0, total: { delivered: 80 } })
  })

  test("live deliveries arrive during a replay and a backfill, and each job ends", async () => {
    await stop()
    const atMs = Date.now() - hourMs
    await appendOld(atMs, range(1, 200))
    await start()
    await expect.poll(() => arrivals().size).toBe(200)
    // From now on a replayed match takes long, and the first of the live ones fail once.
    const failed = new Set<string>()
    receiver.statusOf = ({ body, headers }) => {
      const id = String(headers["webhook-id"])
      if (!body.includes("an old cat") && failed.size < 5 && !failed.has(id)) {
        failed.add(id)
        return 503
      }
      return 200
    }
    const window = { from_date: minute(atMs - minuteMs), to_date: minute(atMs + minuteMs) }
    const [made, conflict] = [
      await ask("POST", paths.webhookReplay, { webhook_id: webhook, ...window }),
      await ask("POST", paths.webhookReplay, { webhook_id: webhook, ...window }),
    ]
    expect(made.status).toBe(200)
    // The first one may be through already.
    if (conflict.status !== 200) {
      expect(conflict).toMatchObject({
        status: 409,
        body: { detail: expect.stringMatching(/^ReplayConflictError: /) as string },
      })
    }
    await ingest(...range(1_001, 1_100))
    const backfill = new AbortController()
    const stream = await fetch(`${server.url}${paths.stream}?backfill_minutes=1`, {
      headers: { authorization: `Bearer ${app.bearer_token}` },
      signal: backfill.signal,
    })
    let streamed = ""
    const reading = (async () => {
      for await (const chunk of stream.body ?? []) streamed += Buffer.from(chunk as Uint8Array).toString()
    })().catch(() => undefined)
    await ingest(...range(1_101, 1_200))
    await expect.poll(() => arrivals().size).toBe(400)
    await expect.poll(async () => (await replays()).map((one) => one.state)).not.toContain("running")
    await expect.poll(() => streamed.trim().split("\r\n").length).toBe(200)
    backfill.abort()
    await reading
    expect(streamed).not.toContain("an old cat")
    await expect
      .poll(async () => (await state()).total)
      .toMatchObject({
        delivered: 400,
        retrying: 0,
        dead_letters: 0,
      })
    const counts = arrivals()
    for (const id of range(1, 200)) expect(counts.get(String(id))).toBeGreaterThanOrEqual(2)
  })

  test("a replay continues after a restart, and repeats nothing", async () => {
    await stop()
    const atMs = Date.now() - hourMs
    await appendOld(atMs, range(1, 300))
    await start()
    await expect.poll(() => arrivals().size).toBe(300)
    receiver.received.length = 0
    // Half of it, and then nothing is taken until the server is stopped.
    receiver.statusOf = () => (receiver.received.length <= 150 ? 200 : 500)
    await ask("POST", paths.webhookReplay, {
      webhook_id: webhook,
      from_date: minute(atMs),
      to_date: minute(atMs),
    })
    await expect.poll(async () => (await replays())[0]?.delivered ?? 0).toBe(150)
    await stop()
    receiver.statusOf = () => 200
    expect(new Set(arrivals().keys()).size).toBe(158)
    await start()
    await expect
      .poll(async () => (await replays())[0])
      .toMatchObject({
        state: "complete",
        delivered: 300,
        failed: 0,
      })
    await expect.poll(() => completion() !== undefined).toBe(true)
    const counts = arrivals()
    expect(counts.size).toBe(300)
    const repeated = [...counts.values()].filter((count) => count > 1).length
    expect(repeated, "those that were not taken").toBe(8)
  })

  const wrong = [
    [{}, /`webhook_id` is missing/],
    [{ webhook_id: 1, from_date: "1", to_date: "1" }, /`webhook_id` must be a string/],
    [{ webhook_id: "1", from_date: 202601010000, to_date: "1" }, /`from_date` must be a string/],
    [{ webhook_id: "1", from_date: "1", to_date: "1", more: 1 }, /`more` is not known here/],
    [{ webhook_id: "1", from_date: "x", to_date: "1" }, /QueryParamInvalid: from_date is not a minute in UTC/],
  ] as const

  test("an invalid replay request is refused, and the path is not mistaken for a webhook", async () => {
    for (const [body, expected] of wrong) {
      const response = await ask("POST", paths.webhookReplay, body)
      expect(response.status).toBe(400)
      expect(response.text).toMatch(expected)
    }
    for (const method of ["GET", "PUT", "DELETE"]) {
      expect((await ask(method, paths.webhookReplay)).status).toBe(405)
    }
    expect(await replays()).toEqual([])
  })
})

describe("retention", () => {
  test("retention that overtakes a link shows in the link's state, in the metrics and in the sum", async () => {
    receiver.statusOf = () => 410
    await ingest(1)
    await expect.poll(async () => (await state()).valid).toBe(false)
    await stop()
    await appendOld(Date.now() - 73 * hourMs, range(2, 700))
    await appendOld(Date.now() - hourMs, [701])
    await start()
    await expect.poll(async () => (await state()).total.missed).toBe(699)
    const gapped = await state()
    expect(gapped).toMatchObject({
      valid: false,
      invalid_reason: "responded with 410 Gone",
      total: { delivered: 0, retrying: 1, missed: 699 },
      gaps: [{ from: 2, to: 700, at: expect.stringMatching(/Z$/) as string }],
    })
    const metrics = async (): Promise<string> => (await ask("GET", paths.metrics)).text
    expect(await metrics()).toMatch(/^sluice_gap_matches_total 699$/m)
    // Counted when a pass of retention ends, which may be after a link has noticed it.
    await expect.poll(metrics).toMatch(/^sluice_retention_trimmed_total\{kind="match"\} \d+$/m)

    receiver.statusOf = () => 200
    expect((await ask("PUT", `${paths.webhooks}/${webhook}`)).body).toEqual({ data: { valid: true } })
    await expect
      .poll(async () => (await state()).total)
      .toEqual({
        delivered: 2,
        retrying: 0,
        dead_letters: 0,
        expired: 0,
        missed: 699,
        withdrawn: 0,
      })
    expect([...arrivals().keys()].toSorted()).toEqual(["1", "701"])
  })
})

describe("a recovery", () => {
  test("a recovery stream holds a past window, and ends", async () => {
    await stop()
    const atMs = Date.now() - 3 * hourMs
    await appendOld(atMs - 1, [1])
    await appendOld(atMs, range(2, 250))
    await appendOld(atMs + hourMs, [251])
    await start()
    const window = new URLSearchParams({
      start_time: new Date(atMs).toISOString(),
      end_time: new Date(atMs + hourMs).toISOString(),
    })
    const { status, text } = await ask("GET", `${paths.stream}?${window.toString()}`)
    expect(status).toBe(200)
    const ids = text
      .trim()
      .split("\r\n")
      .map((line) => Number((JSON.parse(line) as { data: { id: string } }).data.id))
    expect(ids).toEqual(range(2, 250))
  })

  const wrong = [
    ["end_time=2026-01-01T00:00:00Z", /`end_time` query parameter needs a `start_time`/],
    ["start_time=2026-01-01T00:00:00Z&backfill_minutes=1", /exclude each other/],
    ["start_time=2020-01-01T00:00:00Z", /`start_time` is more than 24 hours ago/],
    ["start_time=2999-01-01T00:00:00Z", /`start_time` is in the future/],
    ["start_time=yesterday", /`start_time` query parameter value \[yesterday\] is not valid/],
    [
      "start_time=2026-01-02T00:00:00Z&end_time=2026-01-01T00:00:00Z",
      /'start_time' must be before 'end_time':2026-01-01T00:00Z/,
    ],
  ] as const

  test("an invalid recovery request is refused", async () => {
    for (const [query, expected] of wrong) {
      const { status, text } = await ask("GET", `${paths.stream}?${query}`)
      expect(status).toBe(400)
      expect(text).toMatch(expected)
    }
  })
})

describe("a backfill", () => {
  const idAt = (atMs: number, number = 0): string =>
    ((BigInt(Math.floor(atMs) - snowflakeEpochMs) << 22n) + BigInt(number)).toString()
  const since = (atMs: number): string => new Date(atMs).toISOString()

  async function addRule(value: string, tag = ""): Promise<string> {
    const { body } = await ask("POST", paths.rules, { add: [{ value, tag }] })
    return body.data[0].id
  }

  const backfilled = () =>
    receiver.received.filter(({ headers }) => /^replay_\d+_\d+$/.test(String(headers["webhook-id"])))

  const rulesOf = (body: string): readonly string[] =>
    (JSON.parse(body) as { matching_rules: { id: string }[] }).matching_rules.map(({ id }) => id)

  async function ended(jobId: string): Promise<ReplayState> {
    const find = async () => (await replays()).find(({ job_id }) => job_id === jobId)
    await expect.poll(async () => (await find())?.state, { timeout: 30_000 }).toMatch(/complete/)
    return (await find()) as ReplayState
  }

  test("a backfill delivers once what came before its rules, over the link that was named, also after a restart", async () => {
    const beginMs = Date.now() - hourMs
    const posts = Array.from({ length: 120 }, (_, at) => ({
      data: { id: idAt(beginMs + at * 1_000), text: at % 3 === 0 ? "a heron" : at % 3 === 1 ? "an egret" : "a cat" },
    }))
    await server.ingest(...posts)
    const other = await WebhookReceiver.start(app.consumer_secret)
    const otherHook = (await ask("POST", paths.webhooks, { url: other.url })).body.data.id as string
    await ask("POST", `${paths.links}/${otherHook}`)
    const [heron, bird] = [await addRule("heron", "birds"), await addRule("heron OR egret")]
    // It arrives now, with the id of an earlier time, so the rules match it as it comes.
    const late = idAt(beginMs + 30_500)
    await server.ingest({ data: { id: late, text: "a late heron" } })
    const made = await ask("POST", paths.replays, {
      webhook_id: webhook,
      rule_ids: [bird, heron],
      since: since(beginMs + 30_000),
    })
    expect(made).toMatchObject({
      status: 200,
      body: {
        data: {
          webhook_id: webhook,
          application_id: app.application_id,
          state: "searching",
          delivered: 0,
          rules: [
            { id: heron, value: "heron", tag: "birds" },
            { id: bird, value: "heron OR egret", tag: "" },
          ],
        },
      },
    })
    const jobId = made.body.data.job_id as string
    // The search begins a few seconds after the rules were added.
    await stop()
    await start()
    expect(await ended(jobId)).toMatchObject({ state: "complete", delivered: 60, failed: 0, position: 60, end: 60 })
    const wanted = posts
      .slice(30)
      .map((post) => post.data)
      .filter(({ text }) => text !== "a cat")
    const got = new Map(
      backfilled().map(({ body }) => [(JSON.parse(body) as { data: { id: string } }).data.id, rulesOf(body)]),
    )
    expect(backfilled()).toHaveLength(60)
    expect(new Set(backfilled().map(({ headers }) => headers["webhook-id"])).size).toBe(60)
    expect(got).toEqual(new Map(wanted.map(({ id, text }) => [id, text === "a heron" ? [heron, bird] : [bird]])))
    // Delivered live, once.
    expect(arrivals().get(late)).toBe(1)
    await expect.poll(() => completion()?.headers["webhook-id"]).toBe(`replay_${jobId}`)
    expect(other.received.filter(({ headers }) => String(headers["webhook-id"]).startsWith("replay_"))).toEqual([])
    expect(await state()).toMatchObject({ lag: 0 })
    await other[Symbol.asyncDispose]()
  })

  test("a backfill is cancelled, and makes room for another replay", async () => {
    const beginMs = Date.now() - hourMs
    await server.ingest(
      ...Array.from({ length: 50 }, (_, at) => ({ data: { id: idAt(beginMs, at), text: "a heron" } })),
    )
    const heron = await addRule("heron")
    const body = { webhook_id: webhook, rule_ids: [heron], since: since(beginMs) }
    const { job_id: jobId } = (await ask("POST", paths.replays, body)).body.data as { job_id: string }
    expect(await ask("POST", paths.replays, body)).toMatchObject({ status: 409 })
    const replay = paths.replay.replace(":job_id", jobId)
    const stranger = await server.newApp()
    const foreign = await server.send("DELETE", replay, undefined, stranger.app.bearer_token)
    expect(foreign).toMatchObject({ status: 404 })
    const cancelled = await ask("DELETE", replay)
    expect(cancelled).toMatchObject({ status: 200, body: { data: { job_id: jobId, state: "cancelled" } } })
    expect(await ask("DELETE", replay)).toMatchObject({
      status: 409,
      body: { detail: `The replay [${jobId}] has ended: it is cancelled.` },
    })
    const again = (await ask("POST", paths.replays, body)).body.data as { job_id: string }
    expect(await ended(again.job_id)).toMatchObject({ state: "complete", delivered: 50 })
    expect(backfilled().filter(({ headers }) => String(headers["webhook-id"]).includes(jobId))).toEqual([])
  })

  test("a backfill that cannot be is refused, and nothing is kept of it", async () => {
    const rule = await addRule("heron")
    const stranger = await server.newApp()
    const theirs = await server.send("POST", paths.rules, { add: [{ value: "heron" }] }, stranger.app.bearer_token)
    const foreign = theirs.body.data[0].id as string
    const valid = { webhook_id: webhook, rule_ids: [rule], since: since(Date.now() - hourMs) }
    const refused: readonly (readonly [object, number, string])[] = [
      [{ ...valid, rule_ids: [rule, foreign] }, 404, `Could not find rule with rule_ids: [${foreign}].`],
      [{ ...valid, rule_ids: ["404"] }, 404, "Could not find rule with rule_ids: [404]."],
      [{ ...valid, webhook_id: "404" }, 404, "Could not find webhook with webhook_id: [404]."],
      [{ ...valid, since: since(Date.now() + 1_000) }, 400, "Give a `since` before that."],
      [{ ...valid, since: "2026-02-30T00:00:00Z" }, 400, "since"],
      [{ ...valid, since: undefined }, 400, "since"],
      [{ ...valid, rule_ids: [] }, 400, "rule_ids"],
      [{ ...valid, rule_ids: [rule, rule] }, 400, "rule_ids"],
      [{ ...valid, rule_ids: Array.from({ length: 26 }, (_, at) => String(at)) }, 400, "rule_ids"],
      [{ ...valid, rule_ids: ["x"] }, 400, "rule_ids"],
      [{ ...valid, until: "2026-02-03T00:00:00Z" }, 400, "until"],
    ]
    for (const [body, status, text] of refused) {
      const response = await ask("POST", paths.replays, body)
      expect(response.status, JSON.stringify(body)).toBe(status)
      expect(JSON.stringify(response.body)).toContain(text)
    }
    expect((await server.send("POST", paths.replays, valid, stranger.app.bearer_token)).status).toBe(404)
    expect((await server.send("POST", paths.replays, valid, "unknown")).status).toBe(401)
    expect(await replays()).toEqual([])
  })
})
