import { createHmac } from "node:crypto"
import fc from "fast-check"
import { expect, test } from "vitest"
import { blockBytes, HmacKey } from "./hmac-key.ts"

test("a MAC equals Node's, for any key and message", () => {
  const bytes = fc.uint8Array({ maxLength: 200, size: "max" })
  fc.assert(
    fc.property(
      fc.oneof(bytes, fc.string({ unit: "grapheme", maxLength: 100, size: "max" })),
      fc.array(bytes),
      (key, messages) => {
        const prepared = new HmacKey(key)
        for (const message of messages) {
          const mac = prepared.macOf(Buffer.concat([Buffer.alloc(blockBytes, 1), message]))
          expect(mac).toBe(createHmac("sha256", key).update(message).digest("base64"))
        }
      },
    ),
  )
})
