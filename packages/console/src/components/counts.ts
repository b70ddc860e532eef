/** Numbers as people write them. */

/** A count with separators: 12,345. */
export function countText(count: number): string {
  return count.toLocaleString()
}

/** A count with its noun: "1 rule", "12,345 rules". */
export function nounText(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`
}
