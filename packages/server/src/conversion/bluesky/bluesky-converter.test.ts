import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Envelope } from "@sluice/api"
import { convert, envelopeOf, expectSound, knowing, nothingKnown, assignedId } from "../converted.testing.ts"
import { atNameOf, atPostId, foreignUserId } from "../foreign-ids.ts"
import { blueskyConverter } from "./bluesky-converter.ts"
import {
  commit,
  facet,
  features,
  key,
  postFrame,
  postName,
  rev,
  tern,
  wrapped,
  wren,
} from "./bluesky-frames.testing.ts"
import { noticeOf } from "./frame.ts"
import { reasons } from "./reasons.ts"

const converter = blueskyConverter({
  takesReposts: true,
  takesProfiles: true,
  looksUpProfiles: true,
  givesMediaUrls: true,
})
const plain = blueskyConverter({
  takesReposts: false,
  takesProfiles: false,
  looksUpProfiles: false,
  givesMediaUrls: false,
})

const idOf = (name: string): string => atPostId(atNameOf(name) as never) ?? ""
const wrenId = foreignUserId(wren)
const ternId = foreignUserId(tern)
const known = knowing({
  users: { [wrenId]: { username: "wren.example", name: "Wren" }, [ternId]: { username: "tern.example", name: "Tern" } },
})

describe("a post", () => {
  test("has its members in X's shape", () => {
    const parent = postName(tern, "3mptbyqhi7s2f")
    const root = postName("did:plc:o2rolxey6s5k7d4lxcz3inl4", "3mptbyp7lu223")
    const record = { text: "A cat", langs: ["he-IL", "en"], reply: { parent: { uri: parent }, root: { uri: root } } }
    expect(envelopeOf(converter, postFrame(record), known)).toEqual({
      data: {
        id: "2073416062820307669",
        text: "A cat",
        author_id: wrenId,
        created_at: "2026-07-04T14:38:06.240Z",
        edit_history_tweet_ids: ["2073416062820307669"],
        conversation_id: idOf(root),
        in_reply_to_user_id: ternId,
        referenced_tweets: [{ type: "replied_to", id: idOf(parent) }],
        lang: "iw",
        possibly_sensitive: false,
        entities: {},
        source_uri: postName(),
      },
      includes: {
        users: [
          { id: wrenId, username: "wren.example", name: "Wren" },
          { id: ternId, username: "tern.example", name: "Tern" },
        ],
      },
    })
  })

  test("by an author without a known handle has the DID as username", () => {
    const { includes } = envelopeOf(converter, postFrame({ text: "A cat" }))
    expect(includes?.users).toEqual([{ id: wrenId, username: wren, name: wren }])
  })

  test("tells the names and users that it mentions before anything is known", () => {
    const text = "@tern.example look"
    const quoted = postName(tern, "3mptbyqhi7s2f")
    const record = {
      text,
      embed: { $type: "app.bsky.embed.record", record: { uri: quoted } },
      facets: [facet(text, "@tern.example", { $type: features.mention, did: tern })],
    }
    const conversion = converter.begin(JSON.stringify(postFrame(record)))
    expect(conversion).toMatchObject({ posts: [postName(), quoted], users: [wrenId, ternId] })
    expect(conversion).toMatchObject({ position: "1783300000000001", atMs: 1_783_300_000_000 })
  })

  test("takes the ids that are known in place of derived ones", () => {
    const quoted = postName(tern, "self")
    const record = {
      text: "see",
      embed: { $type: "app.bsky.embed.record", record: { uri: quoted } },
      reply: { parent: { uri: postName(tern) }, root: { uri: postName(tern) } },
    }
    const { data } = envelopeOf(
      converter,
      postFrame(record),
      knowing({ posts: { [quoted]: "7", [postName(tern)]: "8" } }),
    )
    expect(data.referenced_tweets).toEqual([
      { type: "replied_to", id: "8" },
      { type: "quoted", id: "7" },
    ])
    expect(data["conversation_id"]).toBe("8")
  })

  test("leaves out a reference whose id is unknown", () => {
    const embed = { $type: "app.bsky.embed.record", record: { uri: postName(tern, "self") } }
    expect(envelopeOf(converter, postFrame({ text: "see", embed })).data.referenced_tweets).toBeUndefined()
  })

  test("with a key that is no TID gets an id at arrival, and its time", () => {
    const frame = commit({ rkey: "self", record: { text: "A cat" } })
    expect(convert(converter, frame)).toMatchObject({ kind: "post", id: undefined, isOld: false })
    expect(envelopeOf(converter, frame).data).toMatchObject({ id: assignedId, created_at: "2026-08-19T08:56:44.979Z" })
  })

  test("is sensitive by the label of its author", () => {
    const labels = { $type: "com.atproto.label.defs#selfLabels", values: [{ val: "spoiler" }, { val: "nudity" }] }
    expect(envelopeOf(converter, postFrame({ labels })).data["possibly_sensitive"]).toBe(true)
  })
})

