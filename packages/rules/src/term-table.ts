/**
 * The terms that rules name, as small integers.
 *
 * A term is a word in a zone, or a key of an operator. It is found by its characters: by a hash of them first, and
 * then one by one, since texts and rules come from strangers, who could make two words of one hash. Nor can they make
 * many words share a bucket and every post walk along them: what finds its bucket full goes into a `Map`, whose
 * hashes nobody can foresee.
 *
 * Each term counts the posts that hold it, so that rules are filed under what is rare in fact.
 */

import type { IntArena } from "./int-arena.ts"
import { ChainedTable } from "./chained-table.ts"
import { codeAt } from "./code-at.ts"
import type { Chain } from "./chained-table.ts"
import { noPage, pageBits, PagedInts, pageMask } from "./paged-ints.ts"
import { keyNames, zones } from "./rule.ts"
import type { KeyName, Zone } from "./rule.ts"
import { isStopword } from "./stopwords.ts"

/** Where a term is looked for. `operator`: nowhere in a post; such terms tell operators apart. */
export type TermPlace = Zone | KeyName | "operator"

/** Places by their number. */
export const termPlaces: readonly TermPlace[] = [...new Set(Object.values(zones)), ...keyNames, "operator"]

/** Places from this number on are no zones. */
export const zonesCount = new Set(Object.values(zones)).size

/** Number of a place. */
export function placeNumber(place: TermPlace): number {
  return placeNumbers.get(place) ?? 0
}

const placeNumbers = new Map(termPlaces.map((place, number) => [place, number]))

/** The term that every post holds: rules that require nothing else are filed under it. */
export const always = 0

/**
 * What is kept of a term, in this order: 64 bytes, as much as a processor fetches at once, since what a look-up
 * costs is the fetching.
 */
export const termField = {
  next: 0,
  /** Length, whether it is a stopword, place. */
  info: 1,
  /** The characters, two to an integer. Of a text that is too long, the first ones and in the last field its address. */
  text: 2,
  /** Posts that held it, among those since it was first named; halved now and then. */
  seen: 8,
  uses: 9,
  /** What is filed under it, for `PostingLists`. */
  postingsCount: 10,
  postings: 11,
  guard: 12,
  /** Number of the post after which it began to count, low and high half. */
  since: 13,
  hash: 15,
} as const

/** A term's fields begin at its number shifted by so many bits. */
export const termBits = 4

/** Integers of a text that stand with the term. */
const textFields = termField.seen - termField.text

const placeBits = 5
const stopwordBit = 1 << placeBits
const lengthShift = placeBits + 1

/** Terms of one bucket that are looked through. */
const crowdMin = 64

/** Posts after which a term's count is halved, so that it follows the day. */
const memoryPosts = 1_000_000

/** Posts that the guess about a new term is worth. */
const guessWeight = 1000

/** Terms by their text. They count their uses, and are forgotten when there are none. */
export class TermTable {
  readonly #arena: IntArena
  readonly #fields = new PagedInts()
  /** The texts that are looked for, two characters to an integer. */
  #packed = new Int32Array(256)
  /** What is looked for, by its number: hash, fields `info`, where it begins in `packed`. */
  #hashes = new Int32Array(64)
  #infos = new Int32Array(64)
  #begins = new Int32Array(64)
  #found = new Int32Array(64)
  #queries = 0
  readonly #table: ChainedTable
  readonly #crowded = new Map<string, number>()
  /** Terms of each place. */
  readonly #sizes = new Int32Array(termPlaces.length)
  #size = 0
  /** Numbers given so far; 0 is `always`. */
  #numbers = 1
  /** First number that is free again; its `next` is another. */
  #free = 0
  #posts = 0
  /** What was fetched early, kept so that the engine does not leave out the fetching. */
  fetched = 0

  constructor(arena: IntArena) {
    this.#arena = arena
    // Twice as many buckets as terms, so that a word that nobody named is known by its empty bucket.
    this.#table = new ChainedTable(chainOf(this.#fields), 2)
    this.#fields.set(termField.next, 0)
  }

