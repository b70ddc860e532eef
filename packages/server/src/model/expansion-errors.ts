/**
 * Objects that expansions request and the source did not send: an error for each, in X's words and X's order.
 *
 * X reports them post by post, in the order of the page, and reports an object twice that two posts refer to; within a
 * post they are ordered by the names of the expansions. Source: recorded responses of X. X also distinguishes deleted,
 * suspended and protected objects. Sluice cannot: here they are not found.
 */
import { expansions, userExpansions, type Expansion, type UserExpansion, type Vocabulary } from "@sluice/api"
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

/** An object that an expansion of a post refers to, or one of a user. */
export interface ExpandedObject<Name extends Expansion | UserExpansion = Expansion> {
  readonly expansion: Name
  readonly kind: keyof typeof resourceTypes
  /** An id, a media key or a username. */
  readonly name: string
}

/** Most errors of a response; one more says that there are further ones. Ours: X's reach 30. */
const missingObjectsMax = 1_000

/** The missing objects of one response, whose data are posts or users. */
export class ExpansionErrors<Name extends Expansion | UserExpansion = Expansion> {
  readonly #missing: ExpandedObject<Name>[] = []
  #areMore = false

  /** Adds what is missing of one post or user, in any order. The same expansion and name count once. */
  add(ofOne: readonly ExpandedObject<Name>[]): void {
    const inOrder = ofOne.toSorted((a, b) => orderOf(a) - orderOf(b))
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
  problems(isShown: (object: ExpandedObject<Name>) => boolean, vocabulary: Vocabulary): readonly Problem[] {
    const nameOf = (expansion: Name): string =>
      (vocabulary === "new" ? newExpansionNames.get(expansion) : undefined) ?? expansion
    const problems = this.#missing
      .filter((object) => !isShown(object))
      .map(({ expansion, kind, name }) => notFound(resourceTypes[kind], nameOf(expansion), truncate(name)))
    return this.#areMore ? [...problems, furtherNotFound()] : problems
  }
}

function orderOf({ expansion }: ExpandedObject<Expansion | UserExpansion>): number {
  return order.get(expansion) ?? 0
}

const order = new Map<string, number>([...expansions, ...userExpansions].toSorted().map((name, index) => [name, index]))
