import type { Envelope } from "@sluice/api"
import type { Span } from "@sluice/rules"
import type { ReactNode } from "react"
import { Skeleton } from "../states.tsx"
import { PostCard } from "./post-card.tsx"
import styles from "./post-list.module.css"

/** Posts below each other, which reach the frame of a panel. `spansOf`: the parts of a post that a rule matched. */
export function PostList({
  label,
  posts,
  spansOf,
}: {
  readonly label: string
  readonly posts: readonly Envelope[]
  readonly spansOf?: (post: Envelope) => readonly Span[]
}): ReactNode {
  return (
    <ul aria-label={label}>
      {posts.map((envelope) => (
        <li key={envelope.data.id} className={styles["row"]}>
          <PostCard envelope={envelope} {...(spansOf !== undefined && { spans: spansOf(envelope) })} />
        </li>
      ))}
    </ul>
  )
}

/** Reserves the space of posts that load. */
export function PostListSkeleton(): ReactNode {
  return Array.from({ length: 5 }, (_, index) => (
    <div key={index} className={styles["row"]} aria-busy="true">
      <Skeleton width="30%" />
      <br />
      <Skeleton width="80%" />
    </div>
  ))
}
