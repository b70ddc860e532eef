import type { ReactNode } from "react"
import { ErrorBoundary } from "./error-boundary.tsx"
import styles from "./panel.module.css"

/** A part of a page with a frame: a heading, actions beside it, and what it holds. `isFlush` for tables and lists. */
export function Panel({
  title,
  actions,
  isFlush = false,
  children,
}: {
  readonly title?: ReactNode
  readonly actions?: ReactNode
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
      <div className={isFlush ? styles["flush"] : styles["body"]}>
        <ErrorBoundary of="panel">{children}</ErrorBoundary>
      </div>
    </section>
  )
}
