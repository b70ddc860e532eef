/** Frames of Jetstream, made for tests. */

/** The author of made posts. */
export const wren = "did:plc:dclwtltrt2ggsryagfzk7dp4"

/** Another user. */
export const tern = "did:plc:amnbije7mr5g3pgxuun7q44o"

/** The key of made posts, and the revision of a commit some milliseconds later. */
export const key = "3mptbyoeyc22k"
export const rev = "3mptbyohbps2k"

/** The name of the post of this author and key. */
export function postName(did = wren, rkey = key): string {
  return `at://${did}/app.bsky.feed.post/${rkey}`
}

/** A commit as `/subscribe` sends it. */
export function commit(content: Readonly<Record<string, unknown>>): unknown {
  const given = { rev, operation: "create", collection: "app.bsky.feed.post", rkey: key, ...content }
  return { did: wren, time_us: 1_783_300_000_000_001, kind: "commit", commit: given }
}

/** The commit of a post with these members. */
export function postFrame(record: Readonly<Record<string, unknown>>): unknown {
  return commit({ record: { $type: "app.bsky.feed.post", text: "", createdAt: "2026-07-04T00:00:00Z", ...record } })
}

/** A frame as `subscribeEvents` sends it. */
export function wrapped(kind: string, payload: Readonly<Record<string, unknown>>): unknown {
  const base = { $type: `network.bsky.jetstream.subscribeEvents#${kind}`, seq: 77, did: wren }
  return { $type: "message", payload: { ...base, time: "2026-07-04T00:00:00.123456Z", ...payload } }
}

/** A facet over the part of the text. */
export function facet(text: string, part: string, feature: Readonly<Record<string, unknown>>): unknown {
  const byteStart = Buffer.byteLength(text.slice(0, text.indexOf(part)))
  return { index: { byteStart, byteEnd: byteStart + Buffer.byteLength(part) }, features: [feature] }
}

/** The types of features. */
export const features = {
  link: "app.bsky.richtext.facet#link",
  tag: "app.bsky.richtext.facet#tag",
  mention: "app.bsky.richtext.facet#mention",
} as const
