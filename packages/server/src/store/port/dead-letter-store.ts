/** Dead letters: a part of the store (`store.ts`). */
import type { DeadLetter, DeadLetterSelector } from "../../model/dead-letter.ts"
import type { AppId, DeadLetterId, WebhookId } from "../../model/ids.ts"
import type { KeysetRange } from "../keyset-range.ts"

/** Reads: dead letters. */
export interface DeadLetterReads {
  /** Newest first, of one app or of all, and of one webhook when given. */
  deadLetters(
    of: { readonly appId?: AppId; readonly webhookId?: WebhookId },
    range: KeysetRange<DeadLetterId>,
  ): Promise<readonly DeadLetter[]>
}

/** Writes: dead letters. */
export interface DeadLetterWrites {
  /**
   * Turns dead letters into retries that are due at once, the oldest of each link first, and returns their number. A link
   * gets at most 1,000 retries with 16 MiB to send, but at least one retry; all links together at most 10,000, those with
   * the fewest retries first. The other dead letters stay.
   */
  redeliver(selector: DeadLetterSelector): Promise<number>
  /**
   * Deletes at most `limit` dead letters that are older than `beforeMs`, and returns their number. Those whose match
   * retention has not passed stay: so a match that the log still has and the link's cursor has passed is a retry, a
   * dead letter or delivered.
   */
  trimDeadLetters(options: { beforeMs: number; limit: number }): Promise<number>
}

/** Dead letters. */
export interface DeadLetterStore extends DeadLetterReads, DeadLetterWrites {}
