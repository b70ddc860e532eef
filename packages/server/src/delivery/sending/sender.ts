/**
 * Sends entries of the log to one link's endpoint: renders, signs, sends, and records them in the history.
 *
 * Live deliveries and replays send through it, so a match has the same event id and the same body in every attempt.
 */
import { deliveryHeaders } from "../../model/delivery-headers.ts"
import { epochAt, eventIdOf } from "../../model/event-id.ts"
import type { FieldSelection } from "../../model/field-selection.ts"
import type { MatchSeq } from "../../model/ids.ts"
import { selectionOfQuery } from "../../model/link-query.ts"
import type { LinkToDeliver } from "../../model/link.ts"
import type { MatchEntry } from "../../model/match.ts"
import { crashPoint } from "../../runtime/crash-points.ts"
import type { Outbound } from "../../runtime/outbound/outbound.ts"
import { attemptResult, type AttemptResult } from "./attempt.ts"
import type { AttemptHistory, EndedAttempt } from "./attempt-history.ts"
import type { SendingDeps } from "./sending-deps.ts"
import { deliveryBody } from "./delivery-body.ts"
import { hasSameKeys, LinkKeys } from "./signing-keys.ts"

/** Dependencies of a sender. */
export interface LinkSenderDeps extends Pick<
  SendingDeps,
  "secretBox" | "outbound" | "outboundTo" | "clock" | "attemptMsMax"
> {
  readonly store: Pick<SendingDeps["store"], "invalidateWebhook">
  readonly events: Pick<SendingDeps["events"], "attemptFinished" | "webhookValidityChanged">
  readonly history: Pick<AttemptHistory, "add">
}

/** Sends what a link delivers. Keeps nothing of what it sends. */
export class LinkSender {
  readonly #deps: LinkSenderDeps
  readonly #outbound: Pick<Outbound, "send">
  readonly #selection: FieldSelection
  #link: LinkToDeliver
  #keys: LinkKeys

  /** Throws when the link's secrets cannot be opened. */
  constructor(link: LinkToDeliver, deps: LinkSenderDeps) {
    this.#deps = deps
    this.#outbound = deps.outboundTo?.(link) ?? deps.outbound
    this.#selection = selectionOfQuery(link.query)
    this.#link = link
    this.#keys = new LinkKeys(link, deps.secretBox)
  }

  /** Takes over what may change while a link exists. Throws when its secrets cannot be opened, and changes nothing. */
  update(link: LinkToDeliver): void {
    if (!hasSameKeys(link, this.#link)) this.#keys = new LinkKeys(link, this.#deps.secretBox)
    this.#link = link
  }

  /** The same in every attempt to deliver this match. */
  eventIdOf(seq: MatchSeq): string {
    const { id: linkId, epochs } = this.#link
    const epoch = epochAt(epochs, seq)
    return eventIdOf({ linkId, seq, ...(epoch !== undefined && { epoch }) })
  }

  /** The body that delivers an entry, the same each time; `undefined` when the entry is damaged. */
  render(entry: MatchEntry): Uint8Array | undefined {
    return deliveryBody(entry, this.#selection)
  }

  /** One attempt to deliver a match, kept in the history. Never rejects for what the world does. */
  send(match: Pick<MatchEntry, "seq" | "postId">, body: Uint8Array): Promise<AttemptResult> {
    return this.sendEvent(this.eventIdOf(match.seq), body, match)
  }

  /**
   * One attempt to deliver an event, with the post that is in it; without `seq`, one that is not of the log, and not kept in
   * the history.
   */
  async sendEvent(
    eventId: string,
    body: Uint8Array,
    delivered: Partial<Pick<MatchEntry, "seq" | "postId">> = {},
  ): Promise<AttemptResult> {
    const { clock, attemptMsMax: deadlineMs } = this.#deps
    const { url } = this.#link
    const atMs = clock.nowMs()
    const startedMs = clock.monotonicMs()
    const signatures = this.#keys.at(atMs).sign(eventId, body, atMs)
    const headers = deliveryHeaders(eventId, atMs, signatures)
    crashPoint("before-send")
    const result = attemptResult(await this.#outbound.send({ method: "POST", url, headers, body, deadlineMs }), clock)
    if (result.outcome === "delivered") crashPoint("after-response")
    const durationMs = clock.monotonicMs() - startedMs
    this.#record(eventId, delivered, { atMs, durationMs, bytes: body.length, signatures }, result)
    return result
  }

  /** The result for an entry that `render` finds damaged: an attempt that sends nothing. */
  refuseDamaged(seq: MatchSeq): AttemptResult {
    return this.#sendNothing(seq, "damaged", "the stored post is damaged, so nothing of it is sent")
  }

  /** The result for an entry whose post is deleted: an attempt that sends nothing. */
  withdraw(seq: MatchSeq): AttemptResult {
    return this.#sendNothing(seq, "post_deleted", "the post has been deleted, so nothing of it is sent")
  }

  #sendNothing(seq: MatchSeq, outcome: "damaged" | "post_deleted", error: string): AttemptResult {
    const result: AttemptResult = { outcome, status: undefined, retryAfterMs: undefined, error, received: undefined }
    const atMs = this.#deps.clock.nowMs()
    this.#record(this.eventIdOf(seq), { seq }, { atMs, durationMs: 0, bytes: 0, signatures: undefined }, result)
    return result
  }

  /**
   * Invalidates the webhook, whose endpoint returned 410 Gone. It stays invalid until its app validates it again.
   * Rejects when the store does.
   *
   * Source: Standard Webhooks 1.0, on 410.
   */
  async invalidateWebhook(): Promise<void> {
    const { webhookId } = this.#link
    const isKnown = await this.#deps.store.invalidateWebhook(webhookId, "responded with 410 Gone")
    if (isKnown) this.#deps.events.webhookValidityChanged({ webhookId, valid: false })
  }

  #record(
    eventId: string,
    { seq, postId }: Partial<Pick<MatchEntry, "seq" | "postId">>,
    { atMs, durationMs, bytes, signatures }: Pick<EndedAttempt, "atMs" | "durationMs" | "bytes" | "signatures">,
    { outcome, status, error, received }: AttemptResult,
  ): void {
    const { id: linkId, webhookId, appId } = this.#link
    this.#deps.events.attemptFinished({ appId, webhookId, eventId, outcome, status, durationMs, postId, error })
    if (seq === undefined) return
    // With all members, absent or not: an object that is put together of some costs several times as much.
    this.#deps.history.add({ linkId, seq, atMs, bytes, durationMs, outcome, status, error, signatures, received })
  }
}