describe("entities", () => {
  test("stand at code points, and facets at bytes", () => {
    const text = "🐈 für #Cats, @tern.example: example.com $OAT"
    const facets = [
      facet(text, "#Cats", { $type: features.tag, tag: "cats" }),
      facet(text, "@tern.example", { $type: features.mention, did: tern }),
      facet(text, "example.com", { $type: features.link, uri: "https://example.com/" }),
    ]
    expect(envelopeOf(converter, postFrame({ text, facets })).data.entities).toEqual({
      hashtags: [{ start: 6, end: 11, tag: "Cats" }],
      mentions: [{ start: 13, end: 26, username: "tern.example", id: ternId }],
      urls: [
        {
          start: 28,
          end: 39,
          url: "https://example.com/",
          expanded_url: "https://example.com/",
          display_url: "example.com",
        },
      ],
      cashtags: [{ start: 40, end: 44, tag: "OAT" }],
    })
  })

  test("of the tags of a record stand at the end of the text", () => {
    const entities = envelopeOf(converter, postFrame({ text: "für", tags: ["cats", "#oats", "cats", 1, ""] })).data
      .entities
    expect(entities).toEqual({
      hashtags: [
        { start: 3, end: 3, tag: "cats" },
        { start: 3, end: 3, tag: "oats" },
      ],
    })
  })

  test("a hashtag that the text does not show stands at its end", () => {
    const text = "my cats"
    const facets = [facet(text, "cats", { $type: features.tag, tag: "cats" })]
    expect(envelopeOf(converter, postFrame({ text, facets })).data.entities).toEqual({
      hashtags: [{ start: 7, end: 7, tag: "cats" }],
    })
  })

  test("a mention without a handle in the text has that of the user", () => {
    const text = "my friend"
    const facets = [facet(text, "friend", { $type: features.mention, did: tern })]
    const frame = postFrame({ text, facets })
    const mentionOf = (one: typeof known): unknown => envelopeOf(converter, frame, one).data.entities["mentions"]?.[0]
    expect(mentionOf(known)).toEqual({ start: 3, end: 9, username: "tern.example", id: ternId })
    expect(mentionOf(nothingKnown)).toEqual({ start: 3, end: 9, username: tern, id: ternId })
  })

  const text = "für #cats"
  const tag = { $type: features.tag, tag: "cats" }
  const whole = { index: { byteStart: 5, byteEnd: 10 }, features: [tag] }
  const entity = { start: 4, end: 9, tag: "cats" }

  test.each([
    ["begins within a character", { ...whole, index: { byteStart: 2, byteEnd: 10 } }],
    ["ends within a character", { ...whole, index: { byteStart: 0, byteEnd: 2 } }],
    ["ends beyond the text", { ...whole, index: { byteStart: 5, byteEnd: 11 } }],
    ["begins before the text", { ...whole, index: { byteStart: -1, byteEnd: 10 } }],
    ["is empty", { ...whole, index: { byteStart: 5, byteEnd: 5 } }],
    ["ends before it begins", { ...whole, index: { byteStart: 10, byteEnd: 5 } }],
    ["has offsets between bytes", { ...whole, index: { byteStart: 5.5, byteEnd: 10 } }],
    ["has no offsets", { ...whole, index: {} }],
    ["has no index", { features: [tag] }],
    ["has an index of another type", { ...whole, index: 5 }],
    ["has no features", { index: whole.index }],
    ["has features of another type", { ...whole, features: "tag" }],
    ["has an unknown feature", { ...whole, features: [{ $type: "example.facet#bold" }] }],
    ["has a feature without a type", { ...whole, features: [{ tag: "cats" }] }],
    ["has a tag of another type", { ...whole, features: [{ $type: features.tag, tag: 1 }] }],
    ["has an empty tag", { ...whole, features: [{ $type: features.tag, tag: "#" }] }],
    ["has a link of another type", { ...whole, features: [{ $type: features.link, uri: {} }] }],
    ["mentions what is no DID", { ...whole, features: [{ $type: features.mention, did: "wren.example" }] }],
    ["is null", null],
    ["is a number", 7],
  ])("a facet that %s is dropped, and the next one kept", (_what, bad) => {
    expect(envelopeOf(converter, postFrame({ text, facets: [bad, whole] })).data.entities).toEqual({
      hashtags: [entity],
    })
  })

  test("of two that overlap, the one that begins first is kept", () => {
    const over = { index: { byteStart: 0, byteEnd: 6 }, features: [{ $type: features.link, uri: "https://a.example" }] }
    const { entities } = envelopeOf(converter, postFrame({ text, facets: [whole, over] })).data
    expect(entities).toEqual({ urls: [expect.objectContaining({ start: 0, end: 5 })] })
  })

  test("a facet with several features counts by the first that is known", () => {
    const facets = [
      { ...whole, features: [{ $type: "example.facet#bold" }, tag, { $type: features.mention, did: tern }] },
    ]
    expect(envelopeOf(converter, postFrame({ text, facets })).data.entities).toEqual({ hashtags: [entity] })
  })

  test("an amount in a link is no cashtag", () => {
    const linked = "see $OAT"
    const facets = [facet(linked, "$OAT", { $type: features.link, uri: "https://example.com" })]
    expect(envelopeOf(converter, postFrame({ text: linked, facets })).data.entities["cashtags"]).toBeUndefined()
  })
})

