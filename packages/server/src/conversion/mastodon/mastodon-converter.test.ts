import { describe, expect, test } from "vitest"
import { assignedId, convert, envelopeOf, knowing } from "../converted.testing.ts"
import { accountName, derivedId, foreignUserId } from "../foreign-ids.ts"
import { mastodonConverter } from "./mastodon-converter.ts"
import { status, statusName, tern, update } from "./mastodon-events.testing.ts"
import { reasons } from "./reasons.ts"

const instance = { host: "Oat.example", number: 0 }
const converter = mastodonConverter({ ...instance, takesReblogs: true, takesUnlisted: true })
const plain = mastodonConverter({ ...instance, takesReblogs: false, takesUnlisted: false })
const numbers = new Map([["oat.example", 0]])

const idOf = (name: string): string => derivedId(name, numbers) ?? ""
const wrenId = foreignUserId(accountName("wren@oat.example"))
const ternId = foreignUserId(accountName("tern@rye.example"))
const mentions = [{ id: "12", acct: "Tern@rye.example", username: "Tern", url: "https://rye.example/@Tern" }]
const otherName = "https://oat.example/statuses/117024236559579118"

describe("a status", () => {
  test("has its members in X's shape", () => {
    expect(envelopeOf(converter, update())).toEqual({
      data: {
        id: "2083785435737996672",
        text: "A cat",
        author_id: wrenId,
        created_at: "2026-08-02T05:22:17.399Z",
        edit_history_tweet_ids: ["2083785435737996672"],
        conversation_id: "2083785435737996672",
        lang: "en",
        possibly_sensitive: false,
        entities: {},
        public_metrics: { retweet_count: 2, reply_count: 1, like_count: 3, quote_count: 0 },
        source_uri: statusName,
      },
      includes: {
        users: [
          {
            id: wrenId,
            username: "wren@oat.example",
            name: "Wren",
            created_at: "2017-04-20T16:50:38.444Z",
            description: "A bird & more",
            profile_image_url: "https://oat.example/wren.png",
            url: "https://oat.example/@wren",
            protected: false,
            verified: false,
            public_metrics: { followers_count: 3, following_count: 2, tweet_count: 1, listed_count: 0 },
          },
        ],
      },
    })
  })

  test("comes as an object or as text", () => {
    const text = { event: "update", payload: JSON.stringify(status()) }
    expect(envelopeOf(converter, text)).toEqual(envelopeOf(converter, update()))
  })

  test("has the position that its line brings, whatever becomes of it, and the account host of its instance", () => {
    const line = { ...(update() as object), position: '{"at":5}', account_host: "Straw.example" }
    expect(envelopeOf(converter, line).includes?.users?.[0]?.username).toBe("wren@straw.example")
    const lines = [line, { ...line, payload: 5 }, { event: "position", position: '{"at":5}' }]
    expect(lines.map((one) => converter.begin(JSON.stringify(one)).position)).toEqual(lines.map(() => '{"at":5}'))
    expect(convert(converter, lines[2])).toEqual({ kind: "ignored", reason: reasons.position })
    expect(converter.begin(JSON.stringify(update())).position).toBeUndefined()
  })

  test("has a spoiler before its text, its application, and is sensitive", () => {
    const content =
      '<p>A <a href="https://oat.example/tags/cat" class="mention hashtag" rel="tag">#<span>cat</span></a></p>'
    const members = { spoiler_text: "🐈!", content, sensitive: true, application: { name: "Tusky" } }
    expect(envelopeOf(converter, update(members)).data).toMatchObject({
      text: "🐈!\n\nA #cat",
      entities: { hashtags: [{ start: 6, end: 10, tag: "cat" }] },
      possibly_sensitive: true,
      source: "Tusky",
    })
  })

  test("gives accounts of the instance the host of its accounts", () => {
    const other = mastodonConverter({ ...instance, accountHost: "oat.org", takesReblogs: false, takesUnlisted: false })
    const { data, includes } = envelopeOf(other, update())
    expect(includes?.users).toMatchObject([{ username: "wren@oat.org" }])
    expect(data.source_uri).toBe(statusName)
  })

  test.each(["AQetOIEp6Z2GZ4UiI4", "01H3QZ5Q4S8E8J0ZJ2X9Y3K7WD", "707682"])(
    "with the id %s gets one at arrival",
    (id) => {
      const name = `https://oat.example/statuses/${id}`
      expect(convert(converter, update({ id }))).toMatchObject({ kind: "post", name, id: undefined })
      expect(envelopeOf(converter, update({ id })).data).toMatchObject({
        id: assignedId,
        created_at: "2026-08-02T05:22:17.399Z",
      })
    },
  )

  test("has a name made of its account when it shows none", () => {
    const { includes } = envelopeOf(converter, update({ account: { ...tern, display_name: "" } }))
    expect(includes?.users).toMatchObject([{ id: ternId, username: "Tern@rye.example", name: "Tern@rye.example" }])
  })
})

