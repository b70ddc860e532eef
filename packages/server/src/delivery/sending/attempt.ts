/** Results of requests as results of attempts to deliver. */
import type { AttemptOutcome } from "@sluice/api"
import { truncateForDisplay } from "../../model/truncate.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { OutboundResult, ReceivedResponse } from "../../runtime/outbound/outbound.ts"
import { retryAfterMs } from "../../runtime/outbound/retry-after.ts"

/** The result of an attempt. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome
  /** Status of a complete response. */
  readonly status: number | undefined
  /**
   * The `Retry-After` of a response that is not 2xx, unclamped: 0, negative for a date that is past, or beyond all
   * bounds. `undefined` when there is none, or it cannot be parsed.
   */
  readonly retryAfterMs: number | undefined
  /**
   * The failure, in a few words for people; `undefined` when it is delivered. At most 200 characters without control
   * characters, and nothing of a response's body.
   */
  readonly error: string | undefined
  /** `undefined` when no response began. */
  readonly received: ReceivedResponse | undefined
}

/**
 * How the attempt ended that this came of. Any 2xx delivers; X's documents say 200, and no receiver means anything else by
 * 204. The clock is read only after a response with `Retry-After`.
 */
export function attemptResult(result: OutboundResult, clock: Pick<Clock, "nowMs">): AttemptResult {
  const { received } = result
  if (result.kind === "failure") {
    const { outcome, detail } = result
    return { outcome, status: undefined, retryAfterMs: undefined, error: truncateForDisplay(detail), received }
  }
  const { status, retryAfter } = result
  if (status < 300) return { outcome: "delivered", status, retryAfterMs: undefined, error: undefined, received }
  return {
    outcome: outcomeOf(status),
    status,
    retryAfterMs: retryAfter === undefined ? undefined : retryAfterMs(retryAfter, clock.nowMs()),
    error: `responded with status ${status}${remarkOf(status)}`,
    received,
  }
}

function outcomeOf(status: number): AttemptOutcome {
  if (status < 400) return "redirect"
  if (status >= 500) return "server_error"
  return status === gone ? "gone" : "rejected"
}

/** The status by which an endpoint refuses all further deliveries. Source: Standard Webhooks 1.0; RFC 9110, 15.5.11. */
const gone = 410

function remarkOf(status: number): string {
  if (status < 400) return "; redirects are not followed"
  return status === gone ? ": gone for good" : ""
}
