import { pathOf, paths } from "@sluice/api/paths"
import { useState, type ReactNode } from "react"
import { Link } from "wouter"
import { useApi } from "../../api/use-api.ts"
import { CodeBlock } from "../../components/code-block.tsx"
import { Panel } from "../../components/panel.tsx"
import { PostCard } from "../../components/posts/post-card.tsx"
import { EmptyState, ErrorState } from "../../components/states.tsx"
import { PageButtons } from "./page-buttons.tsx"
import { PostsSkeleton } from "./posts-skeleton.tsx"
import styles from "./posts.module.css"

/** What the page asks for beside the default fields, so that posts look as they do elsewhere. */
const shown = { "tweet.fields": "created_at,author_id,referenced_tweets", expansions: "author_id" }

/** A user's posts as the API pages them, with the request and the tokens of the page. */
export function UserPosts({ id }: { readonly id: string }): ReactNode {
  const [token, setToken] = useState<string>()
  const query = { ...shown, max_results: 20, pagination_token: token }
  const page = useApi("userPosts", { parameters: { id }, query }, { keepPrevious: true })
  const { data: posts = [], includes, meta, errors = [] } = page.data ?? {}
  const request = `${pathOf(paths.userPosts, { id })}?max_results=20${token === undefined ? "" : `&pagination_token=${token}`}`
  return (
    <>
      <Panel title={`Posts of user ${id}`} isFlush actions={<Link href="/">Stored posts</Link>}>
        {page.isError ? (
          <ErrorState error={page.error} onRetry={() => void page.refetch()} />
        ) : page.isPending ? (
          <PostsSkeleton />
        ) : posts.length === 0 ? (
          <EmptyState title="No posts of this user">{errors[0]?.detail ?? "There are none on this page."}</EmptyState>
        ) : (
          <ul aria-label={`Posts of user ${id}`}>
            {posts.map((data) => (
              <li key={data.id} className={styles["row"]}>
                <PostCard envelope={{ data, ...(includes && { includes }) }} />
              </li>
            ))}
          </ul>
        )}
        <PageButtons meta={meta} onPage={setToken} />
      </Panel>
      <Panel title="As the API has it">
        <CodeBlock
          text={`GET ${request}\n\n${JSON.stringify(meta ?? {}, undefined, 2)}`}
          what="the request and its page"
        />
      </Panel>
    </>
  )
}