describe("embeds", () => {
  const cid = "bafkreihz5vanvgc3qvrmargl425ark5w7qwalzh3ij2c64uiyobtpkyw54"
  const image = { $type: "blob", ref: { $link: cid }, mimeType: "image/jpeg", size: 1 }
  const photo = {
    media_key: expect.stringMatching(/^3_\d{19}$/),
    type: "photo",
    url: `https://cdn.bsky.app/img/feed_fullsize/plain/${wren}/${cid}`,
    width: 4,
    height: 3,
    alt_text: "A cat",
  }
  const item = { image, alt: "A cat", aspectRatio: { width: 4, height: 3 } }
  const images = { $type: "app.bsky.embed.images", images: [item] }

  test.each([
    ["images", images],
    ["a gallery", { $type: "app.bsky.embed.gallery", items: [item] }],
    ["images next to a quotation", { $type: "app.bsky.embed.recordWithMedia", record: {}, media: images }],
    ["one image twice", { ...images, images: [item, item] }],
    ["an image among others that cannot be read", { ...images, images: [1, {}, { image: { ref: 1 } }, item] }],
  ])("%s are photos", (_what, embed) => {
    const { data, includes } = envelopeOf(converter, postFrame({ embed }))
    expect(includes?.media).toEqual([photo])
    expect(data["attachments"]).toEqual({ media_keys: [includes?.media?.[0]?.["media_key"]] })
  })

  test("a blob of the old form is one too, and has no address unless the setting is on", () => {
    const embed = { ...images, images: [{ image: { cid, mimeType: "image/jpeg" } }] }
    const { includes } = envelopeOf(plain, postFrame({ embed }))
    expect(includes?.media).toEqual([{ media_key: expect.stringMatching(/^3_/), type: "photo" }])
  })

  test("a video has a preview and a playlist", () => {
    const embed = { $type: "app.bsky.embed.video", video: image, alt: "A cat", aspectRatio: { width: 4, height: 3 } }
    const base = `https://video.bsky.app/watch/${encodeURIComponent(wren)}/${cid}`
    expect(envelopeOf(converter, postFrame({ embed })).includes?.media).toEqual([
      {
        media_key: expect.stringMatching(/^13_\d{19}$/),
        type: "video",
        preview_image_url: `${base}/thumbnail.jpg`,
        variants: [{ content_type: "application/x-mpegURL", url: `${base}/playlist.m3u8` }],
        width: 4,
        height: 3,
        alt_text: "A cat",
      },
    ])
  })

  test.each([
    ["app.bsky.feed.generator/cats", `https://bsky.app/profile/${tern}/feed/cats`],
    ["app.bsky.graph.list/3abc", `https://bsky.app/profile/${tern}/lists/3abc`],
    ["app.bsky.graph.starterpack/3abc", `https://bsky.app/starter-pack/${tern}/3abc`],
    ["app.bsky.labeler.service/self", `https://bsky.app/profile/${tern}`],
  ])("a record of %s is a link", (record, url) => {
    const embed = { $type: "app.bsky.embed.record", record: { uri: `at://${tern}/${record}` } }
    const { data } = envelopeOf(converter, postFrame({ text: "see", embed }))
    expect(data.entities["urls"]).toEqual([expect.objectContaining({ start: 3, end: 3, url, expanded_url: url })])
    expect(data.referenced_tweets).toBeUndefined()
  })

  test("a page is a link at the end, or describes the link of the text", () => {
    const external = { uri: "https://www.example.com/cats", title: "Cats", description: "All of them" }
    const embed = { $type: "app.bsky.embed.external", external }
    const page = { unwound_url: external.uri, title: "Cats", description: "All of them" }
    const link = { url: external.uri, expanded_url: external.uri }
    expect(envelopeOf(converter, postFrame({ text: "see", embed })).data.entities["urls"]).toEqual([
      { start: 3, end: 3, ...link, display_url: "example.com/cats", ...page },
    ])
    const text = "see this"
    const facets = [facet(text, "this", { $type: features.link, uri: external.uri })]
    expect(envelopeOf(converter, postFrame({ text, facets, embed })).data.entities["urls"]).toEqual([
      { start: 4, end: 8, ...link, display_url: "this", ...page },
    ])
  })

  test("a quoted post with media gives both", () => {
    const record = { record: { uri: postName(tern) } }
    const embed = { $type: "app.bsky.embed.recordWithMedia", record, media: images }
    const { data, includes } = envelopeOf(converter, postFrame({ embed }))
    expect(data.referenced_tweets).toEqual([{ type: "quoted", id: idOf(postName(tern)) }])
    expect(includes?.media).toEqual([photo])
  })

  test.each([1, "images", [], {}, { $type: "example.embed" }, { $type: "app.bsky.embed.images", images: 1 }])(
    "%j embeds nothing",
    (embed) => {
      const { data, includes } = envelopeOf(converter, postFrame({ text: "A cat", embed }))
      expect(data.entities).toEqual({})
      expect(includes).toEqual({ users: [expect.anything()] })
    },
  )
})

