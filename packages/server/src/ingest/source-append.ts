/**
 * The append of a source's posts: where an id belongs to another name, the post gets the next free one.
 *
 * Ids follow from names by a hash, so two names can give the same one: about once in 40 days on the whole of Bluesky.
 */
import { SourceSuperseded } from "../model/source-superseded.ts"
import type { AssignedName } from "../model/source.ts"
import type { PostId } from "../model/ids.ts"
import type { PostStore } from "../store/port/post-store.ts"
import type { SourceReads, SourceWrites } from "../store/port/source-store.ts"
import type { MatchedPost, SourceAppender } from "./post-batches.ts"
import { parsedPost } from "./post-matching.ts"
import type { UnstoredNames } from "./unstored-names.ts"

/** Ids that are looked at together for a free one. Ours. */
const idsAtOnce = 32

/** Attempts to append a batch whose ids others take meanwhile. Ours: each gives the batch ids that were free just now. */
const attemptsMax = 20

/** Dependencies of the append. */
interface SourceAppendDeps {
  readonly store: Pick<SourceWrites, "appendFrom"> & Pick<SourceReads, "assignedNames"> & Pick<PostStore, "postsById">
  readonly source: { readonly name: string; readonly driver: number }
  readonly names: Pick<UnstoredNames, "noteStored">
}

/** Appends batches of a source. Throws `SourceSuperseded` when another process drives it. */
export function sourceAppender({ store, source: { name: source, driver }, names }: SourceAppendDeps): SourceAppender {
  return async (given, { position, deadLetters, users, assigned: ahead }, atMs) => {
    let posts = given
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const assigned = [...ahead, ...assignedOf(posts)]
      const named = posts.map(({ place }) => place?.name)
      const progress = { source, driver, position, names: named, assigned, deadLetters, users }
      const batch = posts.map(({ post, matches, place }) => ({ post, matches: place?.isOld === true ? [] : matches }))
      const outcome = await store.appendFrom(progress, batch, atMs)
      if (outcome.kind === "appended") {
        names.noteStored(assigned)
        return outcome.isNew
      }
      if (outcome.kind === "superseded") throw new SourceSuperseded(`The source ${source} has another driver.`)
      posts = await withOtherIds(store, posts, new Set(outcome.at))
    }
    throw new Error(`The posts of the source ${source} found no free ids in ${attemptsMax} attempts.`)
  }
}

function assignedOf(posts: readonly MatchedPost[]): readonly AssignedName[] {
  return posts.flatMap(({ post, place: { name, isAssigned = false } = {} }) =>
    name !== undefined && isAssigned ? [{ name, id: post.id }] : [],
  )
}

/** The posts, where those at these indexes have the ids that their names have in the store or the batch, or free ones. */
async function withOtherIds(
  store: SourceAppendDeps["store"],
  posts: readonly MatchedPost[],
  at: ReadonlySet<number>,
): Promise<readonly MatchedPost[]> {
  const names = posts.flatMap(({ place }, index) => (at.has(index) ? (place?.name ?? []) : []))
  const idOf = new Map(
    posts.flatMap(({ post, place }, index) => (at.has(index) ? [] : [[place?.name, post.id] as const])),
  )
  for (const { name, id } of await store.assignedNames(names)) idOf.set(name, id)
  const used = new Set(posts.map(({ post }) => post.id))
  const changed: MatchedPost[] = []
  for (const [index, one] of posts.entries()) {
    const name = one.place?.name
    if (name === undefined || !at.has(index)) {
      changed.push(one)
      continue
    }
    const id = idOf.get(name) ?? (await freeIdAbove(store, one.post.id, used))
    idOf.set(name, id)
    used.add(id)
    changed.push(withId(one, id))
  }
  return changed
}

/** The next id above one that neither the store nor the batch has. */
async function freeIdAbove(
  store: Pick<PostStore, "postsById">,
  id: PostId,
  used: ReadonlySet<PostId>,
): Promise<PostId> {
  for (let above = BigInt(id) + 1n; ; above += BigInt(idsAtOnce)) {
    const ids = Array.from({ length: idsAtOnce }, (_, step) => String(above + BigInt(step)) as PostId)
    const { posts, damaged } = await store.postsById({ ids, shape: "core", bytesMax: Number.MAX_SAFE_INTEGER })
    const stored = new Set([...posts.map((post) => post.id), ...damaged])
    const free = ids.find((one) => !stored.has(one) && !used.has(one))
    if (free !== undefined) return free
  }
}

function withId(one: MatchedPost, id: PostId): MatchedPost {
  const { place, post } = one
  if (place === undefined || post.id === id) return one
  const read = parsedPost(place.envelopeWith(id), post.createdAtMs)
  if (!read.ok) throw new Error(`The post ${place.name} cannot have the id ${id}: ${read.detail}`)
  return { ...one, post: read.post, place: { ...place, isAssigned: true } }
}
