import type { ReactNode } from "react"
import styles from "./auto-refresh.module.css"

/** A switch for automatic updates of the page. It does not affect the server or its deliveries. */
export function AutoRefresh({
  isPaused,
  onChange,
}: {
  readonly isPaused: boolean
  readonly onChange: (isPaused: boolean) => void
}): ReactNode {
  return (
    <label className={styles["label"]}>
      <input
        type="checkbox"
        role="switch"
        checked={!isPaused}
        aria-checked={!isPaused}
        onChange={({ target }) => onChange(!target.checked)}
      />
      Auto-refresh
    </label>
  )
}
