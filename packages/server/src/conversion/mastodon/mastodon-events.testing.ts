/** Events of Mastodon, made for tests. */

/** The name of the made status. */
export const statusName = "https://oat.example/statuses/117024236332527350"

/** An account of the instance. */
const wren = {
  id: "11",
  username: "wren",
  acct: "wren",
  display_name: "Wren",
  locked: false,
  created_at: "2017-04-20T16:50:38.444Z",
  note: "<p>A <b>bird</b> &amp; more</p>",
  url: "https://oat.example/@wren",
  avatar: "https://oat.example/wren.png",
  followers_count: 3,
  following_count: 2,
  statuses_count: 1,
}

/** An account of another instance. */
export const tern = { ...wren, id: "12", username: "tern", acct: "Tern@rye.example", display_name: "Tern" }

/** A public status with these members. */
export function status(members: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return {
    id: "117024236332527350",
    created_at: "2026-08-02T05:22:17.399Z",
    in_reply_to_id: null,
    in_reply_to_account_id: null,
    sensitive: false,
    spoiler_text: "",
    visibility: "public",
    language: "en",
    replies_count: 1,
    reblogs_count: 2,
    favourites_count: 3,
    edited_at: null,
    content: "<p>A cat</p>",
    reblog: null,
    account: wren,
    media_attachments: [],
    mentions: [],
    tags: [],
    card: null,
    poll: null,
    ...members,
  }
}

/** The event of a status with these members. */
export function update(members: Readonly<Record<string, unknown>> = {}): unknown {
  return { event: "update", payload: status(members) }
}
