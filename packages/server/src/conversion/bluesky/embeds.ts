/**
 * The objects that a post embeds: a quoted post, media, a link to a page.
 *
 * Source: the lexicons `app.bsky.embed.*`.
 */
import { atNameOf, hashedNumber } from "../foreign-ids.ts"
import { filledOf, itemsOf, memberOf, objectOf, stringOf, wholeOf, type Members } from "../records.ts"
import { uriOf } from "./frame.ts"

/** A page that a post links to. */
export interface EmbeddedLink {
  readonly url: string
  readonly title?: string | undefined
  readonly description?: string | undefined
}

/** The embedded objects of a post. */
export interface Embedded {
  /** The name of the quoted post. */
  readonly quoted?: string | undefined
  readonly links: readonly EmbeddedLink[]
  /** Media objects in X's shape, each with another `media_key`. */
  readonly media: readonly Members[]
}

const nothing: Embedded = { links: [], media: [] }

/** Most media of a post that are read. Ours: the lexicons allow at most 20. */
const mediaMax = 64

/** The author, and whether media get the addresses of Bluesky's own servers. */
export interface EmbedContext {
  readonly did: string
  readonly givesMediaUrls: boolean
}

/** The embedded objects of a record; none for a value of any other shape. */
export function embeddedIn(value: unknown, context: EmbedContext): Embedded {
  const embed = objectOf(value)
  if (embed === undefined) return nothing
  switch (embed.$type) {
    case "app.bsky.embed.record":
      return recordOf(embed.record)
    case "app.bsky.embed.recordWithMedia":
      return both(recordOf(memberOf(embed.record, "record")), mediaOf(embed.media, context))
    default:
      return mediaOf(embed, context)
  }
}

function both(record: Embedded, { links, media }: Embedded): Embedded {
  return { quoted: record.quoted, links: [...record.links, ...links], media }
}

/** A quoted post, or a link to another kind of record. */
function recordOf(reference: unknown): Embedded {
  const uri = uriOf(reference)
  const at = uri === undefined ? undefined : atNameOf(uri)
  if (uri === undefined || at === undefined) return nothing
  if (at.collection === "app.bsky.feed.post") return { ...nothing, quoted: uri }
  const url = pageOf(at)
  return url === undefined ? nothing : { ...nothing, links: [{ url }] }
}

/** The page of a feed, list, starter pack or labeler in Bluesky's own app. */
function pageOf({
  did,
  collection,
  rkey,
}: {
  readonly did: string
  readonly collection: string
  readonly rkey: string
}): string | undefined {
  switch (collection) {
    case "app.bsky.feed.generator":
      return `https://bsky.app/profile/${did}/feed/${rkey}`
    case "app.bsky.graph.list":
      return `https://bsky.app/profile/${did}/lists/${rkey}`
    case "app.bsky.graph.starterpack":
      return `https://bsky.app/starter-pack/${did}/${rkey}`
    case "app.bsky.labeler.service":
      return `https://bsky.app/profile/${did}`
    default:
      return undefined
  }
}

function mediaOf(value: unknown, context: EmbedContext): Embedded {
  const embed = objectOf(value)
  switch (embed?.$type) {
    case "app.bsky.embed.images":
      return { ...nothing, media: photosOf(itemsOf(embed.images), context) }
    case "app.bsky.embed.gallery":
      return { ...nothing, media: photosOf(itemsOf(embed.items), context) }
    case "app.bsky.embed.video":
      return { ...nothing, media: videosOf(embed, context) }
    case "app.bsky.embed.external":
      return { ...nothing, links: externalOf(embed.external) }
    default:
      return nothing
  }
}

function externalOf(value: unknown): readonly EmbeddedLink[] {
  const external = objectOf(value)
  const url = filledOf(external?.uri)
  if (url === undefined) return []
  return [{ url, title: filledOf(external?.title), description: filledOf(external?.description) }]
}

function photosOf(items: readonly unknown[], context: EmbedContext): readonly Members[] {
  const photos = new Map<string, Members>()
  for (const item of items.slice(0, mediaMax)) {
    const cid = cidOf(memberOf(item, "image"))
    if (cid === undefined) continue
    const key = `3_${hashedNumber(cid)}`
    const url = context.givesMediaUrls ? imageUrl("feed_fullsize", context.did, cid) : undefined
    photos.set(key, { media_key: key, type: "photo", url, ...describedBy(item) })
  }
  return [...photos.values()]
}

function videosOf(embed: Members, { did, givesMediaUrls }: EmbedContext): readonly Members[] {
  const cid = cidOf(embed.video)
  if (cid === undefined) return []
  const base = `https://video.bsky.app/watch/${encodeURIComponent(did)}/${cid}`
  const urls = {
    preview_image_url: `${base}/thumbnail.jpg`,
    variants: [{ content_type: "application/x-mpegURL", url: `${base}/playlist.m3u8` }],
  }
  const key = `13_${hashedNumber(cid)}`
  return [{ media_key: key, type: "video", ...(givesMediaUrls && urls), ...describedBy(embed) }]
}

/** Size and description of a photo or a video. */
function describedBy(item: unknown): Members {
  const ratio = memberOf(item, "aspectRatio")
  return {
    width: wholeOf(memberOf(ratio, "width")),
    height: wholeOf(memberOf(ratio, "height")),
    alt_text: filledOf(memberOf(item, "alt")),
  }
}

/** Address of an image on Bluesky's own servers. `preset` is theirs. */
export function imageUrl(preset: "feed_fullsize" | "avatar" | "banner", did: string, cid: string): string {
  return `https://cdn.bsky.app/img/${preset}/plain/${did}/${cid}`
}

/** The content id of a blob, which old records write in another way; undefined for any other value. */
export function cidOf(blob: unknown): string | undefined {
  const cid = stringOf(memberOf(memberOf(blob, "ref"), "$link")) ?? stringOf(memberOf(blob, "cid"))
  return cid !== undefined && /^[A-Za-z0-9]{8,128}$/.test(cid) ? cid : undefined
}