describe("versions", () => {
  test("an update is a later version, with the time of its commit and the ids of both", () => {
    const name = `${postName()}#${rev}`
    const frame = commit({ operation: "update", record: { text: "A cat, edited" } })
    expect(convert(converter, frame)).toMatchObject({ kind: "post", name, id: idOf(name), isOld: false })
    const { data } = envelopeOf(converter, frame)
    expect(data.edit_history_tweet_ids).toEqual([idOf(postName()), idOf(name)])
    expect(data).toMatchObject({ source_uri: name, conversation_id: idOf(postName()) })
    expect(converter.begin(JSON.stringify(frame)).posts).toEqual([name, postName()])
  })

  test("an update whose id does not follow from its name tells the first one's name", () => {
    const frame = commit({ operation: "update", rkey: "x", record: { text: "A cat, edited" } })
    const firstName = postName().replace(/[^/]+$/, "x")
    expect(convert(converter, frame)).toMatchObject({ name: `${firstName}#${rev}`, firstName, id: undefined })
  })

  test("a delete names the post, whose id is known or derived", () => {
    const frame = commit({ operation: "delete", record: undefined })
    const deleted = { kind: "post deleted", name: postName() }
    expect(convert(converter, frame)).toEqual({ ...deleted, id: idOf(postName()) })
    expect(convert(converter, frame, knowing({ posts: { [postName()]: "7" } }))).toEqual({ ...deleted, id: "7" })
  })

  test.each([
    ["five minutes before", 300_000, "post"],
    ["longer before", 301_000, "rejected"],
  ])("a commit %s the time in the key", (_what, aheadMs, kind) => {
    const record = { text: "A cat" }
    const from = commit({ rkey: tid(1_783_300_000_000 + aheadMs), rev: tid(1_783_300_000_000), record })
    expect(convert(converter, from)).toMatchObject({ kind })
  })

  test.each([
    ["a day", 24 * 3_600_000, false],
    ["more than a day", 24 * 3_600_000 + 1, true],
  ])("a post from %s before its commit", (_what, ageMs, isOld) => {
    const from = commit({
      rkey: tid(1_783_300_000_000 - ageMs),
      rev: tid(1_783_300_000_000),
      record: { text: "A cat" },
    })
    expect(convert(converter, from)).toMatchObject({ kind: "post", isOld })
  })
})

