import type { ReplayState } from "@sluice/api"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  createRecordedEvents,
  makeLinkHarness,
  withMethods,
  type LinkHarness,
} from "../../delivery/links/link-harness.testing.ts"
import { presentNewReplay, presentReplay } from "../../http/present/deliveries.ts"
import type { AppId, MatchSeq, PostId, ReplayId, WebhookId } from "../../model/ids.ts"
import { Problem } from "../../model/problem.ts"
import { createManualClock, type ManualClock } from "../../runtime/manual-clock.testing.ts"
import { systemRandom } from "../../runtime/random.ts"
import { createSnowflakes } from "../../runtime/snowflakes.ts"
import { createReplayRequests, type ReplayRequests } from "./replay-requests.ts"
import { createRetention } from "../retention.ts"
import { soleLeases } from "../../store/leases.ts"

const app = "1" as AppId
const hourMs = 3_600_000

let harness: LinkHarness
let clock: ManualClock
let requests: ReplayRequests

beforeEach(async () => {
  harness = await makeLinkHarness()
  // The day after a leap day.
  clock = createManualClock(Date.UTC(2028, 2, 1, 12, 0, 30))
  requests = requestsWith(24 * hourMs)
  await harness.addLink("1", "100", "https://example.com/webhook")
})

afterEach(() => harness[Symbol.asyncDispose]())

function requestsWith(matchRetentionMs: number, store = harness.store, mayReplayRecent = false): ReplayRequests {
  const snowflakes = createSnowflakes(clock, systemRandom)
  return createReplayRequests({ store, snowflakes, clock, matchRetentionMs, mayReplayRecent })
}

function ask(from_date: string, to_date: string, webhook_id = "100"): Promise<unknown> {
  return requests.create(app, { webhook_id, from_date, to_date }).then(
    (replay) => presentNewReplay(replay).data,
    (error: unknown) => error,
  )
}

async function list(appId?: AppId): Promise<readonly ReplayState[]> {
  return (await requests.list(appId)).map(presentReplay)
}

async function appendAt(id: number, atMs: number): Promise<void> {
  const post = {
    id: String(id) as PostId,
    createdAtMs: atMs,
    isReply: false,
    isRepost: false,
    core: Buffer.from("{}"),
    envelope: Buffer.from("{}"),
    userIds: [],
    users: [],
    includedIds: [],
  }
  await harness.store.append([{ post, matches: [{ appId: app, rules: [{ id: "5", tag: "" }] }] }], atMs)
}

/** The violations, as X's reason and our words. */
function messages(problem: unknown): readonly unknown[] {
  expect(problem).toBeInstanceOf(Problem)
  expect(problem).toMatchObject({ status: 400, title: "Invalid Request" })
  return (problem as Problem).causes.map(({ message }) => message)
}

