/** Media and polls of a status in X's shape. */
import { isDateTime } from "../../model/date-time.ts"
import { hashedNumber } from "../foreign-ids.ts"
import { filledOf, itemsOf, memberOf, objectOf, stringOf, wholeOf, type Members } from "../records.ts"

/** Most media and options of a poll that are read. Ours: instances allow 4 to 16. */
const itemsMax = 64

/** The number that X's keys of a kind begin with, and X's name of the kind. Others, such as audio, have none of X's. */
const kinds: ReadonlyMap<unknown, { readonly number: number; readonly type: string }> = new Map([
  ["image", { number: 3, type: "photo" }],
  ["gifv", { number: 16, type: "animated_gif" }],
  ["video", { number: 13, type: "video" }],
])

/** The media of a status. A key is a hash of the instance and its number of the medium. */
export function mediaOf(value: unknown, host: string): readonly Members[] {
  const media = new Map<string, Members>()
  for (const item of itemsOf(value).slice(0, itemsMax)) {
    const medium = objectOf(item)
    const id = filledOf(medium?.id)
    if (medium === undefined || id === undefined) continue
    const kind = kinds.get(medium.type) ?? { number: 0, type: filledOf(medium.type) ?? "unknown" }
    const key = `${kind.number}_${hashedNumber(`https://${host}/media/${id}`)}`
    media.set(key, { media_key: key, type: kind.type, ...contentOf(medium, kind.type) })
  }
  return [...media.values()]
}

function contentOf(medium: Members, type: string): Members {
  const original = memberOf(medium.meta, "original")
  const seconds = memberOf(original, "duration")
  const url = filledOf(medium.url) ?? filledOf(medium.remote_url)
  const isPhoto = type === "photo"
  return {
    url: isPhoto ? url : undefined,
    preview_image_url: isPhoto ? undefined : filledOf(medium.preview_url),
    variants: isPhoto || url === undefined ? undefined : [{ content_type: contentTypeOf(medium, type), url }],
    duration_ms: typeof seconds === "number" && seconds >= 0 ? wholeOf(Math.round(seconds * 1_000)) : undefined,
    width: wholeOf(memberOf(original, "width")),
    height: wholeOf(memberOf(original, "height")),
    alt_text: filledOf(medium.description),
  }
}

/** Mastodon makes MP4 of every video; Pleroma reports the type. */
function contentTypeOf(medium: Members, type: string): string {
  const reported = filledOf(memberOf(medium.pleroma, "mime_type"))
  return reported ?? (type === "audio" ? "audio/mpeg" : "video/mp4")
}

/** The poll of a status; undefined without one. */
export function pollOf(value: unknown): (Members & { readonly id: string }) | undefined {
  const poll = objectOf(value)
  const id = filledOf(poll?.id)
  if (poll === undefined || id === undefined) return undefined
  const end = poll.expires_at
  return {
    id,
    options: itemsOf(poll.options)
      .slice(0, itemsMax)
      .map((option, index) => ({
        position: index + 1,
        label: stringOf(memberOf(option, "title")) ?? "",
        votes: wholeOf(memberOf(option, "votes_count")) ?? 0,
      })),
    end_datetime: typeof end === "string" && isDateTime(end) ? end : undefined,
    voting_status: poll.expired === true ? "closed" : "open",
  }
}
