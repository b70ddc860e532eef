import type { ReactNode } from "react"
import { Badge } from "../../../components/badge.tsx"

/** The outcome of an attempt, in words: `server_error` is "server error". */
export function Outcome({ outcome }: { readonly outcome: string }): ReactNode {
  return <Badge tone={outcome === "delivered" ? "good" : "bad"}>{outcome.replaceAll("_", " ")}</Badge>
}
