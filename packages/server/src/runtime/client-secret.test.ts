import { createHmac } from "node:crypto"
import { expect, test } from "vitest"
import { clientSecretOf } from "./client-secret.ts"

test("a consumer secret has one client secret, which stays the same over versions", () => {
  expect(clientSecretOf("consumer secret")).toBe("dRvpWoO4rbs03MXGsr0mOmQI6IakVfuSKktErzuwIw8")
  expect(clientSecretOf("another")).not.toBe(clientSecretOf("consumer secret"))
})

test("no response to a challenge under the consumer secret is the client secret", () => {
  const hmac = (key: string, text: string | Buffer): Buffer => createHmac("sha256", key).update(text).digest()
  const secret = Buffer.from(clientSecretOf("consumer secret"), "base64url")
  const info = "sluice client secret"
  for (const text of [info, `${info}\u0001`, "", Buffer.alloc(32)]) {
    expect(hmac("consumer secret", text)).not.toEqual(secret)
  }
})
