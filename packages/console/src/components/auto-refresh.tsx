import type { ReactNode } from "react"
import styles from "./auto-refresh.module.css"

/** Whether the page shows changes by itself. It changes nothing on the server: what is delivered goes on. */
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
