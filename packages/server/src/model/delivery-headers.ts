import { clientSignatureHeader, signatureHeader, standardHeaders } from "@sluice/api"
import type { AttemptSignatures } from "./attempt.ts"

/** The value of `webhook-timestamp` of an attempt that was made at `atMs`. */
export function webhookTimestamp(atMs: number): string {
  return String(Math.floor(atMs / 1000))
}

/** Headers of a delivery, made at `atMs`. Without `signatures`, the others. Source: docs.x.com; Standard Webhooks 1.0. */
export function deliveryHeaders(eventId: string, atMs: number, signatures?: AttemptSignatures): Record<string, string> {
  return {
    "content-type": "application/json",
    ...(signatures && { [signatureHeader]: signatures.x }),
    ...(signatures?.client !== undefined && { [clientSignatureHeader]: signatures.client }),
    [standardHeaders.id]: eventId,
    [standardHeaders.timestamp]: webhookTimestamp(atMs),
    ...(signatures && { [standardHeaders.signatures]: signatures.standard }),
  }
}
