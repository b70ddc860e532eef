/** Dead letters, the matches that links gave up: listing them and sending them again. */
import type { RedeliverBody } from "@sluice/api"
import type { DeadLetter, DeadLetterSelector } from "../model/dead-letter.ts"
import { asId, type AppId, type DeadLetterId, type WebhookId } from "../model/ids.ts"
import { invalidRequest } from "../model/problem.ts"
import type { KeysetRange } from "../store/keyset-range.ts"
import type { DeadLetterStore } from "../store/port/dead-letter-store.ts"

/** The dead letters of all apps. */
export interface DeadLetters {
  /** Dead letters of an app, or of all, newest first; of one webhook when given. Another app's webhook has none. */
  list(
    of: { readonly appId?: AppId; readonly webhookId?: WebhookId },
    range: KeysetRange<DeadLetterId>,
  ): Promise<readonly DeadLetter[]>
  /**
   * Queues dead letters to be sent again, only the app's own when it is given, and returns how many. Ids that do not
   * exist, or are another app's, are skipped. Throws 400 for a request that does not say which.
   */
  redeliver(appId: AppId | undefined, request: RedeliverBody): Promise<number>
}

/** The dead letters kept in a store. */
export function createDeadLetters({ store }: { store: DeadLetterStore }): DeadLetters {
  return {
    list: (of, range) => store.deadLetters(of, range),
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
