import { pathOf, paths } from "@sluice/api/paths"
import { useState, type ReactNode } from "react"
import { Link } from "wouter"
import { useApi } from "../../api/use-api.ts"
import { CodeBlock } from "../../components/code-block.tsx"
import { Panel } from "../../components/panel.tsx"
import { EmptyState } from "../../components/states.tsx"
import { PostPage } from "./post-page.tsx"

/** Requested in addition to the default fields, so that posts look as they do elsewhere. */
const shown = { "tweet.fields": "created_at,author_id,referenced_tweets", expansions: "author_id" }

/** A user's posts as the API pages them, with the request and the tokens of the page. */
export function UserPosts({ id }: { readonly id: string }): ReactNode {
  const [token, setToken] = useState<string>()
  const query = { ...shown, max_results: 20, pagination_token: token }
  const page = useApi("userPosts", { parameters: { id }, query }, { keepPrevious: true })
  const { data = [], includes, meta, errors = [] } = page.data ?? {}
  const request = `${pathOf(paths.userPosts, { id })}?max_results=20${token === undefined ? "" : `&pagination_token=${token}`}`
  return (
    <>
      <PostPage
        title={`Posts of user ${id}`}
        of={page}
        posts={page.data && data.map((post) => ({ data: post, ...(includes && { includes }) }))}
        meta={meta}
        onPage={setToken}
        actions={<Link href="/">Stored posts</Link>}
        empty={<EmptyState title="No posts of this user">{errors[0]?.detail ?? "This page is empty."}</EmptyState>}
      />
      <Panel title="API request">
        <CodeBlock
          text={`GET ${request}\n\n${JSON.stringify(meta ?? {}, undefined, 2)}`}
          what="the request and its page"
        />
      </Panel>
    </>
  )
}
