/**
 * How an attempt to deliver may end: delivered, or the class of its failure. Ours, after what senders of webhooks
 * commonly tell apart.
 *
 * | Outcome     | Means                                                                   |
 * | ----------- | ----------------------------------------------------------------------- |
 * | `delivered` | a 2xx answer, whole, in time                                            |
 * | `dns`       | the name has no address, or its server gave none                        |
 * | `address`   | an address, or a URL, that nothing may be sent to                       |
 * | `connect`   | refused, reset or closed before an answer began                         |
 * | `tls`       | no TLS, or a certificate that is not to be trusted                      |
 * | `timeout`   | not connected, not answered or not done answering in time               |
 * | `redirect`  | 3xx; redirects are not followed                                         |
 * | `rejected`  | 4xx                                                                     |
 * | `gone`      | 410: the endpoint wants no more; the webhook is invalid from then on    |
 * | `failed`    | 5xx                                                                     |
 * | `answer`    | an answer that is not HTTP, or breaks off                               |
 * | `too-large` | an answer of more than 64 KiB                                           |
 * | `local`     | nothing was sent, for a cause on this machine (no descriptors, no route)|
 * | `damaged`   | nothing was sent, because the stored post is damaged                    |
 */
export const attemptOutcomes = [
  "delivered",
  "dns",
  "address",
  "connect",
  "tls",
  "timeout",
  "redirect",
  "rejected",
  "gone",
  "failed",
  "answer",
  "too-large",
  "local",
  "damaged",
] as const

/** One of the ways. */
export type AttemptOutcome = (typeof attemptOutcomes)[number]

/** Whose fault a failed attempt was: the endpoint's (or the way there), or this server's. */
export function faultOf(outcome: AttemptOutcome): "endpoint" | "server" | undefined {
  if (outcome === "delivered") return undefined
  return outcome === "local" || outcome === "damaged" ? "server" : "endpoint"
}
