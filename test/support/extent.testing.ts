/**
 * How much of the recorded data, and how many made cases, the longest tests go through: a part in `npm test`, and all with
 * SLUICE_TEST_EXTENT=whole, as every night.
 */
const isWhole = process.env["SLUICE_TEST_EXTENT"] === "whole"

/** The share of all cases: 1, or one of `of`. */
export function share(of: number): number {
  return isWhole ? 1 : 1 / of
}

/** Every item, or one of `of`. */
export function part<Item>(items: readonly Item[], of: number): readonly Item[] {
  return isWhole ? items : items.filter((_, at) => at % of === 0)
}
