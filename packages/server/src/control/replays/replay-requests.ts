/**
 * Requests for replays: they are checked, and kept in the store for `delivery/replays/` to run.
 *
 * Source: docs.x.com, "Webhooks: introduction" and "Account activity: replay"; docs/compatibility.md.
 */
import { snowflakeAtMs, type CreateBackfillBody, type CreateReplayBody } from "@sluice/api"
import { instant, minuteMs, parseMinute } from "../../model/date-time.ts"
import {
  asId,
  beforeFirstMatch,
  compareIds,
  firstIdAt,
  type AppId,
  type MatchSeq,
  type PostId,
  type ReplayId,
  type RuleId,
  type WebhookId,
} from "../../model/ids.ts"
import type { StoredLink } from "../../model/link.ts"
import {
  conflict,
  invalidRequest,
  invalidRequests,
  notFound,
  type Problem,
  type RequestFault,
} from "../../model/problem.ts"
import { backfillGraceMs, type Replay } from "../../model/replay.ts"
import type { StoredRule } from "../../model/rule.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Snowflakes } from "../../runtime/snowflakes.ts"
import type { Store } from "../../store/store.ts"

/** The replays of all apps. */
export interface ReplayRequests {
  /**
   * Creates a replay, and returns it. Throws a 400 `Problem` that begins with X's reason for a window that
   * cannot be replayed (QueryParamInvalid) and a webhook that is not valid (CrcValidationFailed), 404 when the app
   * has no such webhook, 409 while it is not linked or another replay to it is running (ReplayConflictError).
   */
  create(appId: AppId, request: CreateReplayBody): Promise<Replay>
  /**
   * Creates a backfill: a replay of the stored posts since a time that came before these rules and match them. Throws 404 when
   * the app has no such webhook or rule, 400 for a time after the rules were added and for a webhook that is not valid, and
   * 409 as `create`.
   */
  createBackfill(appId: AppId, request: CreateBackfillBody): Promise<Replay>
  /** Ends a replay that runs, of an app or of any, and returns it. Throws 404 when there is none, and 409 when it has ended. */
  cancel(appId: AppId | undefined, id: ReplayId): Promise<Replay>
  /** Replays of an app, or of all, newest first, with their progress. */
  list(appId?: AppId): Promise<readonly Replay[]>
}

/**
 * Requests over a store. `matchRetentionMs`: older matches are deleted. `mayReplayRecent`: a window may reach up to this
 * minute, so that a developer need not wait for half an hour to see a replay.
 */
export function createReplayRequests(deps: {
  store: Store
  snowflakes: Snowflakes
  clock: Clock
  matchRetentionMs: number
  mayReplayRecent: boolean
}): ReplayRequests {
  const { store, snowflakes, clock } = deps

  /**
   * The position before the first match of a window. When retention has deleted a part of the window, the last deleted
   * match belongs to the replay, which cannot send it and so does not end as complete.
   */
  async function beginningOf(appId: AppId, fromMs: number): Promise<MatchSeq> {
    const position = await store.positionAt(appId, fromMs)
    const trimmed = await store.trimmed(appId)
    if (trimmed === undefined || trimmed.untilMs < fromMs) return position
    return Math.min(position, trimmed.to - 1) as MatchSeq
  }

  /** The link of a webhook to which something can be sent. */
  async function linkOf(appId: AppId, webhookId: WebhookId): Promise<StoredLink> {
    const webhook = await store.webhook(appId, webhookId)
    if (webhook === undefined) throw notFound("webhook", "webhook_id", webhookId)
    if (!webhook.valid) throw notValid(webhookId, webhook.invalidReason)
    const link = await store.link(appId, webhookId)
    if (link === undefined) throw notLinked(webhookId)
    return link
  }

  async function begin(
    { id: linkId, appId, webhookId }: StoredLink,
    what: Pick<Replay, "fromMs" | "toMs" | "position" | "endSeq" | "backfill">,
  ): Promise<Replay> {
    const id = asId<ReplayId>(snowflakes.next())
    const begun = { createdAtMs: clock.nowMs(), delivered: 0, failed: 0, state: "running" } as const
    const replay: Replay = { id, appId, webhookId, linkId, ...what, ...begun }
    const outcome = await store.createReplay(replay)
    if (outcome === "conflict") throw isRunning(webhookId)
    if (outcome === "no-link") throw notLinked(webhookId)
    return replay
  }

  /** The rules of these ids, oldest first. */
  async function rulesOf(appId: AppId, given: readonly string[]): Promise<readonly StoredRule[]> {
    const ids = [...new Set(given.map((id) => asId<RuleId>(id)))]
    const rules = await store.rules(appId, { direction: "older", limit: ids.length }, ids)
    const missing = ids.find((id) => !rules.some((rule) => rule.id === id))
    if (missing !== undefined) throw notFound("rule", "rule_ids", missing)
    return rules.toSorted((a, b) => compareIds(a.id, b.id))
  }

  return {
    async create(appId, request) {
      const { fromMs, toMs } = parseWindow(request, clock.nowMs(), deps)
      const link = await linkOf(appId, asId(request.webhook_id))
      const position = await beginningOf(appId, fromMs)
      return begin(link, { fromMs, toMs, position, endSeq: await store.positionAt(appId, toMs + minuteMs) })
    },

    async createBackfill(appId, request) {
      const rules = await rulesOf(appId, request.rule_ids)
      const fromMs = Date.parse(request.since)
      const addedAtMs = Math.max(...rules.map(({ id }) => snowflakeAtMs(id) ?? 0))
      if (fromMs >= addedAtMs) throw nothingBefore(request.since, addedAtMs)
      const link = await linkOf(appId, asId(request.webhook_id))
      const toMs = addedAtMs + backfillGraceMs
      const searchedId = (firstIdAt(fromMs) - 1n).toString() as PostId
      const lastId = (firstIdAt(toMs + 1) - 1n).toString() as PostId
      const backfill = { rules: rules.map(({ id, value, tag = "" }) => ({ id, value, tag })), searchedId, lastId }
      return begin(link, { fromMs, toMs, position: beforeFirstMatch, endSeq: beforeFirstMatch, backfill })
    },

    async cancel(appId, id) {
      const find = async (): Promise<Replay | undefined> => {
        const replays = await store.replays({ ...(appId !== undefined && { appId }) })
        return replays.find((one) => one.id === id)
      }
      const running = await find()
      if (running === undefined) throw notFound("replay", "job_id", id)
      const endedAtMs = clock.nowMs()
      if (!(await store.endReplay(id, "cancelled", endedAtMs))) {
        const ended = await find()
        throw ended === undefined ? notFound("replay", "job_id", id) : hasEnded(ended)
      }
      // The store keeps those of the newest ids, and may have forgotten it already.
      return (await find()) ?? { ...running, state: "cancelled", endedAtMs }
    },
    list: (appId) => store.replays({ ...(appId !== undefined && { appId }) }),
  }
}

