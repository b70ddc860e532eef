/**
 * Objects that expansions request and the source did not send: an error for each, in X's words and X's order.
 *
 * X reports them post by post, in the order of the page, and reports an object twice that two posts refer to; within a
 * post they are ordered by the names of the expansions. Source: recorded responses of X. X also distinguishes deleted,
 * suspended and protected objects. Sluice cannot: here they are not found.
 */
import { expansions, type Expansion, type Vocabulary } from "@sluice/api"
import { newExpansionNames } from "./response-names.ts"
import { furtherNotFound, notFound, type Problem } from "./problem.ts"
import { truncate } from "./truncate.ts"

/** X's name for one object of each kind. */
const resourceTypes = {
  users: "user",
  tweets: "tweet",
  media: "media",
  places: "place",
  polls: "poll",
} as const

/** An object that an expansion of a post refers to. */
export interface ExpandedObject {
  readonly expansion: Expansion
  readonly kind: keyof typeof resourceTypes
  /** An id, a media key or a username. */
  readonly name: string
}

/** Most errors of a response; one more says that there are further ones. Ours: X's reach 30. */
const missingObjectsMax = 1_000

/** The missing objects of one response. */
export class ExpansionErrors {
  readonly #missing: ExpandedObject[] = []
  #areMore = false

  /** Adds what is missing of one post, in any order. The same expansion and name count once. */
  add(ofPost: readonly ExpandedObject[]): void {
    const inOrder = ofPost.toSorted((a, b) => orderOf(a) - orderOf(b))
    const seen = new Set<string>()
    for (const object of inOrder) {
      const key = `${object.expansion} ${object.name}`
      if (seen.has(key)) continue
      seen.add(key)
      if (this.#missing.length < missingObjectsMax) this.#missing.push(object)
      else this.#areMore = true
    }
  }

  /**
   * A problem for each object that the response does not show after all, as when another post of a page brought it. It
   * calls the expansion by its name in this vocabulary.
   */
  problems(isShown: (object: ExpandedObject) => boolean, vocabulary: Vocabulary): readonly Problem[] {
    const nameOf = (expansion: Expansion): string =>
      (vocabulary === "new" ? newExpansionNames.get(expansion) : undefined) ?? expansion
    const problems = this.#missing
      .filter((object) => !isShown(object))
      .map(({ expansion, kind, name }) => notFound(resourceTypes[kind], nameOf(expansion), truncate(name)))
    return this.#areMore ? [...problems, furtherNotFound()] : problems
  }
}

function orderOf({ expansion }: ExpandedObject): number {
  return order.get(expansion) ?? 0
}

const order = new Map(expansions.toSorted().map((name, index) => [name, index]))
