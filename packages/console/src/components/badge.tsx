import type { ReactNode } from "react"
import { useConnectionLostAt } from "../api/connection.ts"
import styles from "./badge.module.css"

/** A state in a word. The colour only repeats what the word says; without a connection nothing is known to be good. */
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
