import type { AppId, WebhookId } from "../../model/ids.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Events } from "../../runtime/events/events.ts"
import type { Outbound } from "../../runtime/outbound/outbound.ts"
import type { Random } from "../../runtime/random.ts"
import type { SecretBox } from "../../runtime/secret-box.ts"
import type { Leases } from "../../store/leases.ts"
import type { Store } from "../../store/store.ts"

/** Events of deliveries: all that the senders to webhooks may report. */
export type DeliveryEvents = Pick<
  Events,
  | "attemptFinished"
  | "endpointStateChanged"
  | "failed"
  | "linksMeasured"
  | "linksNotMeasured"
  | "matchDeadLettered"
  | "replayEnded"
  | "replayStarted"
  | "webhookValidityChanged"
>

/** Dependencies of links and replays, which send to webhooks. */
export interface SendingDeps {
  readonly store: Store
  readonly leases: Leases
  readonly outbound: Outbound
  /** Sends the deliveries to a webhook; absent: `outbound` does. */
  readonly outboundTo?: (webhook: { readonly appId: AppId; readonly webhookId: WebhookId }) => Pick<Outbound, "send">
  readonly secretBox: SecretBox
  readonly clock: Clock
  readonly random: Random
  readonly events: DeliveryEvents
  readonly attemptMsMax: number
  readonly attemptsKeptPerLink: number
  /** Most bytes of a response's body that the history keeps. 0: nothing of responses. */
  readonly attemptResponseBytesMax: number
  /** Bound for a link, and the same for each of its replays. 0: unbounded. */
  readonly deliveriesPerLinkPerSecondMax: number
  /** Threads that deliver at the same time: each has its share of what is bounded over all links. 1 unless given. */
  readonly deliveryThreads?: number
  /** Longest that a stop waits for attempts. */
  readonly drainMsMax: number
}
