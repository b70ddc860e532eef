/**
 * A hash of integers under a secret key: HalfSipHash-1-3.
 *
 * Apps choose the rules, and thereby the integers that are hashed. Without a key, an app could construct thousands of
 * rules with one hash, and each addition would compare itself with all earlier ones. The key prevents it.
 *
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), and the reference implementation of its
 * variant for 32-bit words. One round for each word and three at the end are what Linux uses for its hash tables.
 */

/** Two integers of 32 bits, unpredictable where others choose what is hashed. */
export type HashKey = readonly [number, number]

/** The hash of `header` and of the integers of `ints` from `begin` to `end`, which it excludes. 32 bits, signed. */
export function keyedHash(
  [first, second]: HashKey,
  header: number,
  ints: Int32Array,
  begin: number,
  end: number,
): number {
  let v0 = first
  let v1 = second
  let v2 = first ^ 0x6c796765
  let v3 = second ^ 0x74656462
  const words = end - begin + 1
  // After the words comes the length in bytes, modulo 256, in the highest byte; then the rounds of the end.
  const rounds = words + 1 + finalRounds
  for (let round = 0; round < rounds; round++) {
    const isFinal = round > words
    const word = isFinal ? 0 : round === 0 ? header : round < words ? (ints[begin + round - 1] ?? 0) : words << 26
    if (round === words + 1) v2 ^= 0xff
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
  }
  return v1 ^ v3
}

const finalRounds = 3
