import { useApiChange } from "../../../api/use-api.ts"
import { countText, nounText } from "../../../components/counts.ts"
import { useToast } from "../../../components/overlays/toast.tsx"

/** Redelivers matches, and reports the result in a toast. */
export interface Redelivery {
  readonly isPending: boolean
  readonly error: unknown
  readonly send: (which: Which, onDone?: () => void) => void
}

type Which = { readonly eventIds: readonly string[] } | { readonly failedOf: string }

const reasons: Readonly<Record<string, string>> = {
  waiting: "not delivered yet, and still pending",
  gone: "deleted by retention",
  "no-room": "no room for another retry; try again later",
  unknown: "not found",
}

/** Most event ids of one request. Source: the route's schema. */
const idsMax = 1_000

/** Operations whose responses change with a redelivery. */
export const redeliveryChanges = ["attempts", "deadLetters", "webhookDetail", "webhookDetails"] as const

/** The text of a toast about matches that are being redelivered. */
export function redeliveredText(count: number): string {
  return `Redelivering ${nounText(count, "match", "matches")}.`
}

/** Redeliveries of the matches of a webhook. */
export function useRedelivery(): Redelivery {
  const toast = useToast()
  const change = useApiChange("POST", "redeliverMatches", { invalidates: redeliveryChanges })
  return {
    isPending: change.isPending,
    error: change.error,
    send(which, onDone) {
      const body =
        "failedOf" in which
          ? { webhook_id: which.failedOf, failed: true }
          : { event_ids: which.eventIds.slice(0, idsMax) }
      change.mutate(
        { body },
        {
          onSuccess: ({ data: { redelivered, refused } }) => {
            const others = [...new Set(refused.map(({ reason }) => reasons[reason] ?? reason))].join("; ")
            const rest = refused.length === 0 ? "" : ` Refused ${countText(refused.length)}: ${others}.`
            toast(redeliveredText(redelivered) + rest)
            onDone?.()
          },
        },
      )
    },
  }
}
