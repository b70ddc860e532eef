/**
 * Frames of Bluesky's Jetstream to measure with: recorded posts, again and again under names of their own, and recorded
 * events that are no posts. They are part of the shared data, as the real posts are.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { blueskyConverter } from "../packages/server/src/conversion/bluesky/bluesky-converter.ts"
import type { KnownNames } from "../packages/server/src/conversion/converter.ts"
import { tidAt } from "../packages/server/src/sources/bluesky/jetstream-host.testing.ts"
import { sharedDirectory } from "./envelopes.ts"

interface Frame {
  readonly time_us: number
  readonly commit?: Readonly<Record<string, unknown>> & { readonly record?: { readonly text?: string } }
}

const files = ["jetstream-live-2026-05-25", "jetstream-live-2026-07-04"]

const nothingKnown: KnownNames = { postId: () => undefined, user: () => undefined }

/** The recorded frames, in turn. */
export class BlueskyFrames {
  readonly #posts: Frame[] = []
  readonly #others: Frame[] = []
  #postsTaken = 0
  #othersTaken = 0

  constructor() {
    for (const name of files) {
      const lines = readFileSync(join(sharedDirectory, `data/bluesky/${name}.jsonl`), "utf8").trimEnd()
      for (const line of lines.split("\n")) {
        const frame = JSON.parse(line) as Frame
        const { operation, collection } = frame.commit ?? {}
        const isPost = collection === "app.bsky.feed.post" && operation === "create"
        // Events of accounts would delete posts.
        if (isPost) this.#posts.push(frame)
        else if (frame.commit !== undefined && operation === "create") this.#others.push(frame)
      }
    }
  }

  /** A post that is written at a time, Unix ms, which no other post has. `more` follows its text. */
  post(atMs: number, more = ""): string {
    const { commit, ...frame } = next(this.#posts, this.#postsTaken++)
    const tid = tidAt(atMs)
    const record = { ...commit?.record, text: `${commit?.record?.text ?? ""}${more}` }
    return JSON.stringify({ ...frame, time_us: atMs * 1_000, commit: { ...commit, rkey: tid, rev: tid, record } })
  }

  /** An event of a time, Unix ms, that is no post: a like, a repost or a follow. */
  other(atMs: number): string {
    return JSON.stringify({ ...next(this.#others, this.#othersTaken++), time_us: atMs * 1_000 })
  }
}

function next(frames: readonly Frame[], taken: number): Frame {
  const frame = frames[taken % frames.length]
  if (frame === undefined) throw new Error("nothing was recorded")
  return frame
}

const converter = blueskyConverter({
  takesReposts: false,
  takesProfiles: false,
  looksUpProfiles: false,
  givesMediaUrls: true,
})

/** The envelope that a source makes of a frame of a post, as a line. */
export function envelopeOfFrame(frame: string): string {
  const converted = converter.begin(frame).finish(nothingKnown)
  if (converted.kind !== "post" || converted.id === undefined) throw new Error(`no post: ${frame}`)
  return `${converted.envelopeWith(converted.id)}\n`
}
