/** For each operator: it matches a converted post, or the table says that it never does. */
import { describe, expect, test } from "vitest"
import type { Envelope } from "@sluice/api"
import { evaluate, operatorGuides, parseRule, readPost } from "@sluice/rules"
import { blueskyConverter } from "./bluesky/bluesky-converter.ts"
import { commit, facet, features, postFrame, postName, tern, wren } from "./bluesky/bluesky-frames.testing.ts"
import { envelopeOf, knowing } from "./converted.testing.ts"
import { derivedId, foreignUserId } from "./foreign-ids.ts"
import { mastodonConverter } from "./mastodon/mastodon-converter.ts"
import { status, statusName, tern as ternAccount, update } from "./mastodon/mastodon-events.testing.ts"
import { neverMatching, type MatchedSource } from "./never-matching.ts"

const idOf = (name: string): string => derivedId(name, new Map([["oat.example", 0]])) ?? ""

/** A word of every post below: most operators need one next to them. */
const anchor = "cat"

/** Posts of Bluesky that have all that posts of Bluesky can have. */
function blueskyPosts(
  takesReposts: boolean,
  { takesProfiles = false, looksUpProfiles = false }: { takesProfiles?: boolean; looksUpProfiles?: boolean } = {},
): readonly Envelope[] {
  const converter = blueskyConverter({ takesReposts, takesProfiles, looksUpProfiles, givesMediaUrls: true })
  const counts = { followersCount: 1, followsCount: 1, postsCount: 1 }
  const view = { did: wren, handle: "wren.example", displayName: "Wren", description: "A bird", ...counts }
  const found = converter.begin(JSON.stringify({ did: wren, kind: "profile", profile: view })).finish(knowing({}))
  const { description } = view
  const user =
    found.kind === "user"
      ? found.user
      : { username: "wren.example", name: "Wren", ...(takesProfiles && { description }) }
  const known = knowing({
    users: { [foreignUserId(wren)]: user, [foreignUserId(tern)]: { username: "tern.example", name: "Tern" } },
  })
  const text = "A cat #cats @tern.example $OAT example.com"
  const image = { ref: { $link: "bafkreihz5vanvgc3qv" } }
  const media = { $type: "app.bsky.embed.images", images: [{ image, alt: "" }] }
  const quoted = { $type: "app.bsky.embed.recordWithMedia", record: { record: { uri: postName(tern) } }, media }
  const parent = { uri: postName(tern) }
  const external = { uri: "https://example.com/", title: "Cats", description: "All of them" }
  const facets = [
    facet(text, "#cats", { $type: features.tag, tag: "cats" }),
    facet(text, "@tern.example", { $type: features.mention, did: tern }),
    facet(text, "example.com", { $type: features.link, uri: "https://example.com/" }),
  ]
  const posts = [
    postFrame({ text, facets, langs: ["en"], embed: quoted, reply: { parent, root: parent } }),
    postFrame({ text, facets, embed: { $type: "app.bsky.embed.external", external } }),
    postFrame({ text, embed: { $type: "app.bsky.embed.video", video: image } }),
  ]
  const repost = commit({ collection: "app.bsky.feed.repost", record: { subject: parent } })
  const stored = { data: { id: idOf(parent.uri), text: "A cat", author_id: foreignUserId(tern), entities: {} } }
  const reposts = takesReposts ? [envelopeOf(converter, repost, { ...known, envelope: () => stored })] : []
  return [...posts.map((frame) => envelopeOf(converter, frame, known)), ...reposts]
}

/** Posts of Mastodon that have all that posts of Mastodon can have. */
function mastodonPosts(takesReblogs: boolean): readonly Envelope[] {
  const converter = mastodonConverter({ host: "oat.example", number: 0, takesReblogs, takesUnlisted: false })
  const mentions = [{ id: "12", acct: "tern", url: "https://oat.example/@tern" }]
  const account = { ...ternAccount, acct: "tern" }
  const content =
    'A cat <a href="https://oat.example/@tern" class="mention">@tern</a> $OAT ' +
    '<a href="https://oat.example/tags/cats" class="mention hashtag">#cats</a> <a href="https://example.com/">example.com</a>'
  const full = {
    content,
    mentions,
    card: { url: "https://example.com/", title: "Cats", description: "All of them" },
    media_attachments: ["image", "video"].map((type) => ({ id: type, type })),
    application: { name: "Tusky" },
    in_reply_to_id: "117024236559579118",
    in_reply_to_account_id: "12",
    quote: { state: "accepted", quoted_status_id: "117024236559579118" },
  }
  const reblog = takesReblogs ? [envelopeOf(converter, update({ reblog: status({ account }) }))] : []
  return [envelopeOf(converter, update(full)), ...reblog]
}

