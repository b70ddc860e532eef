import { createHmac } from "node:crypto"
import { expect, test } from "vitest"
import { startReceiver } from "./receiver.ts"

const secret = "the app's secret"
const signed = (text: string, key = secret): string =>
  `sha256=${createHmac("sha256", key).update(text).digest("base64")}`

test("a challenge is answered under the app's secret", async () => {
  await using receiver = await startReceiver(secret, () => undefined)
  const answer = await fetch(`${receiver.url}?crc_token=abc`)
  expect(await answer.json()).toEqual({ response_token: signed("abc") })
  expect(receiver.challenges).toBe(1)
})

test("only what is signed over exactly its bytes is believed", async () => {
  const taken: string[] = []
  await using receiver = await startReceiver(secret, ({ body }) => void taken.push(body))
  const send = async (body: string, signature?: string): Promise<number> => {
    const headers = signature === undefined ? {} : { "x-twitter-webhooks-signature": signature }
    return (await fetch(receiver.url, { method: "POST", body, headers: headers as Record<string, string> }))
      .status
  }
  const body = '{"data":{"text":"é"}}'
  expect(await send(body, signed(body))).toBe(200)
  const refused = [
    undefined,
    "",
    "sha256=",
    signed(`${body} `),
    signed(body, "another"),
    signed(body).toLowerCase(),
  ]
  for (const signature of refused) expect(await send(body, signature)).toBe(403)
  expect(taken).toEqual([body])
  expect(receiver.refusals).toHaveLength(refused.length)
})
