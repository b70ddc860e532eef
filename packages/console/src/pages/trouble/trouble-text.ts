/** Troubles in words. */
import type { Trouble } from "@sluice/api"

/** What goes wrong, in a few words. */
export function faultText(trouble: Pick<Trouble, "kind" | "response" | "latency_ms" | "retry_after_seconds">): string {
  const { kind, response, latency_ms: latencyMs, retry_after_seconds: retryAfterS } = trouble
  if (kind === "repeats") return "Delivery sent twice"
  if (kind === "page_tokens") return "Page token expired"
  const subject = kind === "challenges" ? "Challenge" : "Delivery"
  if (response === "slow") return `${subject} answered after ${String(latencyMs)} ms`
  if (response === "cut") return `${subject}: the answer is lost`
  if (response === "wrong_token") return `${subject} answered with a wrong token`
  const retryAfter = retryAfterS === undefined ? "" : `, Retry-After: ${String(retryAfterS)}`
  return `${subject} answered with ${String(response)}${retryAfter}`
}

/** How long it goes on. */
export function extentText({ remaining, percent }: Pick<Trouble, "remaining" | "percent">): string {
  if (percent !== undefined) return `${String(percent)} % of all`
  return remaining === undefined ? "All issued before it" : `${String(remaining)} more`
}
