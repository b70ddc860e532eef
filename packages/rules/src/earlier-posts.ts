/**
 * What earlier posts told that a later one leaves out.
 *
 * X sends a repost with its original, but the original's place only by id, and a shortened link often without
 * its end. X itself knows both: its search for `place:Berlin` finds reposts of posts from Berlin. So places and
 * ends of links are remembered from the posts that did carry them.
 */

import { arrayOf, idOf, numberOf, objectOf } from "./loose-json.ts"
import type { Members } from "./loose-json.ts"

/** Most places, and most links, that are remembered; past it those told of least lately are forgotten. Ours. */
const rememberedMax = 50_000

/** Longest text, in UTF-16 units, that is remembered; longer ones are as if they were absent. Ours. */
const textMax = 2048

/** Places by id and ends of links, from the posts that were shown to it. */
export class EarlierPosts {
  readonly #places = new Map<string, Members>()
  readonly #ends = new Map<string, string>()
  readonly #max: number

  constructor(options: { readonly rememberedMax?: number } = {}) {
    this.#max = options.rememberedMax ?? rememberedMax
  }

  /** Takes in the places and unwound links of an envelope. A place told of twice is known by both. */
  learn(envelope: unknown): void {
    const { data, includes } = objectOf(envelope)
    const { places, tweets } = objectOf(includes)
    for (const place of arrayOf(places)) {
      const id = shortTextOf(objectOf(place).id)
      if (id === undefined) continue
      this.#remember(this.#places, id, { ...this.#places.get(id), ...whatIsRead(objectOf(place)) })
    }
    this.#learnLinks(data)
    for (const post of arrayOf(tweets)) this.#learnLinks(post)
  }

  /** X's place object, of which the names, the country and the box are kept; undefined when no post told. */
  placeOf(id: string): Members | undefined {
    return this.#places.get(id)
  }

  /** Where a link ends that is known as `link`; undefined when no post told. */
  endOf(link: string): string | undefined {
    return this.#ends.get(link)
  }

  #learnLinks(post: unknown): void {
    for (const url of arrayOf(objectOf(objectOf(post).entities).urls)) {
      const { expanded_url: expanded, unwound_url: unwound } = objectOf(url)
      const [from, to] = [shortTextOf(expanded), shortTextOf(unwound)]
      if (from !== undefined && to !== undefined && from !== to) this.#remember(this.#ends, from, to)
    }
  }

  #remember<Value>(known: Map<string, Value>, key: string, value: Value): void {
    known.delete(key)
    known.set(key, value)
    if (known.size <= this.#max) return
    for (const oldest of known.keys()) {
      known.delete(oldest)
      return
    }
  }
}

/** What operators ask of a place. The rest of it would only take room, for as long as the place is known. */
function whatIsRead({ name, full_name, country_code, geo }: Members): Members {
  const texts = Object.entries({ name, full_name, country_code })
  const bbox = arrayOf(objectOf(geo).bbox)
    .slice(0, 4)
    .flatMap((side) => numberOf(side) ?? [])
  const known = texts.filter(([, text]) => shortTextOf(text) !== undefined)
  return bbox.length === 4 ? { ...Object.fromEntries(known), geo: { bbox } } : Object.fromEntries(known)
}

/** The text, when it has something in it and is not too long to be kept. */
function shortTextOf(value: unknown): string | undefined {
  const text = idOf(value)
  return text !== undefined && text.length <= textMax ? text : undefined
}
