import type { ReactNode } from "react"
import { AutoRefresh } from "./auto-refresh.tsx"
import { BackLink } from "./back-link.tsx"
import styles from "./view-top.module.css"

/** The line above the view of one thing: the way back to the list, and the switch of its refreshes. */
export function ViewTop({
  list,
  isPaused,
  onChange,
}: {
  /** The title of the list. */
  readonly list: string
  readonly isPaused: boolean
  readonly onChange: (isPaused: boolean) => void
}): ReactNode {
  return (
    <div className={styles["top"]}>
      <BackLink>{list}</BackLink>
      <AutoRefresh isPaused={isPaused} onChange={onChange} />
    </div>
  )
}
