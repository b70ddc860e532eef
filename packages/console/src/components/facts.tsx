import type { ReactNode } from "react"
import styles from "./facts.module.css"

/** A grid of facts, each a `Fact`. */
export function Facts({ children }: { readonly children: ReactNode }): ReactNode {
  return <dl className={styles["facts"]}>{children}</dl>
}

/** One of them: its name, and the lines below it. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
