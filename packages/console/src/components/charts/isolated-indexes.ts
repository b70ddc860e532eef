/** The indexes of known values between unknown ones: no line passes through them. */
export function isolatedIndexes(values: ArrayLike<number | null | undefined>): number[] {
  const isKnown = (at: number): boolean => typeof values[at] === "number"
  return Array.from(values, (_, at) => at).filter((at) => isKnown(at) && !isKnown(at - 1) && !isKnown(at + 1))
}
