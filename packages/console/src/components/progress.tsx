import type { ReactNode } from "react"
import styles from "./progress.module.css"

/** How far something has come: `done` of `all`. A whole of nothing is done. */
export function Progress({
  label,
  done,
  all,
}: {
  readonly label: string
  readonly done: number
  readonly all: number
}): ReactNode {
  return (
    <progress
      className={styles["progress"]}
      value={all === 0 ? 1 : done}
      max={all === 0 ? 1 : all}
      aria-label={label}
    />
  )
}
