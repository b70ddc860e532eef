/** Faults in words. */
import type { Trouble } from "@sluice/api"

/** The fault, in a few words. */
export function faultText(trouble: Pick<Trouble, "kind" | "response" | "latency_ms" | "retry_after_seconds">): string {
  const { kind, response, latency_ms: latencyMs, retry_after_seconds: retryAfterS } = trouble
  if (kind === "repeats") return "Delivery sent twice"
  if (kind === "page_tokens") return "Page token expired"
  const subject = kind === "challenges" ? "Challenge" : "Delivery"
  if (response === "slow") return `${subject}: response after ${String(latencyMs)} ms`
  if (response === "cut") return `${subject}: response lost`
  if (response === "wrong_token") return `${subject}: response with a wrong token`
  const retryAfter = retryAfterS === undefined ? "" : `, Retry-After: ${String(retryAfterS)}`
  return `${subject}: response ${String(response)}${retryAfter}`
}

/** How long the fault stays active. */
export function extentText({ remaining, percent }: Pick<Trouble, "remaining" | "percent">): string {
  if (percent !== undefined) return `${String(percent)}% of all`
  return remaining === undefined ? "All issued before it" : `${String(remaining)} more`
}
