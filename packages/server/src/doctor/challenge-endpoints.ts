/** The challenges that the doctor sends to the endpoints of webhooks. */
import type { Config } from "../config.ts"
import { challenge } from "../control/webhooks/crc-check.ts"
import type { StoredWebhook } from "../model/webhook.ts"
import { systemClock as clock } from "../runtime/clock.ts"
import { createOutbound } from "../runtime/outbound/outbound.ts"
import { outboundPostureOf } from "../runtime/outbound/outbound-address.ts"
import { systemRandom as random } from "../runtime/random.ts"
import type { SecretBox } from "../runtime/secret-box.ts"
import { warning, type Finding } from "./finding.ts"
import { endpointFindings, type EndpointCheck } from "./health/endpoints.ts"
import type { SeenStore } from "./read-store.ts"

/** Endpoints that are challenged at the same time. Ours. */
const challengesMax = 16

/** Challenges every endpoint that is valid, as the server would, and keeps nothing of it. */
export async function challengeEndpoints(
  config: Config,
  seen: SeenStore | undefined,
  secretBox: SecretBox | undefined,
): Promise<readonly Finding[]> {
  if (seen === undefined || secretBox === undefined) {
    return [warning("endpoints", "They are not challenged: the store, or the secrets in it, cannot be read.")]
  }
  const { apps, webhooks } = seen
  const outbound = createOutbound(outboundPostureOf(config))
  const secrets = new Map(apps.map(({ id, consumerSecretSealed }) => [id, consumerSecretSealed]))
  const challengeUrls = async (webhook: StoredWebhook): Promise<readonly EndpointCheck[]> => {
    const sealed = secrets.get(webhook.appId)
    if (!webhook.valid) return [{ kind: "not-valid", webhook }]
    // Reported already, where the key is checked.
    if (sealed === undefined || !secretBox.opens(sealed)) return []
    const startedAtMs = clock.monotonicMs()
    const endpoint = { url: webhook.url, consumerSecret: secretBox.open(sealed) }
    const result = await challenge({ outbound, random }, endpoint)
    return [{ kind: "challenged", webhook, result, durationMs: clock.monotonicMs() - startedAtMs }]
  }
  const checks: EndpointCheck[][] = webhooks.map(() => [])
  const turns = webhooks.entries()
  const worker = async (): Promise<void> => {
    for (const [index, webhook] of turns) checks[index] = [...(await challengeUrls(webhook))]
  }
  try {
    await Promise.all(Array.from({ length: challengesMax }, worker))
  } finally {
    await outbound.close()
  }
  return endpointFindings(checks.flat())
}
