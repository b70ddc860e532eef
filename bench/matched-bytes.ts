/**
 * Ingest without HTTP and without the disk: the intake thread's path from the bytes of a body to posts and matches. It
 * is the server's own `PostAcceptor` over its own `RuleIndex`; only the store drops what it receives.
 */
import { Readable } from "node:stream"
import { PostAcceptor } from "../packages/server/src/ingest/accept-posts.ts"
import { Turns } from "../packages/server/src/runtime/turns.ts"
import { RuleIndex } from "../packages/server/src/matching/rule-index.ts"
import { asId, type AppId, type RuleId } from "../packages/server/src/model/ids.ts"
import type { StoredPost } from "../packages/server/src/model/post.ts"
import { systemClock } from "../packages/server/src/runtime/clock.ts"

/** Takes bytes of posts and returns matches. */
export class MatchedBytes {
  readonly #acceptor: PostAcceptor
  readonly #rules: RuleIndex
  #posts = 0

  private constructor(rules: RuleIndex) {
    this.#rules = rules
    this.#acceptor = new PostAcceptor(
      {
        rules,
        ruleMatchCounts: { note: () => undefined },
        clock: systemClock,
        postBytesMax: 262_144,
        turn: new Turns(systemClock).open(),
        store: { append: async (batch) => batch.map(() => true), delete: async () => [] },
      },
      {
        appending: () => undefined,
        appended: ({ accepted }) => {
          this.#posts += accepted
        },
        failed: (error) => {
          throw error
        },
      },
    )
  }

  /** Loads an index of these rules, all of one app, that learns word frequencies from these stored posts. */
  static async load(ruleTexts: readonly string[], stored: readonly StoredPost[] = []): Promise<MatchedBytes> {
    const appId = asId<AppId>("1")
    const rules = ruleTexts.map((value, index) => ({ id: asId<RuleId>(String(index + 1)), appId, value }))
    return new MatchedBytes(
      await RuleIndex.load({
        allRules: async () => ({ rules: Readable.from(rules), seq: 0 }),
        ruleChanges: async () => [],
        async *recentPosts({ limit }) {
          yield* stored.slice(0, limit)
        },
      }),
    )
  }

  /** Comparisons of posts with rules so far. */
  get candidates(): number {
    return this.#rules.candidates
  }

  /** Reads and matches the posts of this NDJSON, whole lines, and returns their number. */
  async take(bytes: Buffer): Promise<number> {
    const before = this.#posts
    await this.#acceptor.write(bytes)
    await this.#acceptor.stop()
    return this.#posts - before
  }
}
