import type { Envelope, PageMeta } from "@sluice/api"
import type { ReactNode } from "react"
import { Button } from "../../components/button.tsx"
import { Panel } from "../../components/panel.tsx"
import { PostList, PostListSkeleton } from "../../components/posts/post-list.tsx"
import { ErrorState } from "../../components/states.tsx"
import styles from "./post-page.module.css"

/** One page of posts, with buttons that lead to the pages next to it by their tokens. */
export function PostPage({
  title,
  actions,
  of,
  posts,
  meta,
  empty,
  onPage,
}: {
  readonly title: string
  readonly actions: ReactNode
  /** The query that reads the page. */
  readonly of: { readonly isLoadingError: boolean; readonly error: unknown; readonly refetch: () => unknown }
  /** `undefined` until the page is read. */
  readonly posts: readonly Envelope[] | undefined
  readonly meta: PageMeta | undefined
  /** Shown in place of a page without posts. */
  readonly empty: ReactNode
  readonly onPage: (token: string) => void
}): ReactNode {
  const { previous_token: previous, next_token: next } = meta ?? {}
  return (
    <Panel title={title} isFlush actions={actions}>
      {of.isLoadingError ? (
        <ErrorState of={of} />
      ) : posts === undefined ? (
        <PostListSkeleton />
      ) : posts.length === 0 ? (
        empty
      ) : (
        <PostList label={title} posts={posts} />
      )}
      <nav className={styles["pages"]} aria-label="Newer and older posts">
        <Button disabled={previous === undefined} onClick={() => previous !== undefined && onPage(previous)}>
          Newer
        </Button>
        <Button disabled={next === undefined} onClick={() => next !== undefined && onPage(next)}>
          Older
        </Button>
      </nav>
    </Panel>
  )
}
