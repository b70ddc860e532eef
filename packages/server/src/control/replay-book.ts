/**
 * Replays as they are asked for: checked, kept in the store, and listed. Who sends them, `delivery/replays.ts`, hears
 * of them through the store.
 *
 * Source: docs.x.com, "Webhooks: introduction" and "Account activity: replay"; docs/compatibility.md.
 */
import type { CreateReplayBody, ReplayState } from "@sluice/api"
import { asId, type AppId, type MatchSeq, type ReplayId, type WebhookId } from "../model/ids.ts"
import {
  conflict,
  invalidRequest,
  invalidRequests,
  notFound,
  type Problem,
  type RequestFault,
} from "../model/problem.ts"
import type { Replay } from "../model/replay.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Snowflakes } from "../runtime/snowflakes.ts"
import type { Store } from "../store/store.ts"

/** The replays of all apps. */
export interface ReplayBook {
  /**
   * Starts a replay, if only in the store. Throws a 400 `Problem` that begins with X's reason for a window that
   * cannot be replayed (QueryParamInvalid) and a webhook that is not valid (CrcValidationFailed), 404 when the app
   * has no such webhook, 409 while it is not linked or another replay to it is running (ReplayConflictError).
   */
  create(appId: AppId, request: CreateReplayBody): Promise<{ job_id: string; created_at: string }>
  /** Those of an app, or of all, newest first, with how far they have come. */
  list(appId?: AppId): Promise<readonly ReplayState[]>
}

const minuteMs = 60_000

/** Oldest minute that a window may begin with. Source: docs.x.com. */
const fromAgeMsMax = 24 * 60 * minuteMs

/** Youngest minutes that a window may begin and end with. Source: docs.x.com. */
const fromAgeMsMin = 31 * minuteMs
const toAgeMsMin = 10 * minuteMs

/** The book over a store. `matchRetentionMs`: what is older is gone. */
export function createReplayBook(deps: {
  store: Store
  snowflakes: Snowflakes
  clock: Clock
  matchRetentionMs: number
}): ReplayBook {
  const { store, snowflakes, clock, matchRetentionMs } = deps

  /**
   * The position before the first match of a window. When retention has taken some of the window, whenever and by
   * whatever setting, the last match that is gone belongs to the replay, which cannot send it and so does not end as
   * complete.
   */
  async function beginningOf(appId: AppId, fromMs: number): Promise<MatchSeq> {
    const position = await store.positionAt(appId, fromMs)
    const trimmed = await store.trimmed(appId)
    if (trimmed === undefined || trimmed.untilMs < fromMs) return position
    return Math.min(position, trimmed.to - 1) as MatchSeq
  }

  return {
    async create(appId, request) {
      const { fromMs, toMs } = windowOf(request, clock.nowMs(), matchRetentionMs)
      const webhookId = asId<WebhookId>(request.webhook_id)
      const webhook = await store.webhook(appId, webhookId)
      if (webhook === undefined) throw notFound("webhook", "webhook_id", request.webhook_id)
      if (!webhook.valid) throw notValid(webhookId, webhook.invalidReason)
      const link = await store.link(appId, webhookId)
      if (link === undefined) throw notLinked(webhookId)
      const nowMs = clock.nowMs()
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
        createdAtMs: nowMs,
        state: "running",
      }
      const outcome = await store.createReplay(replay)
      if (outcome === "conflict") throw isRunning(webhookId)
      if (outcome === "no-link") throw notLinked(webhookId)
      return { job_id: replay.id, created_at: instant(nowMs) }
    },
    async list(appId) {
      return (await store.replays({ ...(appId !== undefined && { appId }) })).map(shown)
    },
  }
}

/** Both ends of the window as moments, or the `Problem` that says all that is wrong with it. */
function windowOf(
  { from_date, to_date }: CreateReplayBody,
  nowMs: number,
  matchRetentionMs: number,
): { readonly fromMs: number; readonly toMs: number } {
  const fromMs = minuteIn(from_date)
  const toMs = minuteIn(to_date)
  // Ages are to the minute as well: what is asked for in one minute has the same answer throughout it.
  const thisMinuteMs = nowMs - (nowMs % minuteMs)
  const keptMs = Math.min(fromAgeMsMax, matchRetentionMs)
  const faults = [
    ...dateFaults("from_date", from_date, fromMs, thisMinuteMs, { min: fromAgeMsMin, max: keptMs }),
    ...dateFaults("to_date", to_date, toMs, thisMinuteMs, { min: toAgeMsMin }),
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

/** Unix time of the start of a minute, written yyyymmddhhmm; absent when it is not, or the calendar has no such. */
function minuteIn(text: string): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute] = match
  const written = `${year}-${month}-${day}T${hour}:${minute}`
  const atMs = Date.parse(`${written}:00Z`)
  return Number.isFinite(atMs) && instant(atMs).startsWith(written) ? atMs : undefined
}

/** The same minute, as it is written. */
function minuteText(atMs: number): string {
  return instant(atMs).slice(0, 16).replaceAll(/\D/g, "")
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

function shown(replay: Replay): ReplayState {
  return {
    job_id: replay.id,
    webhook_id: replay.webhookId,
    application_id: replay.appId,
    from_date: minuteText(replay.fromMs),
    to_date: minuteText(replay.toMs),
    state: replay.state,
    position: replay.position,
    end: replay.endSeq,
    delivered: replay.delivered,
    failed: replay.failed,
    created_at: instant(replay.createdAtMs),
    ...(replay.endedAtMs !== undefined && { ended_at: instant(replay.endedAtMs) }),
  }
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString()
}
