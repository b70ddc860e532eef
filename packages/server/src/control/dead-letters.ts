/** Dead letters: what links gave up, to be looked at and to be sent again. */
import { faultOf, type DeadLetter as ShownDeadLetter, type RedeliverBody } from "@sluice/api"
import type { DeadLetter, DeadLetterSelector } from "../model/dead-letter.ts"
import { asId, type AppId, type DeadLetterId, type WebhookId } from "../model/ids.ts"
import { eventIdOf } from "../model/link.ts"
import { invalidRequest } from "../model/problem.ts"
import type { KeysetRange, Store } from "../store/store.ts"

/** The dead letters of all apps. */
export interface DeadLetters {
  /** Some of an app's, or of all, newest first; of one webhook when given. A webhook of others' has none. */
  list(
    of: { readonly appId?: AppId; readonly webhookId?: WebhookId },
    range: KeysetRange<DeadLetterId>,
  ): Promise<readonly ShownDeadLetter[]>
  /**
   * Has dead letters sent again, only the app's own when it is given, and says how many. Ids that are not there, or not
   * the app's, are passed over. Throws 400 for a request that does not say which.
   */
  redeliver(appId: AppId | undefined, request: RedeliverBody): Promise<number>
}

/** The dead letters kept in a store. */
export function createDeadLetters({ store }: { store: Store }): DeadLetters {
  return {
    async list(of, range) {
      return (await store.deadLetters(of, range)).map(shown)
    },
    redeliver: async (appId, request) =>
      store.redeliver({ ...(appId !== undefined && { appId }), ...selectorOf(request) }),
  }
}

function selectorOf({ ids, all, webhook_id, since }: RedeliverBody): DeadLetterSelector {
  if (ids !== undefined) {
    if (all !== undefined || webhook_id !== undefined || since !== undefined) throw ambiguous()
    return { kind: "ids", ids: [...new Set(ids.map((id) => asId<DeadLetterId>(id)))] }
  }
  if (all !== true) throw ambiguous()
  return {
    kind: "all",
    ...(webhook_id !== undefined && { webhookId: asId<WebhookId>(webhook_id) }),
    ...(since !== undefined && { sinceMs: Date.parse(since) }),
  }
}

function ambiguous(): Error {
  return invalidRequest(
    'Say which dead letters: either {"ids":[…]}, or {"all":true} with or without `webhook_id` and `since`.',
  )
}

function shown(letter: DeadLetter): ShownDeadLetter {
  const { id, webhookId, appId, linkId, seq, postId, failures, outcome, status, error } = letter
  const fault = faultOf(outcome)
  return {
    id,
    webhook_id: webhookId,
    application_id: appId,
    event_id: eventIdOf(linkId, seq),
    post_id: postId,
    failures,
    outcome,
    ...(fault !== undefined && { fault }),
    ...(status !== undefined && { status }),
    ...(error !== undefined && { error }),
    matched_at: instant(letter.matchedAtMs),
    died_at: instant(letter.diedAtMs),
  }
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString()
}
