/**
 * The first posts after a restart: the number of rules that each is compared with, where the words of the newest stored
 * posts decide how rules are filed, and where estimates decide.
 */
import { asId, type PostId } from "../packages/server/src/model/ids.ts"
import type { Envelopes } from "./envelopes.ts"
import { figure, type Figure } from "./figure.ts"
import { MatchedBytes } from "./matched-bytes.ts"

const [storedCount, firstCount] = [5_000, 1_000]

/**
 * Measures the first posts with these rules. `indexes` number the posts in an order in which each stretch is like the
 * whole.
 */
export async function measureFirstPosts(
  envelopes: Envelopes,
  indexes: readonly number[],
  rules: { readonly name: string; readonly texts: readonly string[] },
  print: (figure: Figure) => void,
): Promise<void> {
  const stored = indexes
    .slice(0, storedCount)
    .map((index) => ({ id: asId<PostId>(String(index)), json: envelopes.text(index) }))
  const lines = envelopes.lines(indexes.slice(storedCount, storedCount + firstCount))
  const candidatesAfter = async (posts: typeof stored): Promise<number> => {
    const ingest = await MatchedBytes.load(rules.texts, posts)
    await ingest.take(lines)
    return ingest.candidates / firstCount
  }
  print(
    figure({
      name: `match-first-posts-${rules.name}`,
      value: await candidatesAfter(stored),
      unit: "rules/post",
      limit: await candidatesAfter([]),
      limitIs: "a start without stored posts; measured: RuleIndex.load and RuleIndex.matchNow",
    }),
  )
}
