/**
 * What a webhook is sent when a replay has ended, in X's words and signed like a delivery.
 *
 * Source: docs.x.com, "Account activity: replay"; its event names the webhook and the job.
 */
import type { LinkToDeliver } from "../model/link.ts"
import type { Replay } from "../model/replay.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Outbound } from "../runtime/outbound.ts"
import type { Random } from "../runtime/random.ts"
import type { SecretBox } from "../runtime/secret-box.ts"
import type { Store } from "../store/store.ts"
import { attemptDelivery, deliveryHeaders } from "./attempt.ts"
import { openKeys } from "./link-keys.ts"
import { replayAttemptsMax, replayRetryDelayMs } from "./replay-job.ts"
import { retireWebhook } from "./retire-webhook.ts"

/** How a replay may have ended. */
export type ReplayEnd = Exclude<Replay["state"], "running">

const words = {
  complete: { state: "Complete", description: "Job completed successfully" },
  incomplete: {
    state: "Incomplete",
    description: "Job failed to deliver all events, please retry your replay job",
  },
} as const

/**
 * Tells the endpoint of `link()` that a replay has ended, some times if need be, and never while the webhook is
 * invalid or after `signal`. An endpoint that wants no more retires its webhook, as with any delivery. The end stands
 * in the store already: an event that is lost loses nothing but itself.
 */
export async function tellCompletion(
  deps: {
    store: Store
    outbound: Outbound
    secretBox: SecretBox
    clock: Clock
    random: Random
    events: Events
    attemptMsMax: number
  },
  { id, webhookId }: Replay,
  end: ReplayEnd,
  link: () => LinkToDeliver,
  signal: AbortSignal,
): Promise<void> {
  const { outbound, secretBox, clock, random, events, attemptMsMax: deadlineMs } = deps
  const eventId = `replay_${id}`
  const status = {
    webhook_id: webhookId,
    job_state: words[end].state,
    job_state_description: words[end].description,
    job_id: id,
  }
  const body = Buffer.from(JSON.stringify({ replay_job_status: status }))
  for (let failures = 0; failures < replayAttemptsMax && !signal.aborted && link().valid;) {
    const startedMs = clock.monotonicMs()
    const atMs = clock.nowMs()
    const headers = deliveryHeaders(openKeys(link(), secretBox).at(atMs), eventId, body, atMs)
    const delivery = { url: link().url, headers, body, deadlineMs }
    const result = await attemptDelivery(outbound, delivery, clock)
    const { outcome, status: answered, error } = result
    const durationMs = clock.monotonicMs() - startedMs
    events.attemptFinished({ webhookId, eventId, outcome, status: answered, durationMs, error })
    if (outcome === "delivered") return
    if (outcome === "gone") return link().valid ? retireWebhook(deps, webhookId) : undefined
    failures += 1
    if (failures < replayAttemptsMax) {
      await clock.sleep(replayRetryDelayMs(result, failures, random.fraction()), signal)
    }
  }
}
