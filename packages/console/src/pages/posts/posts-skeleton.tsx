import type { ReactNode } from "react"
import { Skeleton } from "../../components/states.tsx"
import styles from "./posts.module.css"

/** The room that posts will take. */
export function PostsSkeleton(): ReactNode {
  return Array.from({ length: 5 }, (_, at) => (
    <div key={at} className={styles["row"]} aria-busy="true">
      <Skeleton width="30%" />
      <br />
      <Skeleton width="80%" />
    </div>
  ))
}
