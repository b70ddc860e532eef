/**
 * The terms of what a post brings along: the posts in its `includes`. No operator reads them. A look-up finds a post by
 * them that came with another one alone, and a list of quotes has the reposts of quotes by them.
 */

import { arrayOf, objectOf, textOf, type Members } from "../post/untyped-json.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"

/** Maximum number of posts in the `includes` of one post that have a term. Ours: X sends a handful. */
const includedMax = 100

/** The term of a post that is in the `includes` of others. */
export function includedTerm(id: string): string {
  return `in:${id}`
}

/** The term that reposts of quotes of a post have. */
export function repostedQuoteTerm(id: string): string {
  return `rq:${id}`
}

/** The terms of an envelope's `includes`, each once. */
export function termsOfIncluded(envelope: RuleEnvelope): readonly string[] {
  const terms = Array.from(includedPostIds(envelope), includedTerm)
  const quoted = quotedByOriginal(envelope)
  return quoted === undefined ? terms : [...terms, repostedQuoteTerm(quoted)]
}

/** Ids of the posts in `includes` that have a text, each once: the first hundred. */
export function includedPostIds({ includes }: RuleEnvelope): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const post of includedPosts(includes)) {
    const id = idOf(post.id)
    if (id !== undefined && textOf(post.text) !== undefined) ids.add(id)
    if (ids.size === includedMax) break
  }
  return ids
}

/** The post that the original of a repost quotes; undefined if the original is not included, or quotes none. */
export function quotedByOriginal({ data, includes }: RuleEnvelope): string | undefined {
  const originalId = referenceOf(objectOf(data), "retweeted")
  if (originalId === undefined) return undefined
  for (const post of includedPosts(includes)) if (post.id === originalId) return referenceOf(post, "quoted")
  return undefined
}

function* includedPosts(includes: unknown): Iterable<Members> {
  for (const post of arrayOf(objectOf(includes).tweets)) yield objectOf(post)
}

/** The id of the first reference of this type. */
function referenceOf(post: Members, type: string): string | undefined {
  const reference = arrayOf(post.referenced_tweets)
    .map(objectOf)
    .find((one) => one.type === type)
  return idOf(reference?.id)
}

/** An id as X writes it. Others name no post that a look-up could ask for. */
function idOf(value: unknown): string | undefined {
  const text = textOf(value)
  return text !== undefined && idForm.test(text) ? text : undefined
}

const idForm = /^(?:0|[1-9]\d{0,18})$/
