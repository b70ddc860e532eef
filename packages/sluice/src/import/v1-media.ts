/** The media of a v1.1 post as those of an envelope. */
import { itemsOf, membersOf, numberOf, objectOf, objectsOf, textOf, type Members } from "./untyped-json.ts"

/** The first part of X's media keys, by the type of the medium. Source: the keys of recorded posts. */
const keyPrefixes: Readonly<Record<string, string>> = { photo: "3", video: "7", animated_gif: "16" }

/** The key by which a v2 post refers to a medium: its type and its id. `undefined` without an id. */
export function mediaKeyOf(medium: Members): string | undefined {
  const id = textOf(medium["id_str"])
  return id === undefined ? undefined : `${keyPrefixes[String(medium["type"])] ?? "3"}_${id}`
}

/** The media of a post, each once. `extended_entities` has all of them and says which are videos. */
export function mediaOf(post: Members): readonly Members[] {
  const { media } = objectOf(post["extended_entities"]) ?? objectOf(post["entities"]) ?? {}
  const objects = objectsOf(media).flatMap((one) => {
    const key = mediaKeyOf(one)
    return key === undefined ? [] : [[key, mediumOf(one, key)] as const]
  })
  return [...new Map(objects).values()]
}

function mediumOf(medium: Members, key: string): Members {
  const type = textOf(medium["type"]) ?? "photo"
  const address = textOf(medium["media_url_https"]) ?? textOf(medium["media_url"])
  const video = objectOf(medium["video_info"]) ?? {}
  const size = objectOf(medium["original_info"])
  const large = objectOf(objectOf(medium["sizes"])?.["large"])
  return (
    membersOf({
      media_key: key,
      type,
      url: type === "photo" ? address : undefined,
      preview_image_url: type === "photo" ? undefined : address,
      alt_text: textOf(medium["ext_alt_text"]),
      duration_ms: numberOf(video["duration_millis"]),
      width: numberOf(size?.["width"]) ?? numberOf(large?.["w"]),
      height: numberOf(size?.["height"]) ?? numberOf(large?.["h"]),
      variants: itemsOf(objectsOf(video["variants"]).map(variantOf)),
    }) ?? {}
  )
}

function variantOf(variant: Members): Members {
  return (
    membersOf({
      bit_rate: numberOf(variant["bitrate"]),
      content_type: textOf(variant["content_type"]),
      url: textOf(variant["url"]),
    }) ?? {}
  )
}
