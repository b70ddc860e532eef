import { useState, type ReactNode } from "react"
import { paths } from "@sluice/api/paths"
import { useApi } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { Icon } from "../../components/icon.tsx"
import { EmptyState } from "../../components/states.tsx"
import { PostPage } from "./post-page.tsx"

/** The newest stored posts, page by page. */
export function RecentPosts(): ReactNode {
  const [token, setToken] = useState<string>()
  const page = useApi("posts", { query: { max_results: 20, pagination_token: token } }, { keepPrevious: true })
  return (
    <PostPage
      title="Stored posts"
      of={page}
      posts={page.data?.data}
      meta={page.data?.meta}
      onPage={setToken}
      actions={
        <Button size="small" isBusy={page.isFetching} onClick={() => void page.refetch()}>
          <Icon name="live" size={14} />
          Refresh
        </Button>
      }
      empty={
        <EmptyState title="No posts yet">
          To send posts, run <code>sluice import posts.ndjson</code>, or <code>POST {paths.posts}</code> with one
          envelope per line.
        </EmptyState>
      }
    />
  )
}