describe("entities", () => {
  test("are the links of the text, by what they are", () => {
    const content =
      '<p><span class="h-card"><a href="https://rye.example/@Tern" class="u-url mention">@<span>Tern</span></a></span> ' +
      '<a href="https://oat.example/tags/oats" class="mention hashtag">#<span>Oats</span></a> ' +
      '<a href="https://example.com/x"><span class="invisible">https://</span>example.com/x</a> $OAT</p>'
    const tags = [{ name: "oats" }, { name: "hidden" }]
    const card = { url: "https://example.com/x", title: "X", description: "About X" }
    const { entities } = envelopeOf(converter, update({ content, mentions, tags, card })).data
    const url = "https://example.com/x"
    expect(entities).toEqual({
      mentions: [{ start: 0, end: 5, username: "Tern@rye.example", id: ternId }],
      hashtags: [
        { start: 6, end: 11, tag: "Oats" },
        { start: 38, end: 38, tag: "hidden" },
      ],
      urls: [
        {
          start: 12,
          end: 33,
          url,
          expanded_url: url,
          display_url: "example.com/x",
          unwound_url: url,
          title: "X",
          description: "About X",
        },
      ],
      cashtags: [{ start: 34, end: 38, tag: "OAT" }],
    })
  })

  test.each([
    ["the name with its host", "@tern@rye.example"],
    ["the name alone", "@tern"],
  ])("a mention with another address is found by %s", (_what, text) => {
    const content = `<a href="https://rye.example/users/tern" class="u-url mention">${text}</a>`
    const { entities } = envelopeOf(converter, update({ content, mentions })).data
    expect(entities["mentions"]).toEqual([expect.objectContaining({ start: 0, id: ternId })])
  })

  test("a mention that the text does not show stands at its end", () => {
    const { entities } = envelopeOf(converter, update({ mentions })).data
    expect(entities["mentions"]).toEqual([{ start: 5, end: 5, username: "Tern@rye.example", id: ternId }])
  })

  test("a mention of an unknown account is neither mention nor link", () => {
    const content = '<a href="https://rye.example/@owl" class="u-url mention">@owl</a>'
    expect(envelopeOf(converter, update({ content })).data.entities).toEqual({})
  })

  test("a hashtag of another program is found by its name, without accents", () => {
    const content = '<a href="https://rye.example/t/Göttingen" rel="tag">#Göttingen</a>'
    const { entities } = envelopeOf(converter, update({ content, tags: [{ name: "gottingen" }] })).data
    expect(entities).toEqual({ hashtags: [{ start: 0, end: 10, tag: "Göttingen" }] })
  })

  test("a card belongs to the link of its host, stands at the end, or is left out", () => {
    const card = { url: "https://www.example.com/final", title: "X" }
    const urlsOf = (content: string): unknown => envelopeOf(converter, update({ content, card })).data.entities["urls"]
    expect(urlsOf('<a href="https://a.example">a</a> <a href="https://example.com/short">b</a>')).toEqual([
      expect.not.objectContaining({ title: "X" }),
      expect.objectContaining({ start: 2, unwound_url: card.url, title: "X" }),
    ])
    expect(urlsOf("cat")).toEqual([expect.objectContaining({ start: 3, end: 3, url: card.url, title: "X" })])
    expect(urlsOf(`<a href="${card.url}" class="hashtag">#cat</a>`)).toBeUndefined()
  })
})

describe("media and polls", () => {
  test.each([
    ["image", /^3_\d{19}$/, { type: "photo", url: "https://oat.example/m" }],
    ["gifv", /^16_/, { type: "animated_gif", preview_image_url: "https://oat.example/p" }],
    ["video", /^13_/, { type: "video", variants: [{ content_type: "video/mp4", url: "https://oat.example/m" }] }],
    ["audio", /^0_/, { type: "audio" }],
    ["unknown", /^0_/, { type: "unknown" }],
  ])("%s", (type, key, members) => {
    const meta = { original: { width: 4, height: 3, duration: 1.5 } }
    const medium = {
      id: "1",
      type,
      url: "https://oat.example/m",
      preview_url: "https://oat.example/p",
      description: "A cat",
      meta,
    }
    const { data, includes } = envelopeOf(converter, update({ media_attachments: [medium, medium, { type }, 1] }))
    expect(includes?.media).toEqual([
      expect.objectContaining({ ...members, width: 4, height: 3, duration_ms: 1500, alt_text: "A cat" }),
    ])
    const [mediaKey] = (data["attachments"] as { media_keys: string[] }).media_keys
    expect(mediaKey).toMatch(key)
  })

  test("a poll is included", () => {
    const options = [
      { title: "oats", votes_count: 2 },
      { title: "rye", votes_count: null },
    ]
    const poll = { id: "5", expires_at: "2026-08-03T00:00:00Z", expired: true, options }
    const { data, includes } = envelopeOf(converter, update({ poll }))
    expect(data["attachments"]).toEqual({ poll_ids: ["5"] })
    expect(includes?.polls).toEqual([
      {
        id: "5",
        options: [
          { position: 1, label: "oats", votes: 2 },
          { position: 2, label: "rye", votes: 0 },
        ],
        end_datetime: "2026-08-03T00:00:00Z",
        voting_status: "closed",
      },
    ])
  })
})

