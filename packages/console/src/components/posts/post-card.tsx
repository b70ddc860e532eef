/** A post with its author, and the parts that a rule matched. */
import type { Envelope, IncludedObject, Post } from "@sluice/api"
import type { Span } from "@sluice/rules"
import type { ReactNode } from "react"
import { Link } from "wouter"
import { ErrorBoundary } from "../error-boundary.tsx"
import styles from "./post-card.module.css"
import { Time } from "../time.tsx"

const noSpans: readonly Span[] = []

/**
 * A post. `spans` are highlighted in its texts; those without a position in a text are listed below. `isLinked`: the
 * post and its author lead to their pages in the console. A post that cannot be shown fails alone: older stores may hold
 * invalid `includes`.
 */
export function PostCard({
  envelope,
  spans = noSpans,
  isLinked = true,
}: {
  readonly envelope: Envelope
  readonly spans?: readonly Span[]
  readonly isLinked?: boolean
}): ReactNode {
  return (
    <ErrorBoundary of="card">
      <Card envelope={envelope} spans={spans} isLinked={isLinked} />
    </ErrorBoundary>
  )
}

function Card({
  envelope,
  spans,
  isLinked,
}: {
  readonly envelope: Envelope
  readonly spans: readonly Span[]
  readonly isLinked: boolean
}): ReactNode {
  const { data, includes } = envelope
  const author = objectOf(includes?.users, data.author_id)
  const beside = otherTexts(envelope).filter(({ where }) => spans.some((span) => span.where === where))
  return (
    <div>
      <p className={styles["head"]}>
        <AuthorName
          id={data.author_id}
          name={wordOf(author?.["name"])}
          username={wordOf(author?.["username"])}
          isLinked={isLinked}
        />
        {data.created_at !== undefined && <Time at={data.created_at} />}
        {isLinked ? (
          <Link href={`~/console/posts/${data.id}`} aria-label={`Post ${data.id}`}>
            <code>{data.id}</code>
          </Link>
        ) : (
          <code>{data.id}</code>
        )}
      </p>
      <p className={styles["text"]}>
        <MarkedText text={data.text} spans={spans.filter(({ where }) => where === "text")} />
      </p>
      {beside.map(({ where, label, text }) => (
        <div key={where} className={styles["beside"]}>
          <p className={styles["label"]}>{label}</p>
          <p className={styles["text"]}>
            <MarkedText text={text} spans={spans.filter((span) => span.where === where)} />
          </p>
        </div>
      ))}
      <Reasons spans={spans} />
    </div>
  )
}

function AuthorName({
  id,
  name,
  username,
  isLinked,
}: {
  readonly id: string | undefined
  readonly name: string | undefined
  readonly username: string | undefined
  readonly isLinked: boolean
}): ReactNode {
  if (id === undefined) return <span>Unknown author</span>
  const shown = (
    <>
      <span className={styles["name"]}>{name ?? `User ${id}`}</span>
      {username !== undefined && <span>{` @${username}`}</span>}
    </>
  )
  return isLinked ? <Link href={`~/console/posts/users/${id}`}>{shown}</Link> : <span>{shown}</span>
}

/** Matches without a position in a text: properties of the post, of its author, or of a link. */
function Reasons({ spans }: { readonly spans: readonly Span[] }): ReactNode {
  const reasons = new Set(
    spans.filter(({ start }) => start === undefined).map(({ operator, where }) => `${operator} · ${whereNames[where]}`),
  )
  if (reasons.size === 0) return null
  return (
    <ul className={styles["reasons"]} aria-label="Also matched">
      {[...reasons].map((reason) => (
        <li key={reason} className={styles["reason"]}>
          {reason}
        </li>
      ))}
    </ul>
  )
}

const whereNames: Readonly<Record<Span["where"], string>> = {
  text: "its text",
  original: "the reposted post",
  quoted: "the quoted post",
  url: "a link",
  url_title: "the title of a linked page",
  url_description: "the description of a linked page",
  author: "its author",
  bio: "the author's description",
  bio_name: "the author's name",
  bio_location: "the author's location",
  reply: "what it replies to",
  post: "the post",
  media: "its media",
  place: "its place",
  context: "X's annotations",
}

interface OtherText {
  readonly where: Span["where"]
  readonly label: string
  readonly text: string
}

/** Texts other than the post's own in which operators may match. */
function otherTexts({ data, includes }: Envelope): readonly OtherText[] {
  const author = objectOf(includes?.users, data.author_id)
  const texts: readonly (readonly [Span["where"], string, unknown])[] = [
    ["original", "Reposted", referenced(data, includes?.tweets, "retweeted")],
    ["quoted", "Quoted", referenced(data, includes?.tweets, "quoted")],
    ["bio", "Description of the author", author?.["description"]],
    ["bio_name", "Name of the author", author?.["name"]],
    ["bio_location", "Location of the author", author?.["location"]],
  ]
  return texts.flatMap(([where, label, text]) => (typeof text === "string" ? [{ where, label, text }] : []))
}

function referenced(data: Post, tweets: unknown, type: string): unknown {
  return objectOf(tweets, data.referenced_tweets?.find((one) => one.type === type)?.id)?.["text"]
}

/** The object with an id in a list of `includes`, which may be invalid in posts of an older store. */
function objectOf(objects: unknown, id: string | undefined): IncludedObject | undefined {
  if (id === undefined || !Array.isArray(objects)) return undefined
  return (objects as readonly (IncludedObject | null)[]).find((one) => one?.["id"] === id) ?? undefined
}

function wordOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}

/** A text with marks. Spans count code points, as the API does; overlapping spans are merged.  */
function MarkedText({ text, spans }: { readonly text: string; readonly spans: readonly Span[] }): ReactNode {
  const points = Array.from(text)
  const pieces: { readonly text: string; readonly start: number; readonly operators?: string }[] = []
  let done = 0
  const placed = spans.filter(({ start, end }) => start !== undefined && end !== undefined)
  for (const { start = 0, end = 0, operator } of placed.toSorted((a, b) => (a.start ?? 0) - (b.start ?? 0))) {
    if (end <= done) continue
    const from = Math.max(start, done)
    if (from > done) pieces.push({ text: points.slice(done, from).join(""), start: done })
    pieces.push({ text: points.slice(from, end).join(""), start: from, operators: operator })
    done = end
  }
  pieces.push({ text: points.slice(done).join(""), start: done })
  return pieces.map((piece) =>
    piece.operators === undefined ? (
      <span key={piece.start}>{piece.text}</span>
    ) : (
      <mark key={piece.start} title={piece.operators}>
        {piece.text}
      </mark>
    ),
  )
}
