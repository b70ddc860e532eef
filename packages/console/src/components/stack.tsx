import type { ReactNode } from "react"
import styles from "./stack.module.css"

/** Children at an even distance: below each other, or with `isRow` side by side, wrapped where there is no room. */
export function Stack({
  isRow = false,
  children,
}: {
  readonly isRow?: boolean
  readonly children: ReactNode
}): ReactNode {
  return <div className={isRow ? styles["row"] : styles["column"]}>{children}</div>
}
