/** One stored post, the rules that matched it, and why. */
import type { Envelope, MatchOfPost, RuleDetail } from "@sluice/api"
import { ApiError } from "@sluice/client"
import { explain, parseRule, readPost, type Span } from "@sluice/rules"
import { useMemo, type ReactNode } from "react"
import { Link, useLocation } from "wouter"
import { useApi } from "../../api/use-api.ts"
import { useSession } from "../../api/session.ts"
import { Badge } from "../../components/badge.tsx"
import { Button } from "../../components/button.tsx"
import { CodeBlock } from "../../components/code-block.tsx"
import { countText, nounText } from "../../components/counts.ts"
import { useConfirmedChange } from "../../components/overlays/use-confirmed-change.tsx"
import { Panel } from "../../components/panel.tsx"
import { PostCard } from "../../components/posts/post-card.tsx"
import { RuleText } from "../../components/posts/rule-text.tsx"
import { EmptyState, ErrorState, PageSkeleton } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import styles from "./post-view.module.css"

/** Most rules of a match to explain. */
const explainedMax = 100

/** The post with this id. */
export function PostView({ id }: { readonly id: string }): ReactNode {
  const found = useApi("post", { parameters: { post_id: id } })
  if (found.isPending) return <PageSkeleton />
  // A refresh finds out that the post has been deleted: then it must no longer be shown.
  if (found.error instanceof ApiError && found.error.status === 404) {
    return (
      <EmptyState title="Post not found" action={<Link href="/">Stored posts</Link>}>
        It was never sent, or it has been deleted.
      </EmptyState>
    )
  }
  if (found.isLoadingError) return <ErrorState of={found} />
  const { data: envelope, matches } = found.data
  return (
    <>
      <Panel
        title={`Post ${id}`}
        actions={
          <>
            <DeletePost id={id} />
            <Link href="/">Stored posts</Link>
          </>
        }
      >
        <PostCard envelope={envelope} />
      </Panel>
      <Matches envelope={envelope} matches={matches} />
      <Panel title="Stored envelope">
        <CodeBlock text={JSON.stringify(envelope, undefined, 2)} what="the envelope" maxHeight="480px" />
      </Panel>
    </>
  )
}

/** A button that deletes the post; nothing for an app, which deletes only posts of its own users. */
function DeletePost({ id }: { readonly id: string }): ReactNode {
  const { kind } = useSession()
  const [, navigate] = useLocation()
  const deletion = useConfirmedChange("POST", "deletions", {
    invalidates: ["post", "posts", "userPosts", "links", "linkDetails", "webhookDetail"],
    request: (postId: string) => ({ body: { post_ids: [postId] } }),
    title: (postId) => `Delete post ${postId}?`,
    text: () =>
      "It disappears for all apps, with its reposts and from the posts that include it, and is not delivered any more. For a time it is not stored again. This cannot be undone.",
    action: "Delete",
    doneText: (postId) => `Deleted post ${postId}.`,
    onDone: () => navigate("/"),
  })
  if (kind !== "operator") return null
  return (
    <>
      <Button size="small" onClick={() => deletion.ask(id)}>
        Delete
      </Button>
      {deletion.dialog}
    </>
  )
}

function Matches({
  envelope,
  matches,
}: {
  readonly envelope: Envelope
  readonly matches: readonly MatchOfPost[]
}): ReactNode {
  const { appId } = useSession()
  const own = matches.filter((match) => match.application_id === appId)
  return (
    <Panel title="Matches" isFlush>
      {own.length === 0 && (
        <EmptyState title="No rule of this app matched it" action={<Link href="~/console/rules/new">Add a rule</Link>}>
          Only rules that existed when the post arrived were compared. Matches that retention deleted do not show.
        </EmptyState>
      )}
      {own.map((match) => (
        <MatchOf key={match.position} envelope={envelope} match={match} />
      ))}
    </Panel>
  )
}

/** A match with its rules as they are now: a deleted rule has no text. */
function MatchOf({ envelope, match }: { readonly envelope: Envelope; readonly match: MatchOfPost }): ReactNode {
  const ids = match.matching_rules.slice(0, explainedMax).map(({ id }) => id)
  const rules = useApi("rules", { query: { ids: ids.join(",") } })
  return (
    <div className={styles["match"]}>
      <p className={styles["facts"]}>
        Position {countText(match.position)}, matched <Time at={match.matched_at} form="absolute" />
      </p>
      <ul>
        {match.matching_rules.slice(0, explainedMax).map(({ id, tag }) => (
          <li key={id} className={styles["rule"]}>
            <p className={styles["facts"]}>
              {tag !== "" && <Badge tone="accent">{tag}</Badge>}
              <Link href={`~/console/rules/${id}`}>
                <code>{id}</code>
              </Link>
            </p>
            <Why
              envelope={envelope}
              rule={rules.data?.data?.find((rule) => rule.id === id)}
              isPending={rules.isPending}
            />
          </li>
        ))}
      </ul>
      {match.matching_rules_omitted !== undefined && (
        <p className={styles["facts"]}>and {nounText(match.matching_rules_omitted, "more rule")}</p>
      )}
    </div>
  )
}

function Why({
  envelope,
  rule,
  isPending,
}: {
  readonly envelope: Envelope
  readonly rule: Pick<RuleDetail, "value"> | undefined
  readonly isPending: boolean
}): ReactNode {
  const spans = useMemo(() => (rule === undefined ? [] : spansOf(rule.value, envelope)), [rule, envelope])
  if (isPending) return null
  if (rule === undefined) return <p className={styles["facts"]}>The rule has been deleted.</p>
  return (
    <>
      <p>
        <RuleText value={rule.value} />
      </p>
      {spans.length > 0 && (
        <div className={styles["why"]}>
          <PostCard envelope={envelope} spans={spans} />
        </div>
      )}
    </>
  )
}

function spansOf(value: string, envelope: Envelope): readonly Span[] {
  const parsed = parseRule(value, { embeddings: true })
  return parsed.ok ? explain(parsed.rule, readPost(envelope)).spans : []
}
