import type { Trouble as TroubleShown } from "@sluice/api"
import { instant } from "../../model/date-time.ts"
import type { Extent, Fault, Trouble } from "../../trouble/trouble.ts"

/** A trouble, in the words of its request. */
export function presentTrouble(trouble: Trouble): TroubleShown {
  const { id, kind, extent, applied, createdAtMs } = trouble
  return {
    id,
    kind,
    ...("webhookId" in trouble && trouble.webhookId !== undefined && { webhook_id: trouble.webhookId }),
    ...("fault" in trouble && presentFault(trouble.fault)),
    ...presentExtent(extent),
    applied,
    created_at: instant(createdAtMs),
  }
}

/** The number of troubles that were cleared. */
export function presentTroublesCleared(cleared: number) {
  return { data: { cleared } }
}

/** The number of stream connections that were disconnected. */
export function presentDisconnected(disconnected: number) {
  return { data: { disconnected } }
}

function presentFault(fault: Fault): Pick<TroubleShown, "response" | "latency_ms" | "retry_after_seconds"> {
  switch (fault.kind) {
    case "status": {
      const { status, retryAfterS } = fault
      return { response: String(status), ...(retryAfterS !== undefined && { retry_after_seconds: retryAfterS }) }
    }
    case "slow":
      return { response: "slow", latency_ms: fault.latencyMs }
    case "wrong-token":
      return { response: "wrong_token" }
    case "cut":
      return { response: "cut" }
  }
}

function presentExtent(extent: Extent): Pick<TroubleShown, "remaining" | "percent" | "issued_until"> {
  switch (extent.kind) {
    case "next":
      return { remaining: extent.count }
    case "percent":
      return { percent: extent.percent }
    case "issued-until":
      return { issued_until: instant(extent.atMs) }
  }
}
