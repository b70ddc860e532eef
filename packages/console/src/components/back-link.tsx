import type { ReactNode } from "react"
import { Link } from "wouter"
import styles from "./back-link.module.css"

/** The way from a view of a page to the page's list. */
export function BackLink({ children }: { readonly children: ReactNode }): ReactNode {
  return (
    <Link href="/" className={styles["link"]}>
      ← {children}
    </Link>
  )
}
