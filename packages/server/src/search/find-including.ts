/**
 * Finds the posts in whose `includes` other posts stand, by the ids of those.
 *
 *     tail of the index ──► posts that it does not have yet, each read ───────────────┐
 *     index: posts with any of the ids ──► the newest hundred, read                   ├─► for each id, the newest
 *        └─ an id that none of them has ──► the newest posts that have that one, read ┘
 *
 * The index has a term for each included post, so a post that it finds has one of the ids. While more posts than a search
 * reads wait for the index, as when it is built anew, those alone count that it has.
 */
import { anyTerm, includedPostIds, includedTerm, type RuleEnvelope } from "@sluice/rules"
import { compareIds, type PostId } from "../model/ids.ts"
import type { StoredPost } from "../model/post.ts"
import { idEnds } from "../store/id-bounds.ts"
import { readById, readTail, type SearchDeps } from "./find-posts.ts"

/** Most posts with any of the ids that are read first. Ours: X asks for as many ids at once. */
const firstMax = 100

/** Most posts with one id that are read when those with any of them do not have it. Ours: the newest is damaged at times. */
const nextMax = 3

/**
 * For each of the ids the newest stored post that has it in its `includes`, by id; ids that none has are left out. When no
 * post that has it can be read, a damaged one is named.
 */
export async function findIncluding(
  ids: readonly PostId[],
  deps: Pick<SearchDeps, "store" | "index" | "pause">,
): Promise<ReadonlyMap<PostId, PostId>> {
  const finding = new Finding(ids, deps)
  for (const post of (await readTail(deps))?.values() ?? []) await finding.read(post)
  const { isWhole } = await finding.ask(ids, firstMax)
  if (isWhole) return finding.found
  for (const id of ids) {
    if (finding.indexed.has(id)) continue
    const { damaged } = await finding.ask([id], nextMax)
    const [first] = damaged
    if (first !== undefined && !finding.found.has(id)) finding.found.set(id, first)
  }
  return finding.found
}

/** One look-up on its way. */
class Finding {
  /** By included post. */
  readonly found = new Map<PostId, PostId>()
  /** The included posts that posts of the index have. */
  readonly indexed = new Set<PostId>()
  readonly #wanted: readonly PostId[]
  readonly #deps: Pick<SearchDeps, "store" | "index" | "pause">

  constructor(ids: readonly PostId[], deps: Pick<SearchDeps, "store" | "index" | "pause">) {
    this.#wanted = ids
    this.#deps = deps
  }

  /** Reads the newest posts of the index that have any of the ids. `isWhole`: they are all, and could be read. */
  async ask(
    ids: readonly PostId[],
    limit: number,
  ): Promise<{ readonly isWhole: boolean; readonly damaged: readonly PostId[] }> {
    const [first, ...others] = ids.map(includedTerm)
    if (first === undefined) return { isWhole: true, damaged: [] }
    const range = { above: idEnds.below, upTo: idEnds.above, direction: "older", limit } as const
    const proposed = await this.#deps.index.find(anyTerm([first, ...others]), range)
    const damaged: PostId[] = []
    let count = 0
    for await (const post of readById(this.#deps.store, proposed, damaged)) {
      for (const id of await this.read(post)) this.indexed.add(id)
      count += 1
    }
    return { isWhole: count === proposed.length && count < limit, damaged }
  }

  /** Notes a post for those of the ids that it includes. */
  async read({ id: postId, json }: StoredPost): Promise<readonly PostId[]> {
    await this.#deps.pause()
    const included = includedPostIds(JSON.parse(json) as RuleEnvelope)
    const wanted = this.#wanted.filter((id) => included.has(id))
    for (const id of wanted) {
      const known = this.found.get(id)
      if (known === undefined || compareIds(postId, known) > 0) this.found.set(id, postId)
    }
    return wanted
  }
}
