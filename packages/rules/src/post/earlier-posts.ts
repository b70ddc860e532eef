/**
 * Places and links that are known from earlier posts.
 *
 * X sends a repost with its original, but with only the id of the original's place, and often sends a short link without
 * its destination. X itself knows both: its search for `place:Berlin` finds reposts of posts from Berlin. So places and
 * the destinations of links are remembered from the posts that carried them.
 */

import { mixed } from "../text/hash-step.ts"
import { arrayOf, idOf, numberOf, objectOf, type Members } from "./untyped-json.ts"

/** Maximum number of places, and of links. Beyond it the least recently seen are forgotten. Ours. */
const rememberedMax = 50_000

/** Maximum length of a remembered text in UTF-16 units. A longer one counts as absent. Ours. */
const textMax = 2048

/** Integers of the bits of hashes: 64 KiB, of which 50,000 links take a tenth. */
const hashBitsLength = 16_384

/** The places by id and the destinations of links of the posts given to `learn`. */
export class EarlierPosts {
  readonly #places = new Map<string, Members>()
  readonly #destinations = new Map<string, string>()
  /** A bit for each hash that a link has had. */
  readonly #hashBits = new Int32Array(hashBitsLength)
  readonly #max: number

  constructor(options: { readonly rememberedMax?: number } = {}) {
    this.#max = options.rememberedMax ?? rememberedMax
  }

  /** Remembers the places and resolved links of an envelope. Two descriptions of a place are merged. */
  learn(envelope: unknown): void {
    const { data, includes } = objectOf(envelope)
    this.learnPlacesOf(envelope)
    const { tweets } = objectOf(includes)
    this.#learnLinks(data)
    for (const post of arrayOf(tweets)) this.#learnLinks(post)
  }

  /** Remembers the places of an envelope, and nothing else of it. */
  learnPlacesOf(envelope: unknown): void {
    this.learnPlaces(objectOf(objectOf(envelope).includes).places)
  }

  /** Remembers the places of an envelope alone, `includes.places`. */
  learnPlaces(places: unknown): void {
    for (const place of arrayOf(places)) {
      const id = shortTextOf(objectOf(place).id)
      if (id === undefined) continue
      this.#remember(this.#places, id, { ...this.#places.get(id), ...readMembers(objectOf(place)) })
    }
  }

  /** Remembers that a link leads to another one. */
  learnLink(from: string, to: string): void {
    if (from === to || from.length > textMax || to.length > textMax) return
    let hash = 0
    for (let at = 0; at < from.length; at++) hash = mixed(hash, from.charCodeAt(at))
    const index = (hash >>> 5) & (hashBitsLength - 1)
    this.#hashBits[index] = (this.#hashBits[index] ?? 0) | (1 << hash)
    this.#remember(this.#destinations, from, to)
  }

  /** X's place object, of which the names, the country and the box are kept; undefined if it is unknown. */
  placeOf(id: string): Members | undefined {
    return this.#places.get(id)
  }

  /**
   * False if no link with the hash has a destination that is known. For callers that have no text of the link: making
   * one takes longer, and hardly a link is known.
   */
  mayKnow(hash: number): boolean {
    return ((this.#hashBits[(hash >>> 5) & (hashBitsLength - 1)] ?? 0) & (1 << hash)) !== 0
  }

  /** The destination of the link; undefined if it is unknown. */
  destinationOf(link: string): string | undefined {
    return this.#destinations.get(link)
  }

  #learnLinks(post: unknown): void {
    for (const url of arrayOf(objectOf(objectOf(post).entities).urls)) {
      const { expanded_url: expanded, unwound_url: unwound } = objectOf(url)
      const [from, to] = [idOf(expanded), idOf(unwound)]
      if (from !== undefined && to !== undefined) this.learnLink(from, to)
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

/** The members of a place that operators read. The others would only take memory. */
function readMembers({ name, full_name, country_code, geo }: Members): Members {
  const texts = Object.entries({ name, full_name, country_code })
  const bbox = arrayOf(objectOf(geo).bbox)
    .slice(0, 4)
    .flatMap((side) => numberOf(side) ?? [])
  const known = texts.filter(([, text]) => shortTextOf(text) !== undefined)
  return bbox.length === 4 ? { ...Object.fromEntries(known), geo: { bbox } } : Object.fromEntries(known)
}

/** The text if it is not empty and not too long to be remembered. */
function shortTextOf(value: unknown): string | undefined {
  const text = idOf(value)
  return text !== undefined && text.length <= textMax ? text : undefined
}
