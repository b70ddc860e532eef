import { useState, type ReactNode } from "react"
import { paths } from "@sluice/api/paths"
import { useApi } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { Icon } from "../../components/icon.tsx"
import { Panel } from "../../components/panel.tsx"
import { PostCard } from "../../components/posts/post-card.tsx"
import { EmptyState, ErrorState } from "../../components/states.tsx"
import { PageButtons } from "./page-buttons.tsx"
import { PostsSkeleton } from "./posts-skeleton.tsx"
import styles from "./posts.module.css"

/** The newest stored posts, page by page. */
export function RecentPosts(): ReactNode {
  const [token, setToken] = useState<string>()
  const page = useApi("posts", { query: { max_results: 20, pagination_token: token } }, { keepPrevious: true })
  const posts = page.data?.data ?? []
  return (
    <Panel
      title="Stored posts"
      isFlush
      actions={
        <Button size="small" isBusy={page.isFetching} onClick={() => void page.refetch()}>
          <Icon name="live" size={14} />
          Refresh
        </Button>
      }
    >
      {page.isError ? (
        <ErrorState error={page.error} onRetry={() => void page.refetch()} />
      ) : page.isPending ? (
        <PostsSkeleton />
      ) : posts.length === 0 ? (
        <EmptyState title="No posts are stored yet">
          Send some: <code>sluice import posts.ndjson</code>, or
          <code>POST {paths.posts}</code> with an envelope a line.
        </EmptyState>
      ) : (
        <ul aria-label="Stored posts">
          {posts.map((envelope) => (
            <li key={envelope.data.id} className={styles["row"]}>
              <PostCard envelope={envelope} />
            </li>
          ))}
        </ul>
      )}
      <PageButtons meta={page.data?.meta} onPage={setToken} />
    </Panel>
  )
}