/** A TID of this time in ms. */
function tid(ms: number): string {
  let number = BigInt(ms) * 1_000n * 1_024n
  let text = ""
  for (let digit = 0; digit < 13; digit++, number /= 32n) {
    text = `${"234567abcdefghijklmnopqrstuvwxyz"[Number(number % 32n)]}${text}`
  }
  return text
}

describe("reposts", () => {
  const subject = postName(tern, "3mptbyqhi7s2f")
  const frame = commit({ collection: "app.bsky.feed.repost", record: { subject: { uri: subject, cid: "x" } } })
  const name = postName().replace("feed.post", "feed.repost")

  test("are taken when the setting is on", () => {
    expect(convert(plain, frame)).toEqual({ kind: "ignored", reason: reasons.repost })
    expect(convert(converter, frame)).toMatchObject({ kind: "post", name, id: idOf(name) })
  })

  test("include the original when it is stored", () => {
    const text = "A cat ".repeat(40).trim()
    const data = { id: idOf(subject), text, author_id: ternId, lang: "en", entities: {} }
    const media = [{ media_key: "3_1", type: "photo" }]
    const users = [{ id: ternId, username: "tern.example", name: "Tern" }]
    const stored = { data, includes: { users, media } } as Envelope
    const found = envelopeOf(converter, frame, knowing({ envelopes: { [subject]: stored } }))
    expect(found.includes).toEqual({
      users: [{ id: wrenId, username: wren, name: wren }, ...users],
      tweets: [data],
      media,
    })
    expect(found.data).toMatchObject({ referenced_tweets: [{ type: "retweeted", id: idOf(subject) }], lang: "en" })
    expect(found.data.text).toBe(`${`RT @tern.example: ${text}`.slice(0, 139)}…`)
    expect(found.data.entities).toEqual({ mentions: [{ start: 3, end: 16, username: "tern.example", id: ternId }] })
    expect(converter.begin(JSON.stringify(frame)).originals).toEqual([subject])
  })

  test("name the author alone when the original is not stored", () => {
    const { data } = envelopeOf(converter, frame, known)
    expect(data.text).toBe("RT @tern.example:")
  })

  test("of a post whose id nobody knows are ignored", () => {
    const of = commit({ collection: "app.bsky.feed.repost", record: { subject: { uri: postName(tern, "self") } } })
    expect(convert(converter, of)).toEqual({ kind: "ignored", reason: reasons.unnamed })
  })

  test("are deleted as posts are", () => {
    const gone = commit({ collection: "app.bsky.feed.repost", operation: "delete" })
    expect(convert(converter, gone)).toEqual({ kind: "post deleted", name, id: idOf(name) })
  })
})

