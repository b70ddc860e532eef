import type { WebhookDetail } from "@sluice/api"

/** The state of a webhook in one word, and its colour. */
export interface Condition {
  readonly tone: "neutral" | "good" | "warning" | "bad" | "accent"
  readonly text: string
}

/** The state of a webhook; what stops its deliveries comes first. */
export function conditionOf({ valid, link }: WebhookDetail): Condition {
  if (!valid) return { tone: "bad", text: "invalid" }
  if (link === undefined) return { tone: "neutral", text: "not linked" }
  if (link.paused) return { tone: "neutral", text: "paused" }
  if (link.down) return { tone: "bad", text: "down" }
  if (link.failing_since !== undefined) return { tone: "warning", text: "failing" }
  if (link.undelivered > 0) return { tone: "accent", text: "delivering" }
  return { tone: "good", text: "up to date" }
}
