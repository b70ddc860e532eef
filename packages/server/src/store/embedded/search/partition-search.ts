/** How a query is read in the partitions of an index: by FTS5 as far as it can, else from the posts that each token has. */
import { indexQueryHolds, type IndexQuery } from "@sluice/rules"
import type { PostId } from "../../../model/ids.ts"
import type { SearchRange } from "../../search-index.ts"
import { tokenQuery } from "../../search-query.ts"
import { tokenOf } from "../../search-terms.ts"
import { matchExpression } from "./match-expression.ts"

/** A partition that is read a statement at a time, each in a turn of its own. */
export interface PartitionReader {
  /** Ids that an expression of FTS5 finds. */
  find(expression: string, range: SearchRange): Promise<readonly PostId[]>
  /** As many posts as a statement counts, the oldest first. */
  tally(expression: string, range: IdRange, steps: Steps): Promise<Tally>
}

/** Ids above `above` up to `upTo`. */
export type IdRange = Pick<SearchRange, "above" | "upTo">

/** Steps of ids of one length, from `from` on. */
export interface Steps {
  readonly from: bigint
  readonly length: bigint
}

/** The numbers of posts by step. */
export interface Tally {
  readonly steps: readonly { readonly step: number; readonly count: number }[]
  /** The id up to which posts were counted, when there may be more. */
  readonly stoppedAt?: bigint
}

/** A query that is read in one partition after the other. */
export interface PartitionSearch {
  /** Ids within a range, in the order of its direction. */
  find(partition: PartitionReader, range: SearchRange): Promise<readonly PostId[]>
  /** The number of posts within a range by step; steps without posts are absent. */
  tally(partition: PartitionReader, range: IdRange, steps: Steps): Promise<ReadonlyMap<number, number>>
}

/** Prepares a query. */
export function searchFor(query: IndexQuery): PartitionSearch {
  const folded = tokenQuery(query)
  if (folded === false) return { find: async () => [], tally: async () => new Map() }
  const expression = matchExpression(folded)
  if (expression === undefined) return new NestedSearch(query)
  return {
    find: (partition, range) => partition.find(expression, range),
    async tally(partition, { above: begin, upTo }, steps) {
      const counts = new Map<number, number>()
      for (let above: bigint | undefined = begin; above !== undefined;) {
        const tally: Tally = await partition.tally(expression, { above, upTo }, steps)
        for (const { step, count } of tally.steps) counts.set(step, (counts.get(step) ?? 0) + count)
        above = tally.stoppedAt
      }
      return counts
    },
  }
}

/** Posts whose terms are read first. Ours: a page is often full by then. */
const firstWindow = 500

/** Most posts whose terms are read at a time. Ours: a few megabytes. */
const windowMax = 8_000

/**
 * A query that is nested deeper than FTS5 reads. It is evaluated for each post, in windows of posts, whose terms are found by
 * searching each term of the query. Rules that people write are not so deep.
 */
class NestedSearch implements PartitionSearch {
  readonly #query: IndexQuery
  /** The terms of the query, and how each is searched. */
  readonly #terms: ReadonlyMap<string, string>

  constructor(query: IndexQuery) {
    this.#query = query
    this.#terms = new Map(
      termsOf(query).map((term) => [term, matchExpression({ kind: "token", token: tokenOf(term) }) ?? ""]),
    )
  }

  async find(partition: PartitionReader, range: SearchRange): Promise<readonly PostId[]> {
    const found: PostId[] = []
    let { above, upTo } = range
    let limit = firstWindow
    for (;;) {
      const window = await partition.find(everyExpression, { ...range, above, upTo, limit })
      const last = window.at(-1)
      if (last === undefined) return found
      for (const id of await this.#matching(partition, window)) if (found.push(id) === range.limit) return found
      if (range.direction === "newer") above = BigInt(last)
      else upTo = BigInt(last) - 1n
      limit = Math.min(2 * limit, windowMax)
    }
  }

  async tally(
    partition: PartitionReader,
    range: IdRange,
    { from, length }: Steps,
  ): Promise<ReadonlyMap<number, number>> {
    const counts = new Map<number, number>()
    for (const id of await this.find(partition, { ...range, direction: "newer", limit: Infinity })) {
      const step = Number((BigInt(id) - from) / length)
      counts.set(step, (counts.get(step) ?? 0) + 1)
    }
    return counts
  }

  /** Those of successive ids of a partition of which the query holds. */
  async #matching(partition: PartitionReader, ids: readonly PostId[]): Promise<readonly PostId[]> {
    const [one, other] = [BigInt(ids[0] ?? 0), BigInt(ids.at(-1) ?? 0)]
    const ends = one < other ? { above: one - 1n, upTo: other } : { above: other - 1n, upTo: one }
    const posts = new Map(ids.map((id) => [id, new Set<string>()]))
    for (const [term, expression] of this.#terms) {
      const withTerm = await partition.find(expression, { ...ends, direction: "newer", limit: ids.length })
      for (const id of withTerm) posts.get(id)?.add(term)
    }
    return [...posts].filter(([, terms]) => indexQueryHolds(this.#query, terms)).map(([id]) => id)
  }
}

const everyExpression = matchExpression(true) ?? ""

function termsOf(query: IndexQuery): readonly string[] {
  switch (query.kind) {
    case "term":
      return [query.term]
    case "all":
    case "any":
      return query.of.flatMap(termsOf)
    case "not":
      return termsOf(query.of)
    case "everything":
      return []
  }
}
