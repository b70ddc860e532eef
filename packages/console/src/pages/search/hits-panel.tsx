import type { Envelope } from "@sluice/api"
import { explain, parseRule, readPost, type Span as TextSpan } from "@sluice/rules"
import { useMemo, type ReactNode } from "react"
import { Button } from "../../components/button.tsx"
import { nounText } from "../../components/counts.ts"
import { Panel } from "../../components/panel.tsx"
import { PostList, PostListSkeleton } from "../../components/posts/post-list.tsx"
import { ruleOptions } from "../../components/rules/rule-options.ts"
import { EmptyState, ErrorNote } from "../../components/states.tsx"
import styles from "./hits-panel.module.css"
import type { Search } from "./search.ts"
import type { Hits } from "./use-hits.ts"

/** The posts that a search found, with the way to more. */
export function HitsPanel({
  search,
  hits,
  onSearch,
}: {
  readonly search: Search
  readonly hits: Hits
  readonly onSearch: (search: Search) => void
}): ReactNode {
  const { posts, unshown } = hits
  const spansOf = useMemo(() => explainer(search.query), [search.query])
  return (
    <Panel title="Found posts" isFlush>
      {unshown.length > 0 && (
        <ul className={styles["unshown"]}>
          {unshown.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      {posts === undefined ? (
        <PostListSkeleton />
      ) : posts.length > 0 ? (
        <PostList label="Found posts" posts={posts} spansOf={spansOf} />
      ) : (
        !hits.hasMore && <NoHits search={search} onSearch={onSearch} />
      )}
      {posts !== undefined && (posts.length > 0 || hits.hasMore) && <Foot hits={hits} found={posts.length} />}
    </Panel>
  )
}

function NoHits({
  search,
  onSearch,
}: {
  readonly search: Search
  readonly onSearch: (search: Search) => void
}): ReactNode {
  if (search.span.kind === "all") {
    return (
      <EmptyState title="No post matches">
        A search finds stored posts that were sent as posts of their own. Words find no reposts.
      </EmptyState>
    )
  }
  return (
    <EmptyState
      title="No post matches in this time"
      action={<Button onClick={() => onSearch({ ...search, span: { kind: "all" } })}>Search all stored posts</Button>}
    >
      The time of a post is in its id. Posts whose ids hold none are found among all stored posts.
    </EmptyState>
  )
}

function Foot({ hits, found }: { readonly hits: Hits; readonly found: number }): ReactNode {
  const { hasMore, isReading, isShort, error, readMore, stop } = hits
  return (
    <div className={styles["foot"]}>
      {error !== null && <ErrorNote error={error} />}
      <span role="status">{progressText(hits, found)}</span>
      {hasMore &&
        (isReading ? (
          <Button size="small" onClick={stop}>
            Stop
          </Button>
        ) : (
          <Button size="small" onClick={readMore}>
            {error !== null ? "Try again" : isShort ? "Go on" : "Load more"}
          </Button>
        ))}
    </div>
  )
}

/** How far the search has come. A page may be short or empty before the last one. */
function progressText({ hasMore, isReading, isShort, pageCount }: Hits, found: number): string {
  if (!hasMore) return found === 1 ? "This is the only post." : `All ${nounText(found, "post")} shown.`
  if (!isShort) return `${nounText(found, "post")} shown. There may be more.`
  const soFar = `${nounText(found, "post")} in ${nounText(pageCount, "page")} so far`
  if (isReading) return `${soFar}: pages are short or empty where few posts match. The search goes on.`
  return `${soFar}: pages are short or empty where few posts match. There are more posts to search.`
}

/** Finds the parts of a post that the query matched; none for a query that does not parse. */
function explainer(query: string): (post: Envelope) => readonly TextSpan[] {
  const parsed = parseRule(query, ruleOptions.search)
  if (!parsed.ok) return () => []
  return (post) => explain(parsed.rule, readPost(post, { mode: "search" })).spans
}
