import type { ReactNode } from "react"
import styles from "./badge.module.css"

/** A state in a word. The colour only repeats what the word says. */
export function Badge({
  tone = "neutral",
  children,
}: {
  readonly tone?: "neutral" | "good" | "warning" | "bad" | "accent"
  readonly children: ReactNode
}): ReactNode {
  return <span className={`${styles["badge"]} ${styles[tone]}`}>{children}</span>
}
