/** A step of the hashes of terms and links, which the walk computes too. */

/** Source: the fractional part of the golden ratio, in 32 bits. */
export const hashMultiplier = 0x9e3779b1

/** How far the high bits are mixed into the low ones. */
export const hashShift = 15

/** The hash with one more value: multiplied, and its high bits mixed into the low ones, which select the bucket. */
export function mixed(hash: number, value: number): number {
  const product = Math.imul(hash ^ value, hashMultiplier)
  return product ^ (product >>> hashShift)
}
