/**
 * How entries of the log become requests to one link's endpoint: rendered, signed, sent, and noted in the history.
 *
 * Live deliveries and replays send through it, so a match has the same event id, and the same body, whichever way and
 * however often it comes.
 */
import type { FieldSelection } from "../model/field-selection.ts"
import type { MatchSeq } from "../model/ids.ts"
import { selectionOfQuery } from "../model/link-fields.ts"
import { eventIdOf, type LinkToDeliver, type SealedKeyUntil } from "../model/link.ts"
import type { MatchEntry } from "../model/match.ts"
import { renderDelivery } from "../model/render-post.ts"
import type { Clock } from "../runtime/clock.ts"
import { crashPoint } from "../runtime/crash-points.ts"
import type { Events } from "../runtime/events.ts"
import type { Outbound } from "../runtime/outbound.ts"
import type { SecretBox } from "../runtime/secret-box.ts"
import { attemptDelivery, deliveryHeaders, type AttemptResult } from "./attempt.ts"
import type { AttemptHistory } from "./attempt-history.ts"
import { openKeys, type LinkKeys } from "./link-keys.ts"

/** What a sender needs. */
export interface LinkSenderDeps {
  readonly secretBox: SecretBox
  readonly outbound: Outbound
  readonly clock: Clock
  readonly events: Events
  readonly history: Pick<AttemptHistory, "add">
  readonly attemptMsMax: number
}

/** Sends what a link delivers. Keeps nothing of what it sends. */
export class LinkSender {
  readonly #deps: LinkSenderDeps
  readonly #selection: FieldSelection
  #link: LinkToDeliver
  #keys: LinkKeys

  /** Throws when the link's secrets cannot be opened. */
  constructor(link: LinkToDeliver, deps: LinkSenderDeps) {
    this.#deps = deps
    this.#selection = selectionOfQuery(link.query)
    this.#link = link
    this.#keys = openKeys(link, deps.secretBox)
  }

  /** Takes over what may change while a link lives. Throws when its secrets cannot be opened, and stays as it was. */
  update(link: LinkToDeliver): void {
    if (!hasSameSecrets(link, this.#link)) this.#keys = openKeys(link, this.#deps.secretBox)
    this.#link = link
  }

  /** The same over every repetition of this delivery. */
  eventIdOf(seq: MatchSeq): string {
    return eventIdOf(this.#link.id, seq)
  }

  /** The body that delivers an entry, the same each time; `undefined` when the entry is damaged. */
  render(entry: MatchEntry): Uint8Array | undefined {
    const { postJson, rulesJson } = entry
    return postJson === undefined
      ? undefined
      : Buffer.from(renderDelivery({ postJson, rulesJson }, this.#selection))
  }

  /** One attempt. Never rejects for what the world does. */
  async send(seq: MatchSeq, body: Uint8Array): Promise<AttemptResult> {
    const { outbound, clock, attemptMsMax: deadlineMs } = this.#deps
    const { url } = this.#link
    const atMs = clock.nowMs()
    const startedMs = clock.monotonicMs()
    const headers = deliveryHeaders(this.#keys.at(atMs), this.eventIdOf(seq), body, atMs)
    crashPoint("before-send")
    const result = await attemptDelivery(outbound, { url, headers, body, deadlineMs }, clock)
    if (result.outcome === "delivered") crashPoint("after-answer")
    this.#tell({ seq, atMs, durationMs: clock.monotonicMs() - startedMs, bytes: body.length }, result)
    return result
  }

  /** What comes of an entry that `render` finds damaged: an attempt that sends nothing. */
  refuseDamaged(seq: MatchSeq): AttemptResult {
    const result: AttemptResult = {
      outcome: "damaged",
      status: undefined,
      retryAfterMs: undefined,
      error: "the stored post is damaged, so nothing of it is sent",
    }
    this.#tell({ seq, atMs: this.#deps.clock.nowMs(), durationMs: 0, bytes: 0 }, result)
    return result
  }

  #tell(
    attempt: { seq: MatchSeq; atMs: number; durationMs: number; bytes: number },
    { outcome, status, error }: AttemptResult,
  ): void {
    const { id: linkId, webhookId } = this.#link
    const { seq, durationMs } = attempt
    const { events, history } = this.#deps
    events.attemptFinished({ webhookId, eventId: this.eventIdOf(seq), outcome, status, durationMs, error })
    history.add({
      linkId,
      ...attempt,
      durationMs: Math.round(durationMs),
      outcome,
      ...(status !== undefined && { status }),
      ...(error !== undefined && { error }),
    })
  }
}

function hasSameSecrets(a: LinkToDeliver, b: LinkToDeliver): boolean {
  return (
    isSameBytes(a.consumerSecretSealed, b.consumerSecretSealed) &&
    isSameBytes(a.signingKeySealed, b.signingKeySealed) &&
    isSameKey(a.previousKey, b.previousKey)
  )
}

function isSameKey(a: SealedKeyUntil | undefined, b: SealedKeyUntil | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.untilMs === b.untilMs && isSameBytes(a.keySealed, b.keySealed)
}

function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