/** Values with which operators match one of the posts. */
function valuesOf(kind: MatchedSource["kind"]): Readonly<Record<string, string>> {
  const isBluesky = kind === "bluesky"
  const parent = isBluesky ? idOf(postName(tern)) : idOf("https://oat.example/statuses/117024236559579118")
  return {
    from: isBluesky ? "wren.example" : "wren@oat.example",
    to: isBluesky ? "tern.example" : "tern@oat.example",
    retweets_of: isBluesky ? "tern.example" : "tern@oat.example",
    lang: "en",
    url: "example.com",
    url_contains: '"example.com"',
    url_title: "cats",
    url_description: "them",
    bio: "bird",
    bio_name: "wren",
    source: '"Tusky"',
    conversation_id: parent,
    in_reply_to_tweet_id: parent,
    quotes_of_tweet_id: parent,
    retweets_of_tweet_id: isBluesky ? parent : idOf(statusName),
    sample: "100",
    followers_count: "1",
    following_count: "1",
    tweets_count: "1",
    min_followers: "1",
    min_likes: "1",
    min_replies: "1",
    min_reposts: "1",
  }
}

/** The rules that must match or never do: one for each operator, and for each value of `is:` and `has:`. */
function clauses(
  kind: MatchedSource["kind"],
): readonly { readonly operator: string; readonly value?: string; readonly text: string }[] {
  const values = valuesOf(kind)
  return operatorGuides.flatMap(({ name, example, values: fixed, needsEmbeddings }) => {
    if (needsEmbeddings) return []
    // A rule can only negate `is:nullcast`.
    const positive = fixed?.filter((value) => value !== "nullcast")
    if (positive !== undefined) return positive.map((value) => ({ operator: name, value, text: `${name}:${value}` }))
    const value = values[name]
    return [{ operator: name, text: value === undefined ? example : `${name}:${value}` }]
  })
}

function matches(text: string, posts: readonly Envelope[]): boolean {
  return (["stream", "search"] as const).some((mode) => {
    const parsed = parseRule(`${anchor} ${text}`, { mode })
    expect(parsed).toMatchObject({ ok: true })
    return parsed.ok && posts.some((post) => evaluate(parsed.rule, readPost(post, { mode })))
  })
}

const sources: readonly [MatchedSource, readonly Envelope[]][] = [
  ...[false, true].flatMap((takesReposts) =>
    [
      { takesProfiles: false, looksUpProfiles: false },
      { takesProfiles: true, looksUpProfiles: false },
      { takesProfiles: false, looksUpProfiles: true },
    ].map((profiles): [MatchedSource, readonly Envelope[]] => [
      { kind: "bluesky", takesReposts, ...profiles },
      blueskyPosts(takesReposts, profiles),
    ]),
  ),
  ...[false, true].map((takesReblogs): [MatchedSource, readonly Envelope[]] => [
    { kind: "mastodon", takesReblogs },
    mastodonPosts(takesReblogs),
  ]),
]

describe.each(sources)("%j", (source, posts) => {
  const never = neverMatching(source)
  const isNever = (operator: string, value?: string): boolean =>
    never.some((one) => one.operator === operator && one.value === value)

  test.each(clauses(source.kind))("$text", ({ operator, value, text }) => {
    expect(matches(text, posts)).toBe(!isNever(operator, value))
  })

  test("the table names operators and values that exist, each once, with a sentence", () => {
    for (const { operator, value, reason } of never) {
      const guide = operatorGuides.find(({ name }) => name === operator)
      expect(guide).toBeDefined()
      if (value !== undefined) expect(guide?.values).toContain(value)
      expect(reason).toMatch(/^[A-Z].+\.$/)
    }
    expect(new Set(never.map(({ operator, value }) => `${operator}:${value}`)).size).toBe(never.length)
  })
})

test("words and marks match", () => {
  for (const [text, posts] of [
    ["#cats @tern.example $OAT -is:nullcast", blueskyPosts(false)],
    ["#cats @tern@oat.example $OAT -is:nullcast", mastodonPosts(false)],
  ] as const) {
    expect(matches(text, posts)).toBe(true)
  }
})
