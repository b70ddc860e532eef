import type { ReactNode } from "react"
import { ErrorBoundary } from "./error-boundary.tsx"
import styles from "./panel.module.css"
import { ErrorNote } from "./states.tsx"

/** A part of a page with a frame. `isFlush`: its content reaches the frame, as tables and lists do. */
export function Panel({
  title,
  actions,
  error,
  foot,
  isFlush = false,
  children,
}: {
  readonly title?: ReactNode
  readonly actions?: ReactNode
  /** The error of a change that was made in the panel; shown above its content. */
  readonly error?: unknown
  /** A line below its content. */
  readonly foot?: ReactNode
  readonly isFlush?: boolean
  readonly children: ReactNode
}): ReactNode {
  return (
    <section className={styles["panel"]}>
      {(title !== undefined || actions !== undefined) && (
        <div className={styles["top"]}>
          {title !== undefined && <h2>{title}</h2>}
          {actions !== undefined && <div className={styles["actions"]}>{actions}</div>}
        </div>
      )}
      {error !== undefined && error !== null && (
        <div className={styles["body"]}>
          <ErrorNote error={error} />
        </div>
      )}
      <div className={isFlush ? styles["flush"] : styles["body"]}>
        <ErrorBoundary of="panel">{children}</ErrorBoundary>
      </div>
      {foot !== undefined && foot !== false && <p className={styles["foot"]}>{foot}</p>}
    </section>
  )
}
