/** Webhooks, links, attempts, dead letters and replays as API bodies show them. */
import {
  faultOf,
  snowflakeAtMs,
  type DeadLetter as DeadLetterShown,
  type Link,
  type LinkAttempt,
  type LinkAttemptBody,
  type LinkDetail,
  type RedeliveredMatchesBody,
  type ReplayState,
  type TestDeliveryBody,
  type Webhook,
  type WebhookDetail,
} from "@sluice/api"
import type { Redelivered } from "../../control/redeliveries.ts"
import type { TestDelivery } from "../../control/webhooks/test-delivery.ts"
import type { SigningKey } from "../../control/webhooks/webhook-registry.ts"
import type { LinkState } from "../../delivery/links/link-states.ts"
import type { App } from "../../model/app.ts"
import type { AttemptSent } from "../../delivery/links/run/attempt-sent.ts"
import type { AttemptResponse, StoredAttempt } from "../../model/attempt.ts"
import { instant, minuteText } from "../../model/date-time.ts"
import { deliveryHeaders } from "../../model/delivery-headers.ts"
import type { DeadLetter } from "../../model/dead-letter.ts"
import { eventIdOf } from "../../model/event-id.ts"
import { linkFields } from "../../model/link-query.ts"
import type { StoredLink } from "../../model/link.ts"
import { isSearched, type Replay } from "../../model/replay.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import type { KeysetPage } from "../../paging/keyset-page.ts"
import { ownHeaders } from "../../runtime/outbound/outbound.ts"

/** A webhook. */
export function presentWebhook({ id, url, valid, createdAtMs }: StoredWebhook): Webhook {
  return { id, url, valid, created_at: instant(createdAtMs) }
}

/** A webhook's signing key. */
export function presentSigningKey({ signingKey, previousUntilMs }: SigningKey) {
  return {
    data: {
      signing_key: signingKey,
      ...(previousUntilMs !== undefined && { previous_valid_until: instant(previousUntilMs) }),
    },
  }
}

/** The result of a webhook's challenge. */
export function presentValid(valid: boolean) {
  return { data: { valid } }
}

/** A webhook or a link was deleted. */
export function presentDeleted() {
  return { data: { deleted: true } }
}

/** A link was created. */
export function presentProvisioned() {
  return { data: { provisioned: true } }
}

/** A page of an app's links. */
export function presentLinks(app: App, { items, meta }: KeysetPage<StoredLink>) {
  return { data: { links: items.map((link) => presentLink(app, link)) }, meta }
}

const allLinksTexts = new WeakMap<readonly StoredLink[], string>()

/** JSON text of all links of an app. Made once for each list: clients ask for it again and again, and it seldom changes. */
export function presentAllLinks(app: App, links: readonly StoredLink[]): string {
  const known = allLinksTexts.get(links)
  if (known !== undefined) return known
  const text = JSON.stringify({ data: { links: links.map((link) => presentLink(app, link)) } })
  allLinksTexts.set(links, text)
  return text
}

/** A link of an app. */
function presentLink(app: App, { createdAtMs, query, webhookId }: StoredLink): Link {
  return {
    application_id: app.id,
    business_user_id: app.businessUserId,
    created_at: instant(createdAtMs),
    fields: linkFields(query),
    instance_id: app.instanceId,
    webhook_id: webhookId,
  }
}

/** A webhook with the state of its link. */
export function presentWebhookState(
  { id, appId, url, name, description, createdAtMs, valid, invalidReason, checkedAtMs }: StoredWebhook,
  state: LinkState | undefined,
): WebhookDetail {
  return {
    id,
    application_id: appId,
    url,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    created_at: instant(createdAtMs),
    valid,
    ...(invalidReason !== undefined && { invalid_reason: invalidReason }),
    checked_at: instant(checkedAtMs),
    ...(state !== undefined && { link: { ...presentLinkDetail(state), fields: linkFields(state.query) } }),
  }
}

/** The state of a link. */
export function presentLinkDetail(state: LinkState): LinkDetail {
  const { position, head, pausedAtMs, oldestUndeliveredAtMs, failingSinceMs, nextAttemptAtMs, tally } = state
  return {
    webhook_id: state.webhookId,
    application_id: state.appId,
    valid: state.valid,
    ...(state.invalidReason !== undefined && { invalid_reason: state.invalidReason }),
    ordered: state.isOrdered,
    paused: pausedAtMs !== undefined,
    ...(pausedAtMs !== undefined && { paused_since: instant(pausedAtMs) }),
    down: state.isDown,
    position,
    head,
    lag: Math.max(0, head - position),
    undelivered: state.undelivered,
    in_flight: state.inFlight,
    ...(oldestUndeliveredAtMs !== undefined && { oldest_undelivered_at: instant(oldestUndeliveredAtMs) }),
    ...(failingSinceMs !== undefined && { failing_since: instant(failingSinceMs) }),
    ...(nextAttemptAtMs !== undefined && { next_attempt_at: instant(nextAttemptAtMs) }),
    delivered: state.delivered,
    failed: state.failed,
    total: {
      delivered: tally?.delivered ?? 0,
      retrying: tally?.retries ?? 0,
      dead_letters: tally?.deadLetters ?? 0,
      expired: tally?.expired ?? 0,
      missed: tally?.missed ?? 0,
      withdrawn: tally?.withdrawn ?? 0,
    },
    gaps: state.gaps.map(({ from, to, atMs }) => ({ from, to, at: instant(atMs) })),
  }
}

