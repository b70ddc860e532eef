import { randomBytes } from "node:crypto"

/** A UUID of version 7, which orders by its time. `atMs` is Unix ms. Source: RFC 9562, 5.7. */
export function timeOrderedUuid(atMs: number): string {
  const random = randomBytes(10)
  // Version and variant.
  random[0] = ((random[0] ?? 0) & 0x0f) | 0x70
  random[2] = ((random[2] ?? 0) & 0x3f) | 0x80
  const hex = Math.max(0, atMs).toString(16).padStart(12, "0").slice(-12) + random.toString("hex")
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-")
}