describe("a window", () => {
  test.each([
    ["from the oldest minute that may be", "202802291200", "202802291200"],
    ["up to the youngest minutes that may be", "202803011129", "202803011150"],
    ["over midnight", "202802292300", "202803010100"],
    ["on the leap day", "202802291300", "202802292359"],
  ])("a window %s is accepted", async (_name, from, to) => {
    expect(await ask(from, to)).toEqual({
      job_id: expect.stringMatching(/^\d{1,19}$/) as string,
      created_at: "2028-03-01T12:00:30.000Z",
    })
    expect(await list(app)).toMatchObject([{ from_date: from, to_date: to, state: "running" }])
  })

  test.each([
    ["202802291159", "202803010000", "from_date is more than 24 hours ago"],
    ["202803011130", "202803011140", "from_date is less than 31 minutes ago"],
    ["202803010000", "202803011151", "to_date is less than 10 minutes ago"],
    ["202803010000", "202803011201", "to_date is in the future"],
    ["202803011300", "202803011140", "from_date is in the future"],
    ["202803010001", "202803010000", "from_date is after to_date"],
    ["2028030100", "202803011100", "from_date is not a minute in UTC, written yyyymmddhhmm"],
    ["20280301000000", "202803011100", "from_date is not a minute in UTC, written yyyymmddhhmm"],
    ["202803010060", "202803011100", "from_date is not a minute in UTC, written yyyymmddhhmm"],
    ["202802302300", "202803011100", "from_date is not a minute in UTC, written yyyymmddhhmm"],
    ["202802292400", "202803011100", "from_date is not a minute in UTC, written yyyymmddhhmm"],
    ["202713010000", "202803011100", "from_date is not a minute in UTC, written yyyymmddhhmm"],
    ["2028-03-01T0", "202803011100", "from_date is not a minute in UTC, written yyyymmddhhmm"],
    [" 20280301000", "202803011100", "from_date is not a minute in UTC, written yyyymmddhhmm"],
    ["٢٠٢٨٠٣٠١٠٠٠٠", "202803011100", "from_date is not a minute in UTC, written yyyymmddhhmm"],
    ["", "202803011100", "from_date is not a minute in UTC, written yyyymmddhhmm"],
    ["000001010000", "202803011100", "from_date is more than 24 hours ago"],
  ])("a window from %s to %s is refused: %s", async (from, to, reason) => {
    expect(messages(await ask(from, to))).toContain(`QueryParamInvalid: ${reason}`)
    expect(await list(app)).toEqual([])
  })

  test("in development a window may reach up to this minute, and no further", async () => {
    requests = requestsWith(24 * hourMs, harness.store, true)
    expect(messages(await ask("202803011130", "202803011201"))).toEqual(["QueryParamInvalid: to_date is in the future"])
    await appendAt(1, clock.nowMs())
    expect(await ask("202803011200", "202803011200")).toHaveProperty("job_id")
    expect(await harness.store.replays({})).toMatchObject([{ position: 0, endSeq: 1 }])
  })

  test("every problem of a window is reported", async () => {
    expect(messages(await ask("x", "209901010000"))).toEqual([
      "QueryParamInvalid: from_date is not a minute in UTC, written yyyymmddhhmm",
      "QueryParamInvalid: to_date is in the future",
    ])
  })

  test("a window cannot begin before the oldest time that is kept", async () => {
    requests = requestsWith(2 * hourMs)
    expect(messages(await ask("202803010959", "202803011100"))).toEqual([
      "QueryParamInvalid: from_date is more than 2 hours ago",
    ])
    expect(await ask("202803011000", "202803011100")).toMatchObject({ job_id: expect.any(String) as string })
  })

  test("a window includes the whole of its first and its last minute", async () => {
    const minute = (text: string): number => Date.parse(`2028-03-01T${text}Z`)
    const moments = ["09:59:59.999", "10:00:00", "10:30:00", "11:00:59.999", "11:01:00"]
    for (const [index, at] of moments.entries()) await appendAt(index + 1, minute(at))
    await ask("202803011000", "202803011100")
    expect(await list(app)).toMatchObject([{ position: 1, end: 4, delivered: 0, failed: 0 }])
  })
})

describe("a window as old as the oldest time that is kept", () => {
  const minuteMs = 60_000

  /** One pass of a retention of a day, or of so many hours. */
  async function passRetention(hours = 24): Promise<void> {
    const passed = Promise.withResolvers<void>()
    const retention = createRetention({
      store: harness.store,
      leases: soleLeases,
      clock,
      events: { ...createRecordedEvents(), retentionPassed: () => passed.resolve() },
      matchRetentionMs: hours * hourMs,
      undeliveredRetentionMs: hours * hourMs,
      believesClock: false,
      postRetentionMs: 0,
      deadLetterRetentionMs: 24 * hourMs,
      deletionsRememberedMs: 172_800_000,
    })
    const stop = new AbortController()
    const ended = retention.run(stop.signal)
    await passed.promise
    stop.abort()
    await ended
  }

  /** The store, in which `happens` runs before the link is found. */
  function before(happens: () => Promise<void>): LinkHarness["store"] {
    return withMethods(harness.store, {
      link: async (...of) => {
        await happens()
        return harness.store.link(...of)
      },
    })
  }

  test("the oldest window includes all of its first minute, however late in a minute it is requested", async () => {
    const oldestMs = Date.UTC(2028, 1, 29, 12, 0, 0)
    await appendAt(1, oldestMs - minuteMs)
    await appendAt(2, oldestMs)
    await appendAt(3, oldestMs + 1_000)
    await clock.advance(15_000)
    await passRetention()
    await ask("202802291200", "202802291200")
    expect(await list(app)).toMatchObject([{ position: 1, end: 3 }])
    const { length } = await harness.store.matches({
      appId: app,
      after: 1 as MatchSeq,
      limit: 10,
      bytesMax: 1_000_000,
      shape: "core",
    })
    expect(length).toBe(2)
  })

  test("a replay includes matches that retention deletes during its creation, so it is not complete", async () => {
    const oldestMs = Date.UTC(2028, 1, 29, 12, 0, 0)
    await appendAt(1, oldestMs + 1_000)
    await appendAt(2, oldestMs + 30_000)
    const overtaken = before(async () => {
      await clock.advance(minuteMs)
      await passRetention()
    })
    requests = requestsWith(24 * hourMs, overtaken)
    await ask("202802291200", "202802291200")
    expect(await list(app)).toMatchObject([{ position: 0, end: 2 }])
  })

  test("a replay includes matches that were deleted under a shorter retention, so it is not complete", async () => {
    for (const [index, hour] of [6, 7, 8, 9, 10].entries()) {
      await appendAt(index + 1, Date.UTC(2028, 2, 1, hour, 0, 0))
    }
    await passRetention(3.5)
    await ask("202803010700", "202803011000")
    expect(await list(app)).toMatchObject([{ position: 2, end: 5 }])
  })

  test("a replay begins at its window when nothing in it is deleted, however slow its creation is", async () => {
    const oldestMs = Date.UTC(2028, 1, 29, 12, 0, 0)
    await appendAt(1, oldestMs - minuteMs)
    await appendAt(2, oldestMs + 30_000)
    requests = requestsWith(
      24 * hourMs,
      before(() => clock.advance(minuteMs)),
    )
    await ask("202802291200", "202802291200")
    expect(await list(app)).toMatchObject([{ position: 1, end: 2 }])
  })
})

