import { useApiChange } from "../../../api/use-api.ts"
import { useToast } from "../../../components/overlays/toast.tsx"
import { matchesText } from "../condition.ts"

/** Sends matches again, and says in passing what came of it. */
export interface Redelivery {
  readonly isPending: boolean
  readonly error: unknown
  readonly send: (which: Which, onDone?: () => void) => void
}

type Which = { readonly eventIds: readonly string[] } | { readonly failedOf: string }

const reasons: Readonly<Record<string, string>> = {
  waiting: "not sent yet, and will be",
  gone: "deleted by retention",
  "no-room": "without room among the retries; try again later",
  unknown: "not there",
}

/** Most event ids of one request. Source: the route's schema. */
const idsMax = 1_000

/** Redeliveries of the matches of a webhook. */
export function useRedelivery(): Redelivery {
  const toast = useToast()
  const change = useApiChange("POST", "redeliverMatches", {
    invalidates: ["attempts", "deadLetters", "webhookDetail", "webhookDetails"],
  })
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
            const again = `${matchesText(redelivered)} ${redelivered === 1 ? "is" : "are"} sent again`
            const others = [...new Set(refused.map(({ reason }) => reasons[reason] ?? reason))].join("; ")
            toast(refused.length === 0 ? `${again}.` : `${again}. ${refused.length} not: ${others}.`)
            onDone?.()
          },
        },
      )
    },
  }
}
