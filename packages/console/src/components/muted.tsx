import type { ReactNode } from "react"
import styles from "./muted.module.css"

/** Text of less weight: what qualifies the text next to it. */
export function Muted({ children }: { readonly children: ReactNode }): ReactNode {
  return <span className={styles["muted"]}>{children}</span>
}
