/** Seeded faults of search over stored posts. */
import type { Mutant } from "../mutant.ts"
import { mutant, server } from "./one-change.ts"

const includingTest = `${server}/search/find-including.test.ts`
const findTest = `${server}/search/find-posts.test.ts`

export const search: readonly Mutant[] = [
  mutant(
    "posts that wait for the index are not found",
    `${server}/search/find-posts.ts#readTail`,
    "if (position === undefined) return tail",
    "if (position === undefined) return new Map()",
    findTest,
  ),
  mutant(
    "an exact search takes posts of too many terms unread",
    `${server}/search/find-posts.ts#Finding.ask`,
    "isExact ? this.#search.queryWithoutCut : this.#search.query",
    "this.#search.query",
    findTest,
  ),
  mutant(
    "the index alone decides although it cut a post's terms",
    `${server}/search/find-posts.ts#isExactWithin`,
    "return cut.length === 0",
    "return cut.length >= 0",
    findTest,
  ),
  mutant(
    "an index that was emptied is believed",
    `${server}/search/find-posts.ts#Finding.ask`,
    "if (wasFilled && (await index.position()) === undefined) return this.scan()",
    "void wasFilled",
    findTest,
  ),
  mutant(
    "posts that are gone cost no budget",
    `${server}/search/find-posts.ts#Finding.#takeAll`,
    "post === undefined ? this.#isSpent()",
    "post === undefined ? false",
    findTest,
  ),
  mutant(
    "a search has no budget of posts",
    `${server}/search/find-posts.ts#Finding.#isSpent`,
    "this.#deps.clock.monotonicMs() >= this.#endsAtMs",
    "false",
    findTest,
  ),
  mutant(
    "counts leave out what waits for the index",
    `${server}/search/count-posts.ts#countInIndex`,
    "if (search.holds(post)) counts",
    "if (search.holds(post) && interval < 0) counts",
    findTest,
  ),
  mutant(
    "a filler that fails makes searches fail",
    `${server}/search/index-filler.ts#IndexFiller.catchUp`,
    ".catch(() => false)",
    "",
    findTest,
  ),
  mutant(
    "a place that only other posts name is not searched",
    "packages/rules/src/search/index-terms.ts#indexTermsOf",
    "places.isOpen && terms[0] !== cutTerm",
    "places.isOpen && terms[0] === cutTerm",
    findTest,
    "packages/rules/src/search/index-terms.test.ts",
  ),
  mutant(
    "keyword searches find reposts",
    `${server}/search/post-search.ts#PostSearch.constructor`,
    "withReposts ? parsed.rule : withoutReposts(parsed.rule)",
    "withReposts ? withoutReposts(parsed.rule) : parsed.rule",
    findTest,
  ),
  mutant(
    "an empty query has no words of its own",
    `${server}/queries/searched-rules.ts`,
    'if (value === "") throw',
    'if (value === " ") throw',
    `${server}/http/routes/search.test.ts`,
  ),
  mutant(
    "ids may stand next to times in searches",
    `${server}/queries/search-window.ts#mixedFaults`,
    "if (!hasBoth) return []",
    "if (!hasBoth || given.length > 0) return []",
    `${server}/http/routes/search.test.ts`,
  ),
  mutant(
    "posts that wait for the index bring none along",
    `${server}/search/find-including.ts#findIncluding`,
    "(await readTail(deps))?.values() ?? []",
    "[]",
    includingTest,
  ),
  mutant(
    "a damaged post hides older ones that bring the same along",
    `${server}/search/find-including.ts#Finding.ask`,
    "count === proposed.length && count < limit",
    "count < limit",
    includingTest,
  ),
  mutant(
    "a post that many bring along hides those that few do",
    `${server}/search/find-including.ts#findIncluding`,
    "if (isWhole) return",
    "if (!isWhole) return",
    includingTest,
  ),
  mutant(
    "a look-up goes on without the posts that bring others along",
    `${server}/queries/posts-by-id.ts#LookUp.#takeSome`,
    "if (carrier !== undefined && !carriers.ids.has(carrier)) break",
    "",
    `${server}/queries/posts-by-id.test.ts`,
  ),
]