  /** Terms in use. */
  get size(): number {
    return this.#size
  }

  /** All numbers of terms are below. */
  get numbers(): number {
    return this.#numbers
  }

  /** The fields of all terms, for those who count or file. */
  get fields(): PagedInts {
    return this.#fields
  }

  /** Terms in use that are looked for in the place. */
  sizeOf(place: number): number {
    return this.#sizes[place] ?? 0
  }

  /** Number of the place in which the term is looked for. */
  placeOf(term: number): number {
    return this.#get(term, termField.info) & (stopwordBit - 1)
  }

  /** One more post was read. */
  countPost(): void {
    this.#posts++
  }

  /** Takes note of a text to look for. Its number: 1 for the first one since `findAll`, and so on. */
  query(place: number, text: string): number {
    const query = ++this.#queries
    if (query + 1 >= this.#hashes.length) this.#makeRoom()
    this.#pack(query, place, text)
    return query
  }

  /**
   * The terms of the queries, by their numbers; 0 when nobody named one. Good until the next query.
   *
   * Most of what a look-up costs is waiting for memory. All fetch their bucket, then all fetch what it holds, and only
   * then is the first one compared: so they wait together.
   */
  findAll(): Int32Array {
    const count = this.#queries
    const [found, hashes] = [this.#found, this.#hashes]
    const { pages } = this.#fields
    for (let query = 1; query <= count; query++) found[query] = this.#table.first(hashes[query] ?? 0)
    let fetched = 0
    for (let query = 1; query <= count; query++) {
      const term = found[query] ?? 0
      fetched ^= (pages[(term << termBits) >>> pageBits] ?? noPage)[(term << termBits) & pageMask] ?? 0
    }
    this.fetched = fetched
    for (let query = 1; query <= count; query++) {
      const term = found[query] ?? 0
      if (term !== 0) found[query] = this.#find(term, query)
    }
    if (this.#crowded.size > 0)
      for (let query = 1; query <= count; query++) found[query] ||= this.#findCrowded(query)
    this.#queries = 0
    return found
  }

  /** The term, or 0 when nobody named it. */
  find(place: number, text: string): number {
    this.#pack(0, place, text)
    const first = this.#table.first(this.#hashes[0] ?? 0)
    return (first === 0 ? 0 : this.#find(first, 0)) || this.#findCrowded(0)
  }

  /** The term of the query among those that follow each other in a bucket. */
  #find(first: number, query: number): number {
    const hash = this.#hashes[query] ?? 0
    const info = this.#infos[query] ?? 0
    const begin = this.#begins[query] ?? 0
    const count = ((info >>> lengthShift) + 1) >> 1
    const packed = this.#packed
    const { pages } = this.#fields
    for (let term = first; term !== 0;) {
      const page = pages[(term << termBits) >>> pageBits] ?? noPage
      const at = (term << termBits) & pageMask
      if (((page[at + termField.info] ?? 0) & ~stopwordBit) === info) {
        if (count > textFields) {
          if (page[at + termField.hash] === hash && this.#isLongText(page, at, begin, count)) return term
        } else {
          let index = 0
          while (index < count && page[at + termField.text + index] === packed[begin + index]) index++
          if (index === count) return term
        }
      }
      term = page[at + termField.next] ?? 0
    }
    return 0
  }

  #findCrowded(query: number): number {
    if (this.#crowded.size === 0) return 0
    const info = this.#infos[query] ?? 0
    const text = textAt(this.#packed, this.#begins[query] ?? 0, info >>> lengthShift)
    return this.#crowded.get(`${info & (stopwordBit - 1)}:${text}`) ?? 0
  }

  /** The term, made if need be, with one use more. */
  intern(place: number, text: string): number {
    const found = this.find(place, text)
    if (found !== 0) {
      this.retain(found)
      return found
    }
    const term = this.#newNumber()
    const hash = this.#hashes[0] ?? 0
    this.#fields.set((term << termBits) + termField.hash, hash)
    const page = this.#fields.pages[(term << termBits) >>> pageBits] ?? noPage
    const at = (term << termBits) & pageMask
    page[at + termField.info] = (text.length << lengthShift) | (isStopword(text) ? stopwordBit : 0) | place
    this.#write(page, at, (text.length + 1) >> 1)
    page[at + termField.seen] = 0
    page[at + termField.uses] = 1
    page[at + termField.postingsCount] = 0
    page[at + termField.since] = this.#posts | 0
    page[at + termField.since + 1] = Math.floor(this.#posts / 2 ** 32)
    if (this.#isCrowded(hash)) this.#crowded.set(`${place}:${text}`, term)
    else this.#table.add(term, hash)
    this.#size++
    this.#sizes[place] = this.sizeOf(place) + 1
    return term
  }

  retain(term: number): void {
    this.#set(term, termField.uses, this.#get(term, termField.uses) + 1)
  }

  /** Takes back one use; true when the term is forgotten. */
  release(term: number): boolean {
    const uses = this.#get(term, termField.uses) - 1
    this.#set(term, termField.uses, uses)
    if (uses > 0) return false
    this.#forget(term)
    return true
  }

  /** Share of posts that hold the term: a guess at first, what was seen later. */
  frequencyOf(term: number): number {
    const page = this.#fields.pages[(term << termBits) >>> pageBits] ?? noPage
    const at = (term << termBits) & pageMask
    const since = (page[at + termField.since + 1] ?? 0) * 2 ** 32 + ((page[at + termField.since] ?? 0) >>> 0)
    let seen = page[at + termField.seen] ?? 0
    let age = this.#posts - since
    if (age > memoryPosts) {
      seen >>= 1
      age = Math.floor(age / 2)
      page[at + termField.seen] = seen
      const from = this.#posts - age
      page[at + termField.since] = from | 0
      page[at + termField.since + 1] = Math.floor(from / 2 ** 32)
    }
    return (seen + guessOf(page[at + termField.info] ?? 0) * guessWeight) / (age + guessWeight)
  }

  #forget(term: number): void {
    const place = this.placeOf(term)
    if (!this.#forgetCrowded(term, place)) this.#table.remove(term)
    const count = ((this.#get(term, termField.info) >>> lengthShift) + 1) >> 1
    if (count > textFields) this.#arena.free(this.#get(term, addressField), count)
    this.#size--
    this.#sizes[place] = this.sizeOf(place) - 1
    this.#set(term, termField.next, this.#free)
    this.#free = term
  }

  /** False when the term is not among those. */
  #forgetCrowded(term: number, place: number): boolean {
    if (this.#crowded.size === 0) return false
    const key = `${place}:${this.#textOf(term)}`
    return this.#crowded.get(key) === term && this.#crowded.delete(key)
  }

  #newNumber(): number {
    const term = this.#free
    if (term === 0) return this.#numbers++
    this.#free = this.#get(term, termField.next)
    return term
  }

  #isCrowded(hash: number): boolean {
    let count = 0
    for (let term = this.#table.first(hash); term !== 0; term = this.#get(term, termField.next)) count++
    return count >= crowdMin
  }

  #get(term: number, field: number): number {
    return this.#fields.get((term << termBits) + field)
  }

  #set(term: number, field: number, value: number): void {
    this.#fields.set((term << termBits) + field, value)
  }

  /** Packs the text of a query, after those before it. Query 0 is of those that are not kept. */
  #pack(query: number, place: number, text: string): void {
    const { length } = text
    const begin = query === 0 ? 0 : (this.#begins[query] ?? 0)
    let to = begin
    if (to + length >= this.#packed.length) this.#packed = longer(this.#packed, to + length)
    const packed = this.#packed
    const last = length - 1
    let hash = place
    let index = 0
    for (; index < last; index += 2) {
      const pair = codeAt(text, index) | (codeAt(text, index + 1) << 16)
      packed[to++] = pair
      hash = mixed(hash, pair)
    }
    if (index === last) {
      const single = codeAt(text, index)
      packed[to++] = single
      hash = mixed(hash, single)
    }
    this.#hashes[query] = hash
    this.#infos[query] = (length << lengthShift) | place
    this.#begins[query + 1] = to
  }

  #makeRoom(): void {
    this.#hashes = longer(this.#hashes, 0)
    this.#infos = longer(this.#infos, 0)
    this.#begins = longer(this.#begins, 0)
    this.#found = longer(this.#found, 0)
  }

  /** Keeps what was packed, `count` integers, with the term whose fields begin there. */
  #write(fields: Int32Array, at: number, count: number): void {
    const here = count > textFields ? textFields - 1 : count
    for (let index = 0; index < here; index++) fields[at + termField.text + index] = this.#packed[index] ?? 0
    if (count <= textFields) return
    const address = this.#arena.allocate(count)
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    page.set(this.#packed.subarray(0, count), address & pageMask)
    fields[at + addressField] = address
  }

  /** Whether what was packed is the text of the term whose fields begin there. */
  #isLongText(fields: Int32Array, at: number, from: number, count: number): boolean {
    const address = fields[at + addressField] ?? 0
    const page = this.#arena.pages[address >>> pageBits] ?? noPage
    const begin = address & pageMask
    for (let index = 0; index < count; index++)
      if (page[begin + index] !== this.#packed[from + index]) return false
    return true
  }

  #textOf(term: number): string {
    const fields = this.#fields.pages[(term << termBits) >>> pageBits] ?? noPage
    const at = (term << termBits) & pageMask
    const length = (fields[at + termField.info] ?? 0) >>> lengthShift
    if ((length + 1) >> 1 <= textFields) return textAt(fields, at + termField.text, length)
    const address = fields[at + addressField] ?? 0
    return textAt(this.#arena.pages[address >>> pageBits] ?? noPage, address & pageMask, length)
  }
}

/** The text of so many characters that is packed there. */
function textAt(packed: Int32Array, begin: number, length: number): string {
  let text = ""
  for (let index = 0; index < length; index++) {
    const pair = packed[begin + (index >> 1)] ?? 0
    text += String.fromCharCode((index & 1) === 0 ? pair & 0xffff : pair >>> 16)
  }
  return text
}

/** A copy of at least twice the length. */
function longer(ints: Int32Array, least: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(Math.max(ints.length, least) * 2)
  copy.set(ints)
  return copy
}

/** Where the address of a long text stands. */
const addressField = termField.seen - 1

function chainOf(fields: PagedInts): Chain {
  return {
    hashOf: (term) => fields.get((term << termBits) + termField.hash),
    next: (term) => fields.get((term << termBits) + termField.next),
    setNext: (term, next) => fields.set((term << termBits) + termField.next, next),
  }
}

/** One step of a hash: multiplies, and brings the high bits down to where buckets are told apart. */
function mixed(hash: number, pair: number): number {
  const product = Math.imul(hash ^ pair, 0x9e3779b1)
  return product ^ (product >>> 15)
}

/** Ours, by the look of the posts at hand: one in so many holds such a term. */
function guessOf(info: number): number {
  const place = info & (stopwordBit - 1)
  if ((info & stopwordBit) !== 0) return stopwordGuesses[place] ?? 0
  const guess = guesses[place] ?? 0
  // Long words are rarer.
  return place === textPlace ? guess / Math.min(Math.max(info >>> lengthShift, 1), 10) : guess
}

const textPlace = placeNumber("text")
const guesses = Float64Array.from(termPlaces, guessFor)
const stopwordGuesses = Float64Array.from(termPlaces, (place) =>
  place === "text" ? 0.3 : Math.min(guessFor(place) * 10, 0.5),
)

function guessFor(place: TermPlace): number {
  switch (place) {
    case "text":
      return 0.05
    case "link":
    case "bio":
    case "title":
    case "description":
      return 0.005
    case "hashtag":
    case "mention":
    case "cashtag":
    case "name":
    case "location":
    case "context":
    case "entity":
    case "place":
      return 0.001
    case "lang":
    case "is":
    case "has":
    case "place_country":
    case "source":
      return 0.1
    default:
      return 0.0001
  }
}
