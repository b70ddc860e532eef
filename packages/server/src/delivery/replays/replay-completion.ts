/**
 * The event that a webhook is sent when a replay has ended, in X's words and signed like a delivery.
 *
 * Source: docs.x.com, "Account activity: replay"; its event names the webhook and the job.
 */
import type { Replay } from "../../model/replay.ts"
import { retryDelayMs } from "../sending/retry-delay.ts"
import type { LinkSender } from "../sending/sender.ts"
import type { SendingDeps } from "../sending/sending-deps.ts"
import { replayAttemptsMax, replayRetryPolicy } from "./replay-job.ts"

const words = {
  complete: { state: "Complete", description: "Job completed successfully" },
  incomplete: {
    state: "Incomplete",
    description: "Job failed to deliver all events, please retry your replay job",
  },
} as const

/**
 * Sends the completion event: several times if necessary, and never while the webhook is invalid or after `signal`. A
 * 410 invalidates the webhook, as with any delivery. The end is in the store already, so an event that is lost loses
 * nothing but itself.
 */
export async function sendCompletion(
  { clock, random, sender }: Pick<SendingDeps, "clock" | "random"> & { readonly sender: LinkSender },
  { id, webhookId }: Replay,
  end: keyof typeof words,
  isValid: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const status = {
    webhook_id: webhookId,
    job_state: words[end].state,
    job_state_description: words[end].description,
    job_id: id,
  }
  const body = Buffer.from(JSON.stringify({ replay_job_status: status }))
  for (let failures = 0; failures < replayAttemptsMax && !signal.aborted && isValid();) {
    const { outcome, retryAfterMs } = await sender.sendEvent(`replay_${id}`, body)
    if (outcome === "delivered") return
    if (outcome === "gone") return isValid() ? sender.invalidateWebhook() : undefined
    failures += 1
    if (failures < replayAttemptsMax) {
      const delayMs = retryDelayMs(replayRetryPolicy, failures, random.fraction(), retryAfterMs)
      await clock.sleep(delayMs, signal)
    }
  }
}
