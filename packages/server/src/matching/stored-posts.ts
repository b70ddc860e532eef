/**
 * An index learns from the newest stored posts when it is made:
 *
 * - what they say about places and links: a repost matches by the place of its original over a restart too;
 * - how often the terms of its rules occur, so that rules are filed under terms that are rare, as they were before the
 *   restart.
 */
import { readPost, type EarlierPosts, type RuleMatcher } from "@sluice/rules"
import type { WalkedPost } from "@sluice/rules/walk"
import type { StoredPost } from "../model/post.ts"
import type { Clock } from "../runtime/clock.ts"

/** The source of earlier posts: the part of a store that is needed for this. */
export interface PostSource {
  recentPosts(range: { readonly limit: number; readonly bytesMax: number }): AsyncIterable<StoredPost>
}

/**
 * Newest posts that are read, and most bytes of them. Ours: they cost 0.1 to 0.3 s of a start. Large posts are read until
 * they come to these bytes; what older ones said is then unknown.
 */
const newestPosts = { limit: 5_000, bytesMax: 33_554_432 }

/**
 * Rules for which one post is counted: few rules gain little by it. Measured: so it adds 5 % to the processor time of a
 * start with 100,000 rules, and saves 16 % of their candidates; all 5,000 posts add 18 % and save 21 %.
 */
const rulesPerPost = 50

/** Longest time for counting posts, with reading them. Ours: 5,000 real posts take 0.4 s. */
const countingMsMax = 1_000

/** Learners from the posts. */
interface Learners {
  /** Its rules must be added and not yet filed. */
  readonly matcher: Pick<RuleMatcher, "size" | "count" | "countWalked">
  readonly earlier: EarlierPosts
  readonly walked: WalkedPost
  readonly clock: Pick<Clock, "monotonicMs">
}

/** Reads the newest posts of the source: the matcher counts their terms, and the earlier posts learn from them. */
export async function readStoredPosts(
  source: PostSource,
  { matcher, earlier, walked, clock }: Learners,
): Promise<void> {
  const countUntilMs = clock.monotonicMs() + countingMsMax
  let toCount = Math.ceil(matcher.size / rulesPerPost)
  const relevant: StoredPost[] = []
  for await (const post of source.recentPosts(newestPosts)) {
    if (mentionsPlaceOrLink(post)) relevant.push(post)
    if (toCount > 0 && clock.monotonicMs() < countUntilMs) {
      toCount -= 1
      if (walked.read(Buffer.from(post.json))) matcher.countWalked(walked)
      else matcher.count(readPost(JSON.parse(post.json), { earlier }))
    }
  }
  // Oldest first, so that the newest are remembered longest.
  for (let post = relevant.pop(); post !== undefined; post = relevant.pop()) earlier.learn(JSON.parse(post.json))
}

/** True when a post may say something about places or links. Most do not, and searching is faster than parsing. */
function mentionsPlaceOrLink({ json }: StoredPost): boolean {
  return json.includes('"places"') || json.includes('"unwound_url"')
}
