/** Links as rows. */
import type { LogEpoch } from "../../model/event-id.ts"
import type { LinkToDeliver } from "../../model/link.ts"
import { isTrue, recordOf, type StoredBoolean } from "./record.ts"
import { previousKeyOf, type PreviousKeyRow } from "./webhook.ts"

/** Columns of a link as it was created. */
export const linkColumns = "id, app_id, webhook_id, created_at_ms, query"

/** Columns of a link's tally, but for the counts that an audit counts anew. */
export const tallyColumns = "app_id, webhook_id, first_position, position, delivered, expired, missed, withdrawn"

/** A link with what a delivery needs. */
export interface LinkToDeliverRow
  extends PreviousKeyRow, Omit<LinkToDeliver, "valid" | "isOrdered" | "pausedAtMs" | "previousKey" | "epochs"> {
  readonly valid: StoredBoolean
  readonly isOrdered: StoredBoolean
  readonly pausedAtMs: number | null
  /** JSON text, or what it says. */
  readonly epochs: string | readonly LogEpoch[] | null
}

/** A row as a link. */
export function linkToDeliverOf({
  previousKeySealed,
  previousUntilMs,
  epochs,
  ...row
}: LinkToDeliverRow): LinkToDeliver {
  const read = typeof epochs === "string" ? (JSON.parse(epochs) as readonly LogEpoch[]) : epochs
  return {
    ...recordOf(row),
    valid: isTrue(row.valid),
    isOrdered: isTrue(row.isOrdered),
    ...previousKeyOf({ previousKeySealed, previousUntilMs }),
    ...(read !== null && { epochs: read }),
  }
}