describe("references", () => {
  const reply = { in_reply_to_id: "117024236559579118", in_reply_to_account_id: "12" }

  test("a reply names its parent, and the author of that by the mentions", () => {
    const { data } = envelopeOf(converter, update({ ...reply, mentions }))
    expect(data).toMatchObject({
      referenced_tweets: [{ type: "replied_to", id: idOf(otherName) }],
      in_reply_to_user_id: ternId,
      conversation_id: idOf(otherName),
    })
  })

  test("a reply to oneself, or to a person whom no mention names", () => {
    expect(envelopeOf(converter, update({ ...reply, in_reply_to_account_id: "11" })).data.in_reply_to_user_id).toBe(
      wrenId,
    )
    expect(envelopeOf(converter, update(reply)).data.in_reply_to_user_id).toBeUndefined()
  })

  test("a reply continues the conversation of its parent when that is stored", () => {
    const stored = { data: { id: "8", text: "", conversation_id: "7" } }
    const known = knowing({ posts: { [otherName]: "8" }, envelopes: { [otherName]: stored } })
    expect(envelopeOf(converter, update(reply), known).data).toMatchObject({
      referenced_tweets: [{ type: "replied_to", id: "8" }],
      conversation_id: "7",
    })
    expect(converter.begin(JSON.stringify(update(reply)))).toMatchObject({
      posts: [statusName, otherName],
      originals: [otherName],
    })
  })

  const quotedStatus = status({ id: "117024236559579118", account: tern, content: "<p>quoted</p>" })

  test.each([
    ["accepted, and whole", { quote: { state: "accepted", quoted_status: quotedStatus } }, 1],
    ["accepted, by its id", { quote: { state: "accepted", quoted_status_id: "117024236559579118" } }, 0],
    ["of another program", { quote: quotedStatus }, 1],
    ["of another program, by its id", { quote: null, quote_id: "117024236559579118" }, 0],
    ["that may not be seen", { quote: { ...quotedStatus, visibility: "private" } }, 0],
    ["that cannot be read", { quote: { ...quotedStatus, created_at: 1 } }, 0],
  ])("a quotation %s", (_what, members, included) => {
    const content = '<p class="quote-inline">RE: link</p><p>cat</p>'
    const { data, includes } = envelopeOf(converter, update({ ...members, content }))
    expect(data).toMatchObject({ text: "cat", referenced_tweets: [{ type: "quoted", id: idOf(otherName) }] })
    expect(includes?.tweets ?? []).toHaveLength(included)
    expect(includes?.users).toHaveLength(1 + included)
  })

  test.each(["pending", "rejected", "revoked", "deleted"])("a quotation that is %s is none", (state) => {
    const content = '<p class="quote-inline">RE: link</p>'
    const { data } = envelopeOf(converter, update({ quote: { state, quoted_status: quotedStatus }, content }))
    expect(data.referenced_tweets).toBeUndefined()
    expect(data.text).toBe("RE: link")
  })

  test("a reblog is a repost with its original", () => {
    const reblog = update({ reblog: quotedStatus, content: quotedStatus["content"] })
    expect(convert(plain, reblog)).toEqual({ kind: "ignored", reason: reasons.reblog })
    const { data, includes } = envelopeOf(converter, reblog)
    expect(data).toMatchObject({
      text: "RT @Tern@rye.example: quoted",
      entities: { mentions: [{ start: 3, end: 20, username: "Tern@rye.example", id: ternId }] },
      author_id: wrenId,
      referenced_tweets: [{ type: "retweeted", id: idOf(otherName) }],
    })
    expect(includes).toMatchObject({
      users: [{ id: wrenId }, { id: ternId }],
      tweets: [{ id: idOf(otherName), text: "quoted", author_id: ternId }],
    })
  })

  test("a reblog of a post whose id is unknown is ignored, and of one that may not be seen too", () => {
    const unknown = update({ reblog: { ...quotedStatus, id: "AQetOIEp6Z2GZ4UiI4" } })
    expect(convert(converter, unknown)).toEqual({ kind: "ignored", reason: reasons.unnamed })
    const unseen = update({ reblog: { ...quotedStatus, visibility: "private" } })
    expect(convert(converter, unseen)).toEqual({ kind: "ignored", reason: reasons.visibility })
  })
})

