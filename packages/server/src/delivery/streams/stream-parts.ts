/** The parts of an app's log, and of all posts, that a stream can have, and the source of each. */
import type { StreamEndpoint } from "@sluice/api"
import { instant } from "../../model/date-time.ts"
import type { Deletion } from "../../model/deletion.ts"
import type { AppId, MatchSeq } from "../../model/ids.ts"
import { invalidRequest } from "../../model/problem.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Store } from "../../store/store.ts"
import type { ConnectionKind } from "./connection-slots.ts"
import { deletionSource, type DeletionSpan } from "./deletion-source.ts"
import type { LineFormat } from "./line-format.ts"
import type { Sample } from "./sample.ts"
import { SampledPosts } from "./sampled-posts.ts"
import { logSource, type StreamSource } from "./stream-source.ts"

const minuteMs = 60_000

/** Oldest time that a recovery may begin with. Source: docs.x.com, "Recovery and redundancy". */
const recoveryAgeMsMax = 24 * 60 * minuteMs

/** A part of the app's log, a sample of all posts, or deletions. */
export type StreamPart =
  /**
   * `live`: from the next match on, or from `backfillMinutes` ago. `window`: matches of `startMs` or later and before
   * `endMs`, or until now; a recovery.
   */
  | StreamSpanRequest
  /** From after a position, or from the newest `recent` matches, on; of what is still stored. Needs no rules. */
  | { readonly kind: "watch"; readonly after?: MatchSeq; readonly recent: number }
  /** Posts of a sample from the next on, or from those made `backfillMinutes` ago. Needs no rules. */
  | {
      readonly kind: "sample"
      readonly endpoint: StreamEndpoint
      readonly sample: Sample
      readonly backfillMinutes: number
    }
  /** Deletions from the next on, from those of `backfillMinutes` ago, or of a window. Needs no rules. */
  | {
      readonly kind: "deletions"
      readonly of: Deletion["kind"]
      readonly partition: number
      readonly span: StreamSpanRequest
    }

/** The beginning and end of a stream, as a request has them. */
export type StreamSpanRequest =
  | { readonly kind: "live"; readonly backfillMinutes: number }
  | { readonly kind: "window"; readonly startMs: number; readonly endMs?: number }

/** The kind of the connections that serve a part. */
export function kindOf(part: StreamPart): ConnectionKind {
  if (part.kind === "sample") return part.endpoint
  if (part.kind === "deletions") return part.of === "post" ? "tweets_compliance_stream" : "users_compliance_stream"
  return part.kind === "live" ? "filtered_stream" : part.kind
}

/** The endpoint under which connections of a kind are listed. Absent: they are not listed. */
export function endpointOf(kind: ConnectionKind): StreamEndpoint | undefined {
  if (kind === "watch") return undefined
  return kind === "window" ? "filtered_stream" : kind
}

/** Whether a part is refused while the app has no rules. */
export function needsRules({ kind }: StreamPart): boolean {
  return kind === "live" || kind === "window"
}

/** Creates the sources of parts, which share what they read. */
export function createStreamSources(deps: { readonly store: Store; readonly clock: Clock }) {
  const { store, clock } = deps
  const sampledPosts = new SampledPosts(deps)

  async function spanOf(
    appId: AppId,
    part: Exclude<StreamPart, { kind: "sample" | "deletions" }>,
  ): Promise<{ after: MatchSeq; upTo?: MatchSeq }> {
    if (part.kind === "window") {
      const { startMs, endMs } = part
      const after = await store.positionAt(appId, startMs)
      return { after, upTo: await (endMs === undefined ? store.head(appId) : store.positionAt(appId, endMs)) }
    }
    if (part.kind === "watch") return { after: await watchedAfter(appId, part) }
    const { backfillMinutes } = part
    return backfillMinutes > 0
      ? { after: await store.positionAt(appId, clock.nowMs() - backfillMinutes * minuteMs) }
      : { after: await store.head(appId) }
  }

  /**
   * Not before the oldest match that retention has left: that would be a gap. Not beyond the head either: positions
   * there are to come.
   */
  async function watchedAfter(
    appId: AppId,
    { after, recent }: Extract<StreamPart, { kind: "watch" }>,
  ): Promise<MatchSeq> {
    const head = await store.head(appId)
    const trimmedTo = (await store.trimmed(appId))?.to ?? 0
    return Math.max(trimmedTo, Math.min(head, after ?? head - recent)) as MatchSeq
  }

  /** The source of a part for one connection, in lines of this format. */
  return async (appId: AppId, part: StreamPart, format: LineFormat): Promise<StreamSource> => {
    if (part.kind === "deletions") return deletionSource(deps, deletionSpan(part, clock.nowMs()))
    if (part.kind !== "sample") return logSource(deps, { appId, ...(await spanOf(appId, part)) }, format)
    return sampledPosts.source(part.sample, { backfillMs: part.backfillMinutes * minuteMs, format })
  }
}

function deletionSpan(
  { of, partition, span }: Extract<StreamPart, { kind: "deletions" }>,
  nowMs: number,
): DeletionSpan {
  if (span.kind === "window") {
    const { startMs: fromMs, endMs: toMs } = span
    return { of, partition, fromMs, ...(toMs !== undefined && { toMs }), hasEnd: true }
  }
  const { backfillMinutes } = span
  const fromMs = backfillMinutes > 0 ? { fromMs: nowMs - backfillMinutes * minuteMs } : {}
  return { of, partition, ...fromMs, hasEnd: false }
}

/** Throws a `Problem`, 400, for a part that begins with what may be gone. */
export function checkBeginning(
  part: StreamPart,
  nowMs: number,
  {
    matchRetentionMs,
    deletionsRememberedMs,
  }: { readonly matchRetentionMs: number; readonly deletionsRememberedMs: number },
): void {
  const [span, keptMs] = part.kind === "deletions" ? [part.span, deletionsRememberedMs] : [part, matchRetentionMs]
  if (span.kind === "window") checkWindow(span, nowMs, keptMs)
}

function checkWindow({ startMs, endMs }: Extract<StreamPart, { kind: "window" }>, nowMs: number, keptMs: number): void {
  const ageMsMax = Math.min(recoveryAgeMsMax, keptMs)
  const given = (name: string, atMs: number): Record<string, string[]> => ({
    [name]: [instant(atMs)],
  })
  if (startMs < nowMs - ageMsMax) {
    const hours = ageMsMax / (60 * minuteMs)
    throw invalidRequest(`\`start_time\` is more than ${hours} hours ago`, given("start_time", startMs))
  }
  if (startMs > nowMs) throw invalidRequest("`start_time` is in the future", given("start_time", startMs))
  if (endMs !== undefined && endMs <= startMs) {
    throw invalidRequest("`end_time` is not after `start_time`", given("end_time", endMs))
  }
}
