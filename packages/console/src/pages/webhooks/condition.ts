import type { WebhookDetail } from "@sluice/api"

/** How a webhook does, in a word, and how it looks. */
export interface Condition {
  readonly tone: "neutral" | "good" | "warning" | "bad" | "accent"
  readonly text: string
}

/** How a webhook does: what keeps matches from it comes first. */
export function conditionOf({ valid, link }: WebhookDetail): Condition {
  if (!valid) return { tone: "bad", text: "invalid" }
  if (link === undefined) return { tone: "neutral", text: "not linked" }
  if (link.down) return { tone: "bad", text: "down" }
  if (link.failing_since !== undefined) return { tone: "warning", text: "failing" }
  if (link.undelivered > 0) return { tone: "accent", text: "delivering" }
  return { tone: "good", text: "up to date" }
}

/** A number of people's size: 12,345. */
export function countText(count: number): string {
  return count.toLocaleString("en")
}

/** "1 match", "3 matches". */
export function matchesText(count: number): string {
  return count === 1 ? "1 match" : `${countText(count)} matches`
}
