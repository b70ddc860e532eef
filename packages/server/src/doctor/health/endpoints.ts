/** The results of the challenges of webhooks. */
import type { ChallengeResult } from "../../control/webhooks/crc-check.ts"
import type { StoredWebhook } from "../../model/webhook.ts"
import { good, warning, type Finding } from "../finding.ts"
import { duration } from "./quantities.ts"

/** The result of one webhook's challenge; an invalid webhook is not challenged. */
export type EndpointAnswer =
  | { readonly kind: "not-valid"; readonly webhook: StoredWebhook }
  | {
      readonly kind: "challenged"
      readonly webhook: StoredWebhook
      readonly result: ChallengeResult
      readonly durationMs: number
    }

/** One finding for each endpoint. An endpoint belongs to an app, so no fault of it is an error here. */
export function endpointFindings(answers: readonly EndpointAnswer[]): readonly Finding[] {
  if (answers.length === 0) return [good("endpoints", "There are no webhooks.")]
  return answers.map((answer) => {
    const { id, url, invalidReason = "failed its challenge" } = answer.webhook
    const name = `Webhook ${id}`
    // Last, since it may be long.
    const place = `It is at ${url}`
    if (answer.kind === "not-valid") {
      return warning(
        "endpoints",
        `${name} is not valid, so nothing is sent to it: the endpoint ${invalidReason}. ${place}`,
        `When it is fixed: sluice webhooks validate ${id}`,
      )
    }
    const { result, durationMs } = answer
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