describe("users", () => {
  const identity = (handle?: string): unknown => ({ did: wren, kind: "identity", identity: { did: wren, handle } })

  test("an identity with a handle names the user", () => {
    const user = { id: wrenId, username: "wren.example", name: "wren.example" }
    expect(convert(plain, identity("Wren.example"))).toEqual({ kind: "user", user })
  })

  test("a new handle keeps what is known of the user, and a name that was none follows it", () => {
    expect(convert(plain, identity("new.example"), known)).toMatchObject({
      user: { id: wrenId, username: "new.example", name: "Wren" },
    })
    const unnamed = knowing({ users: { [wrenId]: { username: wren, name: wren, description: "A bird" } } })
    expect(convert(plain, identity("new.example"), unnamed)).toMatchObject({
      user: { username: "new.example", name: "new.example", description: "A bird" },
    })
  })

  test("a handle that fails its check is the user's no longer", () => {
    expect(convert(plain, identity("handle.invalid"), known)).toMatchObject({ user: { username: wren, name: "Wren" } })
    expect(convert(plain, identity("handle.invalid"))).toEqual({ kind: "ignored", reason: reasons.noHandle })
  })

  test.each([undefined, "", "no handle", "a/b"])("an identity with the handle %j is ignored", (handle) => {
    expect(convert(plain, identity(handle))).toEqual({ kind: "ignored", reason: reasons.noHandle })
  })

  test.each([
    [
      { active: false, status: "deleted" },
      { kind: "user deleted", id: wrenId },
    ],
    [
      { active: false, status: "takendown" },
      { kind: "user deleted", id: wrenId },
    ],
    [
      { active: false, status: "suspended" },
      { kind: "ignored", reason: reasons.account },
    ],
    [
      { active: false, status: "deactivated" },
      { kind: "ignored", reason: reasons.account },
    ],
    [{ active: false }, { kind: "ignored", reason: reasons.account }],
    [
      { active: true, status: "deleted" },
      { kind: "ignored", reason: reasons.account },
    ],
  ])("an account %j", (account, outcome) => {
    expect(convert(plain, { did: wren, kind: "account", account })).toEqual(outcome)
    expect(convert(plain, wrapped("account", { account }))).toEqual(outcome)
  })

  test("a profile describes the user when the setting is on", () => {
    const record = {
      displayName: "Wren",
      description: "A bird",
      avatar: { ref: { $link: "bafkreiajxclqzwk2mcz" } },
      pinnedPost: { uri: postName() },
    }
    const frame = commit({ collection: "app.bsky.actor.profile", operation: "update", rkey: "self", record })
    expect(convert(plain, frame)).toEqual({ kind: "ignored", reason: reasons.profile })
    expect(convert(converter, frame, knowing({ users: { [wrenId]: { username: "wren.example" } } }))).toEqual({
      kind: "user",
      user: {
        id: wrenId,
        username: "wren.example",
        name: "Wren",
        description: "A bird",
        profile_image_url: `https://cdn.bsky.app/img/avatar/plain/${wren}/bafkreiajxclqzwk2mcz`,
        pinned_tweet_id: idOf(postName()),
      },
    })
  })

  test("a deleted profile describes nothing", () => {
    const frame = commit({ collection: "app.bsky.actor.profile", operation: "delete", rkey: "self" })
    expect(convert(converter, frame, known)).toEqual({
      kind: "user",
      user: { id: wrenId, username: "wren.example", name: "wren.example" },
    })
  })
})

describe("languages", () => {
  const german = blueskyConverter({
    takesReposts: true,
    takesProfiles: false,
    looksUpProfiles: false,
    givesMediaUrls: false,
    languages: ["de-AT"],
  })

  test.each([
    [["de"], "post"],
    [["en", "de-CH"], "post"],
    [["en"], "ignored"],
    [[], "ignored"],
    [undefined, "ignored"],
  ])("of a source that takes German: %j", (langs, kind) => {
    expect(convert(german, postFrame({ text: "Hafer", langs }))).toMatchObject({ kind })
  })

  test.each([
    ["en-GB", "en"],
    ["ID", "in"],
    ["fil", "tl"],
    ["", "und"],
    ["x", "und"],
    ["english", "und"],
    [7, "und"],
  ])("%j is %s", (tag, lang) => {
    expect(envelopeOf(converter, postFrame({ langs: [tag] })).data["lang"]).toBe(lang)
  })
})

