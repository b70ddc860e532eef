import type { ReactNode } from "react"
import { useConnectionLostAt } from "../api/connection.ts"
import styles from "./badge.module.css"

/** A state in one word. The colour repeats the word; without a connection, `good` is shown as neutral. */
export function Badge({
  tone = "neutral",
  children,
}: {
  readonly tone?: "neutral" | "good" | "warning" | "bad" | "accent"
  readonly children: ReactNode
}): ReactNode {
  const isLost = useConnectionLostAt() !== undefined
  const shown = isLost && tone === "good" ? "neutral" : tone
  return <span className={`${styles["badge"]} ${styles[shown]}`}>{children}</span>
}
