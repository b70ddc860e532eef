/**
 * Requests for replays: they are checked, and kept in the store for `delivery/replays/` to run.
 *
 * Source: docs.x.com, "Webhooks: introduction" and "Account activity: replay"; docs/compatibility.md.
 */
import type { CreateReplayBody } from "@sluice/api"
import { minuteMs, parseMinute } from "../../model/date-time.ts"
import { asId, type AppId, type MatchSeq, type ReplayId, type WebhookId } from "../../model/ids.ts"
import {
  conflict,
  invalidRequest,
  invalidRequests,
  notFound,
  type Problem,
  type RequestFault,
} from "../../model/problem.ts"
import type { Replay } from "../../model/replay.ts"
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

  return {
    async create(appId, request) {
      const { fromMs, toMs } = parseWindow(request, clock.nowMs(), deps)
      const webhookId = asId<WebhookId>(request.webhook_id)
      const webhook = await store.webhook(appId, webhookId)
      if (webhook === undefined) throw notFound("webhook", "webhook_id", request.webhook_id)
      if (!webhook.valid) throw notValid(webhookId, webhook.invalidReason)
      const link = await store.link(appId, webhookId)
      if (link === undefined) throw notLinked(webhookId)
      const replay: Replay = {
        id: asId<ReplayId>(snowflakes.next()),
        appId,
        webhookId,
        linkId: link.id,
        fromMs,
        toMs,
        position: await beginningOf(appId, fromMs),
        endSeq: await store.positionAt(appId, toMs + minuteMs),
        delivered: 0,
        failed: 0,
        createdAtMs: clock.nowMs(),
        state: "running",
      }
      const outcome = await store.createReplay(replay)
      if (outcome === "conflict") throw isRunning(webhookId)
      if (outcome === "no-link") throw notLinked(webhookId)
      return replay
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