describe("frames", () => {
  test("of both endpoints become the same post", () => {
    const record = { text: "A cat" }
    const later = wrapped("commit", { rev, operation: "create", collection: "app.bsky.feed.post", rkey: key, record })
    expect(envelopeOf(converter, later)).toEqual(envelopeOf(converter, postFrame(record)))
    expect(converter.begin(JSON.stringify(later))).toMatchObject({
      position: "1783123200123000",
      atMs: 1_783_123_200_123,
    })
  })

  test("of both endpoints name the same user", () => {
    const identity = { did: wren, handle: "wren.example", seq: 1, time: "2026-07-04T00:00:00Z" }
    const user = convert(converter, { did: wren, kind: "identity", identity })
    expect(convert(converter, wrapped("identity", { identity }))).toEqual(user)
    expect(user).toMatchObject({ kind: "user" })
  })

  test.each([
    [{ cursor: 42 }, "1783300000000001"],
    [{ time_us: 7 }, "7"],
    [{ time_us: 1.5 }, undefined],
    [{ time_us: 2 ** 60 }, undefined],
  ])("the position of a frame with %j is %j", (members, position) => {
    const frame = { ...(commit({ collection: "a.b.c" }) as object), ...members }
    expect(converter.begin(JSON.stringify(frame)).position).toBe(position)
  })

  test("a rejected frame keeps its position", () => {
    const conversion = converter.begin(JSON.stringify({ time_us: 7, kind: "commit", did: 1 }))
    expect(conversion).toMatchObject({ position: "7" })
    expect(conversion.finish(nothingKnown)).toMatchObject({ kind: "rejected" })
  })

  test("the time of the witness counts before the one that is shown", () => {
    const frame = wrapped("sync", { witnessedAt: "2026-07-04T00:00:01Z" })
    expect(converter.begin(JSON.stringify(frame)).atMs).toBe(1_783_123_201_000)
    expect(convert(converter, frame)).toEqual({ kind: "ignored", reason: reasons.other })
  })

  test.each([
    [{ $type: "error", error: "ConsumerTooSlow", message: "too slow" }, ["error", "ConsumerTooSlow", "too slow"]],
    [{ $type: "error" }, ["error", "", ""]],
    [
      { $type: "message", payload: { $type: "network.bsky.jetstream.subscribeEvents#info", name: "OutdatedCursor" } },
      ["info", "OutdatedCursor", ""],
    ],
  ])("%j is a notice", (frame, [kind, name, message]) => {
    expect(noticeOf(JSON.stringify(frame))).toEqual({ kind, name, message })
    expect(convert(converter, frame)).toEqual({ kind: "ignored", reason: reasons.notice })
  })

  test("no record is a notice, whatever its text says", () => {
    expect(noticeOf(JSON.stringify(postFrame({ text: '"error" #info' })))).toBeUndefined()
    expect(noticeOf('"error"')).toBeUndefined()
    expect(noticeOf('{"error"')).toBeUndefined()
  })
})

describe("texts", () => {
  test("a text that is too long is cut, with its entities", () => {
    const text = `${"😀".repeat(24_998)} #in #out`
    const facets = [
      facet(text, "#in", { $type: features.tag, tag: "in" }),
      facet(text, "😀", { $type: features.link, uri: "https://example.com" }),
    ]
    const { data } = envelopeOf(converter, postFrame({ text, facets }))
    expect(Array.from(data.text)).toHaveLength(25_000)
    expect(data.text.endsWith(" …")).toBe(true)
    expect(data.entities).toEqual({ urls: [expect.objectContaining({ start: 0, end: 1 })] })
  })

  test("half of a surrogate pair becomes a replacement character", () => {
    expect(envelopeOf(converter, postFrame({ text: "a\uD800b", tags: ["\uDC00"] })).data).toMatchObject({
      text: "a\uFFFDb",
      entities: { hashtags: [{ start: 3, end: 3, tag: "\uFFFD" }] },
    })
  })

  test("10,000 facets over each other become one entity", () => {
    const text = "x".repeat(100)
    const link = { $type: features.link, uri: "https://example.com" }
    const facets = Array.from({ length: 10_000 }, (_, at) => ({
      index: { byteStart: at % 50, byteEnd: 100 },
      features: [link],
    }))
    expect(envelopeOf(converter, postFrame({ text, facets })).data.entities["urls"]).toHaveLength(1)
  })

  test("any text with any facets becomes a sound envelope", () => {
    const offset = fc.integer({ min: -1, max: 60 })
    const feature = fc.constantFrom(
      { $type: features.link, uri: "https://example.com" },
      { $type: features.tag, tag: "cats" },
      { $type: features.mention, did: tern },
    )
    const anyFacet = fc.record({
      index: fc.record({ byteStart: offset, byteEnd: offset }),
      features: fc.array(feature, { maxLength: 2 }),
    })
    const text = fc.string({ unit: fc.constantFrom("a", "#cats", "@b", " ", "$OAT", "ü", "日", "🐈", "\uD800") })
    fc.assert(
      fc.property(text, fc.array(anyFacet, { maxLength: 8 }), (written, facets) => {
        const converted = converter.begin(JSON.stringify(postFrame({ text: written, facets }))).finish(known)
        expect(converted.kind).toBe("post")
        if (converted.kind === "post") expectSound(converted.envelopeWith(assignedId))
      }),
    )
  })
})