/** An attempt to deliver. */
export function presentAttempt(attempt: StoredAttempt): LinkAttempt {
  return { id: attempt.id, ...presentEnd({ ...attempt, eventId: eventIdOf(attempt) }) }
}

/** The result of a test of a webhook. */
export function presentTestDelivery({ response, ...ended }: TestDelivery): TestDeliveryBody["data"] {
  return { ...presentEnd(ended), ...(response !== undefined && { response: presentResponse(response) }) }
}

function presentEnd({
  eventId,
  atMs,
  durationMs,
  outcome,
  status,
  bytes,
  error,
}: Omit<TestDelivery, "response">): Omit<LinkAttempt, "id"> {
  const fault = faultOf(outcome)
  return {
    at: instant(atMs),
    duration_ms: Math.max(0, Math.round(durationMs)),
    outcome,
    ...(fault !== undefined && { fault }),
    ...(status !== undefined && { status }),
    event_id: eventId,
    bytes,
    ...(error !== undefined && { error }),
  }
}

/** An attempt with what was sent and what came back. */
export function presentAttemptSent({ attempt, url, body }: AttemptSent): LinkAttemptBody["data"] {
  const { atMs, bytes, signatures, response } = attempt
  return {
    ...presentAttempt(attempt),
    ...(bytes > 0 && {
      request: {
        method: "POST",
        url,
        headers: {
          ...ownHeaders,
          ...deliveryHeaders(eventIdOf(attempt), atMs, signatures),
          "content-length": String(bytes),
        },
        ...(body.kind === "whole" ? { body: body.text } : { body_unavailable: body.kind }),
      },
    }),
    ...(response !== undefined && { response: presentResponse(response) }),
  }
}

function presentResponse({ headers, ...rest }: AttemptResponse) {
  return { ...rest, headers: Object.fromEntries(headers) }
}

/** A dead letter. */
export function presentDeadLetter(letter: DeadLetter): DeadLetterShown {
  const { id, webhookId, appId, postId, failures, outcome, status, error } = letter
  const fault = faultOf(outcome)
  return {
    id,
    webhook_id: webhookId,
    application_id: appId,
    event_id: eventIdOf(letter),
    post_id: postId,
    failures,
    outcome,
    ...(fault !== undefined && { fault }),
    ...(status !== undefined && { status }),
    ...(error !== undefined && { error }),
    matched_at: instant(letter.matchedAtMs),
    dead_lettered_at: instant(letter.deadLetteredAtMs),
  }
}

/** Matches that are sent again, and those that are not. */
export function presentRedelivered({ count, refused }: Redelivered): RedeliveredMatchesBody {
  return {
    data: { redelivered: count, refused: refused.map(({ eventId, reason }) => ({ event_id: eventId, reason })) },
  }
}

/** The number of dead letters that are sent again. */
export function presentRedeliveredCount(redelivered: number) {
  return { data: { redelivered } }
}

/** A replay that was just created. */
export function presentNewReplay({ id, createdAtMs }: Replay) {
  return { data: { job_id: id, created_at: instant(createdAtMs) } }
}

/** A replay and how far it has come. */
export function presentReplay(replay: Replay): ReplayState {
  return {
    job_id: replay.id,
    webhook_id: replay.webhookId,
    application_id: replay.appId,
    from_date: minuteText(replay.fromMs),
    to_date: minuteText(replay.toMs),
    state: isSearched(replay) || replay.state !== "running" ? replay.state : "searching",
    position: replay.position,
    end: replay.endSeq,
    delivered: replay.delivered,
    failed: replay.failed,
    created_at: instant(replay.createdAtMs),
    ...(replay.endedAtMs !== undefined && { ended_at: instant(replay.endedAtMs) }),
    ...(replay.backfill && {
      rules: [...replay.backfill.rules],
      searched_to: instant(snowflakeAtMs(replay.backfill.searchedId) ?? replay.fromMs),
    }),
  }
}
