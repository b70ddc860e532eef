import type { ReactNode } from "react"
import styles from "./page-header.module.css"

/** The head of a page: its `h1`, a description, and its actions. */
export function PageHeader({
  title,
  actions,
  children,
}: {
  readonly title: ReactNode
  readonly actions?: ReactNode
  readonly children?: ReactNode
}): ReactNode {
  return (
    <header className={styles["header"]}>
      <div className={styles["text"]}>
        <h1>{title}</h1>
        {children !== undefined && <p>{children}</p>}
      </div>
      {actions !== undefined && <div className={styles["actions"]}>{actions}</div>}
    </header>
  )
}
