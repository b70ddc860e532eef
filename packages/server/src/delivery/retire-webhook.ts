/** What comes of an answer 410 Gone, whatever it answers. */
import type { WebhookId } from "../model/ids.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Store } from "../store/store.ts"

/** The endpoint wants no more: its webhook is invalid until its app has it validated. Rejects when the store does. */
export async function retireWebhook(
  { store, clock, events }: { readonly store: Store; readonly clock: Clock; readonly events: Events },
  webhookId: WebhookId,
): Promise<void> {
  const result = { valid: false, reason: "answered 410 Gone" } as const
  const hasTurned = await store.setWebhookValid(webhookId, result, clock.nowMs())
  if (hasTurned) events.webhookTurned({ webhookId, valid: false })
}