function notValid(id: WebhookId, reason: string | undefined): Problem {
  const why = reason === undefined ? "" : ` The endpoint ${reason}.`
  return invalidRequest(
    `CrcValidationFailed: The webhook is not valid.${why} Validate it first with PUT /2/webhooks/${id}.`,
    { webhook_id: [id] },
  )
}

function notLinked(id: WebhookId): Problem {
  return conflict(
    `The webhook [${id}] is not linked to the stream, so nothing was delivered to it. ` +
      `Link it with POST /2/tweets/search/webhooks/${id}.`,
  )
}

function nothingBefore(since: string, addedAtMs: number): Problem {
  return invalidRequest(
    `The rules were added by ${instant(addedAtMs)}, and match what comes after it. Give a \`since\` before that.`,
    { since: [since] },
  )
}

function hasEnded({ id, state }: Replay): Problem {
  return conflict(`The replay [${id}] has ended: it is ${state}.`)
}

function isRunning(id: WebhookId): Problem {
  return conflict(
    `ReplayConflictError: A replay to the webhook [${id}] is running. Another one may begin when it has ended.`,
  )
}

/** Oldest minute that a window may begin with. Source: docs.x.com. */
const fromAgeMsMax = 24 * 60 * minuteMs

/** Youngest minutes that a window may begin and end with, but in development. Source: docs.x.com. */
const fromAgeMsMin = 31 * minuteMs
const toAgeMsMin = 10 * minuteMs

/** Both ends of the window as Unix times. Throws a 400 `Problem` that names everything that is wrong with it. */
function parseWindow(
  { from_date, to_date }: CreateReplayBody,
  nowMs: number,
  { matchRetentionMs, mayReplayRecent }: { matchRetentionMs: number; mayReplayRecent: boolean },
): { readonly fromMs: number; readonly toMs: number } {
  const fromMs = parseMinute(from_date)
  const toMs = parseMinute(to_date)
  // Ages are in whole minutes too, so that a request gets the same response throughout a minute.
  const thisMinuteMs = nowMs - (nowMs % minuteMs)
  const keptMs = Math.min(fromAgeMsMax, matchRetentionMs)
  const [fromMin, toMin] = mayReplayRecent ? [0, 0] : [fromAgeMsMin, toAgeMsMin]
  const faults = [
    ...dateFaults("from_date", from_date, fromMs, thisMinuteMs, { min: fromMin, max: keptMs }),
    ...dateFaults("to_date", to_date, toMs, thisMinuteMs, { min: toMin }),
  ]
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs) {
    faults.push({
      message: "QueryParamInvalid: from_date is after to_date",
      parameters: { from_date: [from_date], to_date: [to_date] },
    })
  }
  if (faults.length > 0 || fromMs === undefined || toMs === undefined) throw invalidRequests(faults)
  return { fromMs, toMs }
}

function dateFaults(
  name: "from_date" | "to_date",
  text: string,
  atMs: number | undefined,
  nowMs: number,
  ageMs: { readonly min: number; readonly max?: number },
): RequestFault[] {
  const fault = (what: string): RequestFault[] => [
    { message: `QueryParamInvalid: ${name} ${what}`, parameters: { [name]: [text.slice(0, 40)] } },
  ]
  if (atMs === undefined) return fault("is not a minute in UTC, written yyyymmddhhmm")
  if (atMs > nowMs) return fault("is in the future")
  if (nowMs - atMs < ageMs.min) return fault(`is less than ${ageMs.min / minuteMs} minutes ago`)
  if (ageMs.max === undefined || nowMs - atMs <= ageMs.max) return []
  return fault(`is more than ${ageMs.max / (60 * minuteMs)} hours ago`)
}
