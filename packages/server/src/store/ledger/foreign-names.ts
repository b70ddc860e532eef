/** Whose an id is: two posts with different names never have the same one. Decided once for all stores. */
import type { PostId } from "../../model/ids.ts"
import type { AssignedName } from "../../model/source.ts"

/** A post of a batch as far as names go. */
export interface NamedPost {
  readonly id: PostId
  /** Absent for a post whose id nothing else can have. */
  readonly name: string | undefined
}

/** The parts of a batch that are looked up in the store. */
export interface StoredNames {
  /** Envelopes of the posts that are stored under ids of the batch, as JSON text. */
  readonly envelopes: ReadonlyMap<PostId, string>
  /** Ids that were assigned to names of the batch. */
  readonly assigned: readonly AssignedName[]
}

/** The indexes of posts whose id another name has, or whose name has another id. */
export function takenAt(posts: readonly NamedPost[], { envelopes, assigned }: StoredNames): readonly number[] {
  const idOf = new Map(assigned.map(({ name, id }) => [name, id]))
  const inBatch = new Map<PostId, string>()
  return posts.flatMap(({ id, name }, index) => {
    if (name === undefined) return []
    const envelope = envelopes.get(id)
    const holder = envelope === undefined ? inBatch.get(id) : nameIn(envelope)
    const isTaken = (holder ?? (envelope === undefined ? name : undefined)) !== name
    if (isTaken) return [index]
    inBatch.set(id, name)
    const ownId = idOf.get(name) ?? id
    idOf.set(name, ownId)
    return ownId === id ? [] : [index]
  })
}

/** The name of a stored post, by its envelope; undefined for one that came without, and for one that is damaged. */
export function nameIn(envelope: string): string | undefined {
  try {
    const { data } = JSON.parse(envelope) as { readonly data?: { readonly source_uri?: unknown } }
    return typeof data?.source_uri === "string" ? data.source_uri : undefined
  } catch {
    return undefined
  }
}
