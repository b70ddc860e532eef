/** Every recorded record converts, or is ignored for a reason that stands here with its count. */
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { hasSharedData, sharedLines } from "../../../../test/support/shared-data.testing.ts"
import { blueskyConverter } from "./bluesky/bluesky-converter.ts"
import { reasons as ofBluesky } from "./bluesky/reasons.ts"
import { assignedId, convert, nothingKnown } from "./converted.testing.ts"
import type { ConvertedPost, Converter } from "./converter.ts"
import { mastodonConverter } from "./mastodon/mastodon-converter.ts"
import { reasons as ofMastodon } from "./mastodon/reasons.ts"

const bluesky = blueskyConverter({
  takesReposts: true,
  takesProfiles: true,
  looksUpProfiles: true,
  givesMediaUrls: true,
})
const mastodon = mastodonConverter({ host: "oat.example", number: 0, takesReblogs: true, takesUnlisted: true })

const frames = (): readonly string[] =>
  ["jetstream-live-2026-05-25", "jetstream-live-2026-07-04", "jetstream-derived"].flatMap((name) =>
    sharedLines(`data/bluesky/${name}.jsonl`),
  )

/** The recorded statuses, and the events of the recorded stream, as the driver passes them on. */
function events(): readonly string[] {
  const statuses = sharedLines("data/mastodon/statuses.ndjson").map((payload) => ({ event: "update", payload }))
  const stream = sharedLines("data/mastodon/streaming-live-mastodon-4.6.sse.txt").join("\n")
  const sent = [...stream.matchAll(/^event: (.+)\ndata: (.+)$/gm)].map(([, event, payload]) => ({ event, payload }))
  return [...statuses, ...sent].map((one) => JSON.stringify(one))
}

function outcomesOf(converter: Converter, lines: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const line of lines) {
    const converted = convert(converter, line)
    const outcome = converted.kind === "ignored" ? converted.reason : converted.kind
    counts[outcome] = (counts[outcome] ?? 0) + 1
  }
  return counts
}

function postsOf(converter: Converter, lines: readonly string[]): readonly ConvertedPost[] {
  return lines.flatMap((line) => {
    const converted = convert(converter, line)
    return converted.kind === "post" ? [converted] : []
  })
}

describe.skipIf(!hasSharedData)("recorded records", () => {
  test("of Bluesky", () => {
    expect(outcomesOf(bluesky, frames())).toEqual({
      post: 275,
      "post deleted": 1,
      user: 1,
      [ofBluesky.collection]: 122,
      [ofBluesky.noHandle]: 2,
      [ofBluesky.account]: 2,
    })
  })

  test("of Mastodon", () => {
    expect(outcomesOf(mastodon, events())).toEqual({
      post: 423,
      "post deleted": 1,
      [ofMastodon.event]: 5,
      [ofMastodon.visibility]: 1,
    })
  })

  test("of different names have different ids", () => {
    for (const posts of [postsOf(bluesky, frames()), postsOf(mastodon, events())]) {
      const derived = posts.filter(({ id }) => id !== undefined)
      expect(derived.length).toBeGreaterThan(270)
      expect(new Set(derived.map(({ id }) => id)).size).toBe(new Set(derived.map(({ name }) => name)).size)
    }
  })

  test("become the same line in another process", () => {
    const settings = "{ takesReposts: true, takesProfiles: true, looksUpProfiles: true, givesMediaUrls: true }"
    const module = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)
    const program = `
      import { text } from "node:stream/consumers"
      const { blueskyConverter } = await import(${module("bluesky/bluesky-converter.ts")})
      const converter = blueskyConverter(${settings})
      for (const line of (await text(process.stdin)).split("\\n")) {
        const post = converter.begin(line).finish({ postId: () => undefined, user: () => undefined })
        if (post.kind === "post") console.log(post.envelopeWith(post.id))
      }`
    const there = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
      input: frames().join("\n"),
      encoding: "utf8",
      cwd: fileURLToPath(new URL(".", import.meta.url)),
    })
    const here = postsOf(bluesky, frames()).map((post) => post.envelopeWith(post.id ?? assignedId))
    expect(there.trimEnd().split("\n")).toEqual(here)
  })

  test("name nothing twice", () => {
    for (const line of frames()) {
      const { posts, users } = bluesky.begin(line)
      expect(new Set(posts).size).toBe(posts.length)
      expect(new Set(users).size).toBe(users.length)
      expect(bluesky.begin(line).finish(nothingKnown).kind).toBeTypeOf("string")
    }
  })
})
