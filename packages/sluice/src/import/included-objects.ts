/** The objects to which posts refer, without repetitions, under the names of an envelope's `includes`. */
import type { Members } from "./untyped-json.ts"

/** The members of `includes`, and the member of each object by which posts refer to it. */
export const includedKinds = {
  users: "id",
  tweets: "id",
  media: "media_key",
  polls: "id",
  places: "id",
} as const

/** A member of `includes`. */
export type IncludedKind = keyof typeof includedKinds

/** Collects the objects of one envelope. */
export class IncludedObjects {
  readonly #kinds = new Map<IncludedKind, Map<string, Members>>()

  /** Adds an object, unless there is one with its key. False when there is, or when it has no key. */
  add(kind: IncludedKind, object: Members): boolean {
    const key = object[includedKinds[kind]]
    if (typeof key !== "string" || key === "") return false
    const objects = this.#kinds.get(kind) ?? new Map<string, Members>()
    this.#kinds.set(kind, objects)
    if (objects.has(key)) return false
    objects.set(key, object)
    return true
  }

  /** The envelope of a post with everything that was added. */
  envelopeOf(data: Members): Members {
    if (this.#kinds.size === 0) return { data }
    const includes = Array.from(this.#kinds, ([kind, objects]) => [kind, [...objects.values()]] as const)
    return { data, includes: Object.fromEntries(includes) }
  }
}