describe("a webhook", () => {
  test("a webhook that does not exist, or is another app's, is not found", async () => {
    await harness.addApp("2")
    await harness.addLink("2", "200", "https://example.com/other")
    for (const id of ["300", "200"]) {
      expect(await ask("202803011000", "202803011100", id)).toMatchObject({
        status: 404,
        detail: `Could not find webhook with webhook_id: [${id}].`,
      })
    }
  })

  test("a replay to a webhook that is not linked is refused with 409", async () => {
    await harness.store.deleteLink(app, "100" as WebhookId)
    expect(await ask("202803011000", "202803011100")).toMatchObject({
      status: 409,
      detail: expect.stringContaining("The webhook [100] is not linked to the stream") as string,
    })
  })

  test("a replay to an invalid webhook is refused with X's reason, and why it is invalid", async () => {
    const reason = "responded with status 302; redirects are not followed"
    await harness.store.invalidateWebhook("100" as WebhookId, reason)
    const [message] = messages(await ask("202803011000", "202803011100"))
    expect(message).toMatch(/^CrcValidationFailed: /)
    expect(message).toContain(`The endpoint ${reason}.`)
  })

  test("a second replay to a webhook is a conflict in X's words, until the first has ended", async () => {
    const { job_id: id } = (await ask("202803011000", "202803011100")) as { job_id: string }
    expect(await ask("202803011000", "202803011100")).toMatchObject({
      status: 409,
      detail: expect.stringMatching(/^ReplayConflictError: /) as string,
    })
    await harness.addLink("1", "101", "https://example.com/second")
    expect(await ask("202803011000", "202803011100", "101")).toHaveProperty("job_id")
    await harness.store.endReplay(id as ReplayId, "incomplete", clock.nowMs())
    expect(await ask("202803011000", "202803011100")).toHaveProperty("job_id")
  })
})

test("the list shows the progress of each replay, an app's own, or all, newest first", async () => {
  await harness.addApp("2")
  await harness.addLink("2", "200", "https://example.com/other")
  const first = (await ask("202803011000", "202803011100")) as { job_id: string }
  await clock.advance(1_000)
  const second = await requests.create("2" as AppId, {
    webhook_id: "200",
    from_date: "202803011000",
    to_date: "202803011100",
  })
  await harness.store.saveReplay({
    id: first.job_id as ReplayId,
    position: 0 as MatchSeq,
    delivered: 7,
    failed: 2,
  })
  await harness.store.endReplay(first.job_id as ReplayId, "incomplete", clock.nowMs())
  expect(await list(app)).toEqual([
    {
      job_id: first.job_id,
      webhook_id: "100",
      application_id: "1",
      from_date: "202803011000",
      to_date: "202803011100",
      state: "incomplete",
      position: 0,
      end: 0,
      delivered: 7,
      failed: 2,
      created_at: "2028-03-01T12:00:30.000Z",
      ended_at: "2028-03-01T12:00:31.000Z",
    },
  ])
  expect((await list()).map((one) => one.job_id)).toEqual([second.id, first.job_id])
})