describe("versions", () => {
  const editedAt = "2026-08-02T05:22:24.192Z"
  const name = `${statusName}#${Date.parse(editedAt)}`

  test.each(["status.update", "update"])("an edit that comes as %s is a later version", (event) => {
    const edit = { event, payload: status({ edited_at: editedAt, content: "<p>Two cats</p>" }) }
    expect(convert(converter, edit)).toMatchObject({ kind: "post", name, id: idOf(name), isOld: false })
    expect(envelopeOf(converter, edit).data).toMatchObject({
      created_at: editedAt,
      edit_history_tweet_ids: [idOf(statusName), idOf(name)],
      conversation_id: idOf(statusName),
      source_uri: name,
    })
  })

  test("an edit whose id does not follow from its name tells the first one's name", () => {
    const firstName = statusName.replace(/[^/]+$/, "Al2KABLN3tuRoeE0A4")
    const post = status({ id: "Al2KABLN3tuRoeE0A4" })
    const edit = { event: "status.update", payload: { ...post, edited_at: editedAt } }
    const laterName = `${firstName}#${Date.parse(editedAt)}`
    expect(convert(converter, edit)).toMatchObject({ name: laterName, firstName, id: undefined })
    expect(convert(converter, { event: "update", payload: post })).toMatchObject({
      name: firstName,
      firstName: undefined,
    })
  })

  test("an update that edits nothing is ignored", () => {
    expect(convert(converter, { event: "status.update", payload: status() })).toEqual({
      kind: "ignored",
      reason: reasons.unedited,
    })
  })

  test("a deletion names the post, whose id is known or derived", () => {
    const deletion = { event: "delete", payload: "117024236332527350" }
    expect(convert(converter, deletion)).toEqual({ kind: "post deleted", name: statusName, id: idOf(statusName) })
    expect(convert(converter, deletion, knowing({ posts: { [statusName]: "7" } }))).toMatchObject({ id: "7" })
  })
})

describe("times", () => {
  // The id's time: 2026-08-02T05:22:17.384Z.
  const idMs = Number(117_024_236_332_527_350n >> 16n)
  const at = (ms: number): string => new Date(ms).toISOString()

  test.each([
    [300_000, "post"],
    [300_001, "rejected"],
  ])("a status that says it was written %d ms after its id is a %s", (aheadMs, kind) => {
    expect(convert(converter, update({ created_at: at(idMs + aheadMs) }))).toMatchObject({ kind })
  })

  test.each([
    [86_400_000, false],
    [86_400_001, true],
  ])("a status that was written %d ms before its id is old: %s", (agoMs, isOld) => {
    expect(convert(converter, update({ created_at: at(idMs - agoMs) }))).toMatchObject({ kind: "post", isOld })
  })

  test("an edit far ahead of its arrival is rejected, when that is known", () => {
    const edit = { event: "status.update", payload: status({ edited_at: at(idMs + 10 * 60_000) }) }
    expect(convert(converter, edit)).toMatchObject({ kind: "post" })
    expect(convert(converter, { ...edit, received_ms: idMs + 300_000 })).toMatchObject({ kind: "post" })
    expect(convert(converter, { ...edit, received_ms: idMs + 299_999 })).toMatchObject({
      kind: "rejected",
      title: "Time in the Future",
    })
  })

  test("tell how late a record is, and no position", () => {
    const conversion = converter.begin(JSON.stringify(update()))
    expect(conversion.atMs).toBe(idMs)
    expect(conversion.position).toBeUndefined()
  })
})

describe("posts that are not taken", () => {
  test.each([
    ["unlisted", reasons.unlisted],
    ["private", reasons.visibility],
    ["direct", reasons.visibility],
    ["local", reasons.visibility],
    [null, reasons.visibility],
    [undefined, reasons.visibility],
  ])("visibility %j", (visibility, reason) => {
    expect(convert(plain, update({ visibility }))).toEqual({ kind: "ignored", reason })
  })

  test("unlisted ones are taken by setting", () => {
    expect(convert(converter, update({ visibility: "unlisted" }))).toMatchObject({ kind: "post" })
  })

  test("those in other languages", () => {
    const german = mastodonConverter({ ...instance, takesReblogs: false, takesUnlisted: false, languages: ["de"] })
    expect(convert(german, update())).toEqual({ kind: "ignored", reason: reasons.language })
    expect(convert(german, update({ language: null }))).toEqual({ kind: "ignored", reason: reasons.language })
    expect(convert(german, update({ language: "de" }))).toMatchObject({ kind: "post" })
  })

  test.each(["notification", "conversation", "filters_changed", "announcement"])("the event %s", (event) => {
    expect(convert(converter, { event, payload: "{}" })).toEqual({ kind: "ignored", reason: reasons.event })
  })
})
