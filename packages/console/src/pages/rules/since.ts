/** A time since which stored posts count, as a viewer chooses it. */

/** So long before another time, or since a time of one's own: an instant as the API takes it, or empty. */
export type Since = { readonly kind: "24h" | "7d" | "30d" } | { readonly kind: "custom"; readonly from: string }

const dayMs = 86_400_000
const days = { "24h": 1, "7d": 7, "30d": 30 } as const

/** Whether a time of one's own has not been entered. */
export function isEmpty(since: Since): boolean {
  return since.kind === "custom" && since.from === ""
}

/** The instant of a choice, before `endMs`, Unix ms; `undefined` for an empty one. */
export function sinceInstant(since: Since, endMs: number): string | undefined {
  if (isEmpty(since)) return undefined
  return since.kind === "custom" ? since.from : new Date(endMs - days[since.kind] * dayMs).toISOString()
}
