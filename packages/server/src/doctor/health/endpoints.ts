/** The results of the challenges of webhooks. */
import type { ChallengeResult } from "../../control/webhooks/crc-check.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import { good, warning, type Finding } from "../finding.ts"
import { duration } from "./quantities.ts"

/** The result of one webhook's challenge; an invalid webhook is not challenged. */
export type EndpointCheck =
  | { readonly kind: "not-valid"; readonly webhook: StoredWebhook }
  | {
      readonly kind: "challenged"
      readonly webhook: StoredWebhook
      readonly result: ChallengeResult
      readonly durationMs: number
    }

/** One finding for each endpoint. An endpoint belongs to an app, so no fault of it is an error here. */
export function endpointFindings(checks: readonly EndpointCheck[]): readonly Finding[] {
  if (checks.length === 0) return [good("endpoints", "There are no webhooks.")]
  return checks.map((check) => {
    const { id, url, invalidReason = "failed its challenge" } = check.webhook
    const name = `Webhook ${id}`
    // Last, since it may be long.
    const place = `It is at ${url}`
    if (check.kind === "not-valid") {
      return warning(
        "endpoints",
        `${name} is not valid, so nothing is sent to it: the endpoint ${invalidReason}. ${place}`,
        `When it is fixed: sluice webhooks validate ${id}`,
      )
    }
    const { result, durationMs } = check
    if (result.kind === "valid") {
      return good("endpoints", `${name} answered its challenge within ${duration(durationMs)}. ${place}`)
    }
    return warning(
      "endpoints",
      `${name} failed its challenge: the endpoint ${result.detail}. ${place}`,
      result.kind === "invalid"
        ? "The next challenge that the server sends makes it invalid. Does it have the app's present consumer secret or client secret?"
        : "Matches wait for it. Is it up, and reachable from this machine?",
    )
  })
}
