/**
 * Notices a stream that brings deletions and no posts: an instance that has switched a feed off still sends those.
 * Source: mastodon/mastodon, issue 37883.
 */
import type { SourceNotice } from "../source.ts"

/** Time with deletions and without a post after which a stream is taken for one that has none. Ours. */
export const deletionsOnlyMs = 600_000

/** Deletions in that time without which nothing is said: a quiet tag has few. Ours. */
const deletionsMin = 10

/** Counts the events of the streams of one connection. */
export class FeedWatch {
  readonly #streams = new Map<string, { sinceMs: number; deletions: number }>()

  /** Watches streams by name, from now on. */
  constructor(names: readonly string[], nowMs: number) {
    for (const name of names) this.#streams.set(name, { sinceMs: nowMs, deletions: 0 })
  }

  /** An event has come on a stream. */
  count(name: string | undefined, event: string, nowMs: number): void {
    const stream = name === undefined ? undefined : this.#streams.get(name)
    if (stream === undefined) return
    if (event === "delete") {
      stream.deletions += 1
    } else {
      stream.deletions = 0
      stream.sinceMs = nowMs
    }
  }

  /** The notices that hold, by the names of all streams. */
  notices(nowMs: number): ReadonlyMap<string, SourceNotice | undefined> {
    return new Map(
      Array.from(this.#streams, ([name, { sinceMs, deletions }]) => {
        const isEmpty = deletions >= deletionsMin && nowMs - sinceMs >= deletionsOnlyMs
        return [name, isEmpty ? noticeOf(name) : undefined]
      }),
    )
  }
}

function noticeOf(name: string): SourceNotice {
  return {
    message: `The stream ${name} brings deletions and no posts.`,
    advice:
      "The instance may have switched this feed off. Follow hashtags, a list or the account itself (hashtag:TAG, list:ID, user), or another instance.",
  }
}
