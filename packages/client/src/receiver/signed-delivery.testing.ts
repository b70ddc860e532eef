/** Deliveries as Sluice sends them, signed here by hand, after the documents, and not by the code under test. */
import { createHmac } from "node:crypto"
import { Webhook } from "standardwebhooks"

export const consumerSecret = "the app's secret"
export const clientSecret = "the app's client secret"
export const signingKey = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
export const body = '{"data":{"id":"1","text":"é"},"matching_rules":[{"id":"5","tag":"cats"}]}'

/** X's signature of a text. */
export const signedByX = (text: string, key: string = consumerSecret): string =>
  `sha256=${createHmac("sha256", key).update(text).digest("base64")}`

/** Headers of a delivery. */
export function headersOf(text: string, { key = signingKey, id = "msg_1_1", at = new Date() } = {}) {
  return {
    "content-type": "application/json",
    "x-twitter-webhooks-signature": signedByX(text),
    "x-twitter-webhooks-signature-oauth2": signedByX(text, clientSecret),
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(key).sign(id, at, text),
  }
}

/** The request of a delivery. */
export function requestOf(headers: Readonly<Record<string, string>>, text: string = body): Request {
  return new Request("http://receiver/webhook", { method: "POST", headers, body: text })
}
