import { expect, test } from "vitest"
import type { LinkState } from "../../delivery/links/link-states.ts"
import type { AppId, MatchSeq, WebhookId } from "../../model/ids.ts"
import { linkProblems, needsNewestAttempt, type LinkFacts } from "../../control/problems/link-problems.ts"
import { presentProblem } from "./overview.ts"

const nowMs = Date.UTC(2026, 2, 14, 12)
const minuteMs = 60_000
const times = { nowMs, undeliveredRetentionMs: 72 * 60 * minuteMs }

const healthy: LinkState = {
  webhookId: "1" as WebhookId,
  appId: "100" as AppId,
  valid: true,
  invalidReason: undefined,
  isOrdered: false,
  pausedAtMs: undefined,
  isDown: false,
  position: 40 as MatchSeq,
  head: 40 as MatchSeq,
  undelivered: 0,
  inFlight: 0,
  oldestUndeliveredAtMs: undefined,
  failingSinceMs: undefined,
  nextAttemptAtMs: undefined,
  delivered: 0,
  failed: 0,
  tally: undefined,
  query: "",
  gaps: [],
}

function facts(url: string, state: Partial<LinkState>, more: Partial<LinkFacts> = {}): LinkFacts {
  return { state: { ...healthy, ...state }, url, newestAttempt: undefined, ...more }
}

function down(id: number, url: string, status: number, sinceMs = nowMs - minuteMs): LinkFacts {
  const state = {
    webhookId: String(id) as WebhookId,
    isDown: true,
    head: 52 as MatchSeq,
    failingSinceMs: sinceMs,
  }
  return facts(url, state, { newestAttempt: { outcome: status < 500 ? "rejected" : "server_error", status } })
}

const problems = (...links: readonly LinkFacts[]) => linkProblems(links, [], times).map(presentProblem)

test("an endpoint that is down is named by host and path, with the reason, the waiting matches and the start", () => {
  expect(problems(down(7, "https://hooks.example.com/in?secret=1", 500))).toEqual([
    {
      kind: "endpoint_down",
      severity: "error",
      title: "hooks.example.com/in is down",
      detail: "It responds with 500. 12 matches wait. One match at a time probes it.",
      since: "2026-03-14T11:59:00.000Z",
      application_id: "100",
      webhook_id: "7",
      console_path: "/webhooks/7",
    },
  ])
})

test("a paused link is information, and no lag: it waits because its app wants it to", () => {
  const pausedAtMs = nowMs - 60 * minuteMs
  const paused = facts("https://b.example/in", { pausedAtMs, head: 52 as MatchSeq, oldestUndeliveredAtMs: pausedAtMs })
  expect(problems(paused)).toEqual([
    {
      kind: "paused",
      severity: "info",
      title: "Deliveries to b.example/in are paused",
      detail: "12 matches wait. Resume the link to send them.",
      since: "2026-03-14T11:00:00.000Z",
      application_id: "100",
      webhook_id: "1",
      console_path: "/webhooks/1",
    },
  ])
  expect(needsNewestAttempt(paused.state, nowMs)).toBe(false)
})

test("a paused link becomes a warning once a quarter of the retention time is left, with the time of the deletion", () => {
  const pausedFor = (hours: number): unknown => {
    const pausedAtMs = nowMs - hours * 60 * minuteMs
    const state = { pausedAtMs, head: 52 as MatchSeq, oldestUndeliveredAtMs: pausedAtMs }
    return problems(facts("https://b.example/in", state))[0]
  }
  expect(pausedFor(54)).toMatchObject({ severity: "info" })
  expect(pausedFor(55)).toMatchObject({
    kind: "paused",
    severity: "warning",
    detail: "12 matches wait. Retention deletes them from 2026-03-15T05:00:00.000Z on. Resume the link to send them.",
  })
})

test.each([
  ["connect", "It refuses connections. "],
  ["timeout", "It does not respond in time. "],
  ["tls", "Its TLS certificate is not trusted, or it speaks no TLS. "],
  ["dns", "Its name has no public address. "],
] as const)("an endpoint whose newest attempt ended with %s has the reason in words", (outcome, words) => {
  const [problem] = problems(facts("https://a.example/x", { isDown: true }, { newestAttempt: { outcome } }))
  expect(problem?.detail).toBe(`${words}0 matches wait. One match at a time probes it.`)
})

test("several endpoints of a host and an app that are down for one reason are one problem, and others stay apart", () => {
  const paths = ["a", "b", "c", "d", "e"].map((path, index) =>
    down(10 + index, `https://one.example/${path}`, 500, nowMs - index * minuteMs),
  )
  const otherApp = down(30, "https://one.example/a", 500)
  const found = problems(...paths, down(20, "https://one.example/f", 404), down(21, "https://two.example/a", 500), {
    ...otherApp,
    state: { ...otherApp.state, appId: "200" as AppId },
  })
  expect(found.map(({ title }) => title)).toEqual([
    "5 endpoints at one.example are down",
    "one.example/f is down",
    "two.example/a is down",
    "one.example/a is down",
  ])
  expect(found[0]).toEqual({
    kind: "endpoint_down",
    severity: "error",
    title: "5 endpoints at one.example are down",
    detail: "It responds with 500. 60 matches wait. One match at a time probes it. Paths: /a, /b, /c and 2 more.",
    since: "2026-03-14T11:56:00.000Z",
    application_id: "100",
    webhook_count: 5,
    console_path: "/webhooks",
  })
})

test("a link that lags, gaps, dead letters and invalid webhooks name their endpoint too", () => {
  const tally = { missed: 3, deadLetters: 1 } as NonNullable<LinkState["tally"]>
  const invalid = { valid: false, invalidReason: "responded with 410 Gone", head: 41 as MatchSeq }
  const lagging = { oldestUndeliveredAtMs: nowMs - 10 * minuteMs, head: 90 as MatchSeq }
  const found = linkProblems(
    [
      facts("https://a.example/x", { ...lagging, tally }),
      facts("https://b.example/y", { ...invalid, webhookId: "2" as WebhookId }),
    ],
    [{ id: "3" as WebhookId, appId: "100" as AppId, url: "https://c.example/z" }],
    times,
  ).map(presentProblem)
  expect(found.map(({ title, detail }) => [title, detail])).toEqual([
    ["a.example/x lags behind", "50 matches wait. The endpoint is slow, or some matches fail."],
    [
      "Matches for a.example/x were deleted before they were delivered",
      "Retention took 3 matches that the link had not read.",
    ],
    ["Matches for a.example/x were given up", "1 dead letter is kept. Send them again once the endpoint accepts them."],
    [
      "b.example/y is invalid",
      "Nothing is delivered: it responded with 410 Gone. 1 match waits. Fix the endpoint, then challenge it again.",
    ],
    [
      "c.example/z is invalid",
      "It failed its challenge and cannot be linked. Fix the endpoint, then challenge it again.",
    ],
  ])
})
