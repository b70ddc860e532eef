/** Posts on their way from a line to a batch: matched at once where that is possible, else several together. */
import type { Envelope } from "@sluice/api"
import { WalkedPost } from "@sluice/rules/walk"
import type { RuleIndex } from "../matching/rule-index.ts"
import type { AcceptedPost } from "../model/post.ts"
import type { Turn } from "../runtime/turns.ts"
import type { PostBatches, PostPlace } from "./post-batches.ts"
import { readEnvelope } from "./read-envelope.ts"
import { walkEnvelope } from "./walk-envelope.ts"

/** Posts matched at a time where they wait for each other. Ours. */
const matchedPostsMax = 64

/** Dependencies of the matching. */
export interface MatchingDeps {
  readonly rules: Pick<RuleIndex, "match" | "matchNow" | "walked">
  readonly turn: Pick<Turn, "spend">
  readonly batches: Pick<PostBatches, "add">
}

/** A post that was read, with what rules are matched against: it has been walked or parsed. */
export interface ReadPost {
  readonly post: AcceptedPost
  readonly source: WalkedPost | Envelope
}

/** The post of a line; undefined when it has to be parsed. */
export function walkedPost({ walked }: Pick<RuleIndex, "walked">, bytes: Buffer): ReadPost | undefined {
  const post = walked.read(bytes) ? walkEnvelope(walked, bytes) : undefined
  return post && { post, source: walked }
}

/** The post of a line, or why there is none. `nowMs` is the time of arrival. */
export function parsedPost(
  text: string,
  nowMs: number,
): ({ readonly ok: true } & ReadPost) | Extract<ReturnType<typeof readEnvelope>, { readonly ok: false }> {
  const read = readEnvelope(text, nowMs)
  return read.ok ? { ok: true, post: read.post, source: read.envelope } : read
}

/** Passes the posts of one body on to its batches, in order. */
export class PostMatching {
  readonly #deps: MatchingDeps
  /** Posts that are read and not matched, where `matchNow` cannot say what they match. */
  #read: { readonly post: AcceptedPost; readonly envelope: Envelope; readonly place?: PostPlace | undefined }[] = []
  /** Such posts are being matched, or could not be. */
  #isMatching = false

  constructor(deps: MatchingDeps) {
    this.#deps = deps
  }

  /** Posts that are read and not matched. */
  get unmatched(): number {
    return this.#read.length
  }

  /** True when posts are read that are not part of a batch yet. */
  get hasUnmatched(): boolean {
    return this.#read.length > 0 || this.#isMatching
  }

  /** True when so many posts wait that they are to be matched. */
  get isDue(): boolean {
    return this.#read.length >= matchedPostsMax
  }

  /** Matches a post, or keeps it until it can be. */
  take({ post, source }: ReadPost, place?: PostPlace): void {
    const matches = this.#read.length === 0 ? this.#deps.rules.matchNow(source) : undefined
    if (matches !== undefined) this.#deps.batches.add(post, matches, place)
    else {
      const envelope = source instanceof WalkedPost ? (source.envelope as Envelope) : source
      this.#read.push({ post, envelope, place })
    }
  }

  /** Matches the posts that wait. */
  async matchRead(): Promise<void> {
    const read = this.#read
    if (read.length === 0) return
    this.#read = []
    this.#isMatching = true
    const { rules, turn, batches } = this.#deps
    const matches = await rules.match(
      read.map(({ envelope }) => envelope),
      () => turn.spend(),
    )
    for (const [at, { post, place }] of read.entries()) batches.add(post, matches[at] ?? [], place)
    this.#isMatching = false
  }
}
