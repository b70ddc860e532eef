/**
 * How an attempt to deliver ended: delivered, or the class of its failure. Ours, after the classes that senders of
 * webhooks commonly distinguish.
 *
 * | Outcome            | Means                                                                    |
 * | ------------------ | ------------------------------------------------------------------------ |
 * | `delivered`        | a 2xx response, complete and in time                                     |
 * | `dns`              | the name has no public address, or its server gave none                  |
 * | `blocked_address`  | a URL that nothing may be sent to                                        |
 * | `connect`          | refused, reset or closed before a response began                         |
 * | `tls`              | no TLS, or a certificate that is not trusted                             |
 * | `timeout`          | no connection, or no complete response, in time                          |
 * | `redirect`         | 3xx; redirects are not followed                                          |
 * | `rejected`         | 4xx                                                                      |
 * | `gone`             | 410: the endpoint wants no more deliveries; its webhook is invalidated   |
 * | `server_error`     | 5xx                                                                      |
 * | `invalid_response` | a response that is not HTTP, or breaks off                               |
 * | `too_large`        | a response of more than 64 KiB                                           |
 * | `local_error`      | nothing was sent, for a cause on this machine (no descriptors, no route) |
 * | `damaged`          | nothing was sent, because the stored post is damaged                     |
 * | `post_deleted`     | nothing was sent, because the post has been deleted                      |
 */
export const attemptOutcomes = [
  "delivered",
  "dns",
  "blocked_address",
  "connect",
  "tls",
  "timeout",
  "redirect",
  "rejected",
  "gone",
  "server_error",
  "invalid_response",
  "too_large",
  "local_error",
  "damaged",
  "post_deleted",
] as const

/** One of the outcomes. */
export type AttemptOutcome = (typeof attemptOutcomes)[number]

/** A failed attempt in a sentence without its full stop: "the endpoint responded with status 500". */
export function failureText({
  outcome,
  status,
  error,
}: {
  readonly outcome: string
  readonly status?: number
  readonly error?: string
}): string {
  if (error === undefined) return `the outcome was ${outcome}`
  // Failures with a response say how the endpoint responded.
  return status === undefined ? error : `the endpoint ${error}`
}

/** The side at fault in a failed attempt: the endpoint (or the network), or this server; `undefined` when nothing failed. */
export function faultOf(outcome: AttemptOutcome): "endpoint" | "server" | undefined {
  if (outcome === "delivered" || outcome === "post_deleted") return undefined
  return outcome === "local_error" || outcome === "damaged" ? "server" : "endpoint"
}
