import type { ReactNode } from "react"
import styles from "./visually-hidden.module.css"

/** Text for screen readers only. `isStatus`: read aloud when it changes. */
export function VisuallyHidden({
  isStatus = false,
  children,
}: {
  readonly isStatus?: boolean
  readonly children: ReactNode
}): ReactNode {
  return (
    <span className={styles["hidden"]} role={isStatus ? "status" : undefined}>
      {children}
    </span>
  )
}
