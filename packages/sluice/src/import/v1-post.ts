/**
 * A post of X's API v1.1, as its streams, searches and archives have it, as an envelope.
 *
 * Objects that v1.1 embeds in the post (its author, the reposted or quoted post, its place and media) move to `includes`,
 * and the post refers to them by ids. Offsets count code points in both. Members that v1.1 lacks are omitted: counts and
 * the conversation.
 *
 * Source: docs.x.com, "Standard v1.1 compared to X API v2", and the posts of both that show the same.
 */
import { IncludedObjects } from "./included-objects.ts"
import {
  booleanOf,
  itemsOf,
  membersOf,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
  type Members,
} from "./untyped-json.ts"
import { mediaOf, mediaKeyOf } from "./v1-media.ts"

/** The envelope, or in a sentence what keeps it from being one. */
export type V1Outcome =
  | { readonly ok: true; readonly envelope: Members }
  | { readonly ok: false; readonly detail: string }

/** Converts a post of v1.1. */
export function envelopeOfV1Post(post: Members): V1Outcome {
  if (idOf(post) === undefined) {
    const detail = "id" in post ? "`id` as a number has lost its last digits" : "it has none"
    return { ok: false, detail: `A v1.1 post needs its id as a string, in \`id_str\`: ${detail}.` }
  }
  if (textOfPost(post) === undefined) return { ok: false, detail: "A v1.1 post needs `full_text` or `text`." }
  const createdAt = post["created_at"]
  if (createdAt !== undefined && createdAt !== null && timeOf(createdAt) === undefined) {
    return { ok: false, detail: "`created_at` must look like Wed Oct 10 20:19:24 +0000 2018." }
  }
  const included = new IncludedObjects()
  const data = postOf(post, included)
  addUsers(post, included)
  for (const { post: referenced } of referencesOf(post)) {
    if (referenced === undefined || textOfPost(referenced) === undefined) continue
    included.add("tweets", postOf(referenced, included))
    addUsers(referenced, included)
  }
  return { ok: true, envelope: included.envelopeOf(data) }
}

/** The id: exact in `id_str`; in `id` only while a number can hold it. */
function idOf(object: Members): string | undefined {
  const { id_str: text, id } = object
  if (typeof text === "string") return text
  if (typeof id === "string") return id
  return typeof id === "number" && Number.isSafeInteger(id) ? String(id) : undefined
}

/** The id under a name such as `in_reply_to_user_id`, as `idOf` takes it. */
function idNamed(post: Members, name: string): string | undefined {
  return idOf({ id_str: post[`${name}_str`], id: post[name] })
}

function textOfPost(post: Members): string | undefined {
  const { full_text: full, text } = { ...post, ...objectOf(post["extended_tweet"]) } as Members
  return typeof full === "string" ? full : typeof text === "string" ? text : undefined
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

/** `Wed Oct 10 20:19:24 +0000 2018` as RFC 3339. */
function timeOf(value: unknown): string | undefined {
  const form = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) (\d{2}) (\d{2}):(\d{2}):(\d{2}) \+0000 (\d{4})$/
  const [, month = "", day, hour, minute, second, year] = form.exec(String(value)) ?? []
  const at = months.indexOf(month) + 1
  if (at === 0) return undefined
  return `${year ?? ""}-${String(at).padStart(2, "0")}-${day ?? ""}T${hour ?? ""}:${minute ?? ""}:${second ?? ""}.000Z`
}

interface Reference {
  readonly type: "retweeted" | "quoted" | "replied_to"
  readonly id: string
  readonly post: Members | undefined
}

/** The references of a post. A v1.1 repost of a quote has the quote too, which in v2 only the original has. */
function referencesOf(post: Members): readonly Reference[] {
  const reference = (type: Reference["type"], id: string | undefined, of?: Members): readonly Reference[] =>
    id === undefined ? [] : [{ type, id, post: of }]
  const reposted = objectOf(post["retweeted_status"])
  if (reposted !== undefined) return reference("retweeted", idOf(reposted), reposted)
  const quoted = objectOf(post["quoted_status"])
  return [
    ...reference("quoted", idNamed(post, "quoted_status_id") ?? (quoted && idOf(quoted)), quoted),
    ...reference("replied_to", idNamed(post, "in_reply_to_status_id")),
  ]
}

/** The post object. Its media and its place are added to what is included. */
function postOf(post: Members, included: IncludedObjects): Members {
  const whole: Members = { ...post, ...objectOf(post["extended_tweet"]) }
  const media = mediaOf(whole)
  for (const one of media) included.add("media", one)
  const references = referencesOf(post).map(({ type, id }) => ({ type, id }))
  const history = textsOf(objectOf(post["edit_history"])?.["edit_tweet_ids"])
  return (
    membersOf({
      id: idOf(post),
      text: textOfPost(post),
      author_id: idOf(objectOf(post["user"]) ?? {}),
      created_at: timeOf(post["created_at"]),
      lang: textOf(post["lang"]),
      in_reply_to_user_id: idNamed(post, "in_reply_to_user_id"),
      referenced_tweets: itemsOf(references),
      entities: entitiesOf(whole),
      attachments: media.length === 0 ? undefined : { media_keys: media.map(({ media_key: key }) => key) },
      geo: geoOf(post, included),
      public_metrics: membersOf({
        retweet_count: numberOf(post["retweet_count"]),
        reply_count: numberOf(post["reply_count"]),
        like_count: numberOf(post["favorite_count"]),
        quote_count: numberOf(post["quote_count"]),
      }),
      possibly_sensitive: booleanOf(post["possibly_sensitive"]),
      source: textOf(post["source"])?.replace(/^<a [^>]*>(.*)<\/a>$/s, "$1"),
      display_text_range: rangeOf(whole["display_text_range"]),
      scopes: membersOf({ followers: booleanOf(objectOf(post["scopes"])?.["followers"]) }),
      withheld: withheldOf(post),
      edit_history_tweet_ids: itemsOf(history),
    }) ?? {}
  )
}

function withheldOf(object: Members): Members | undefined {
  return membersOf({
    copyright: booleanOf(object["withheld_copyright"]),
    country_codes: itemsOf(textsOf(object["withheld_in_countries"])),
    scope: textOf(object["withheld_scope"]),
  })
}

function rangeOf(value: unknown): readonly number[] | undefined {
  const numbers = Array.isArray(value) ? value.filter((item) => typeof item === "number") : []
  return numbers.length === 2 ? numbers : undefined
}

function placed({ indices }: Members): Members {
  const [start, end] = rangeOf(indices) ?? []
  return { ...(start !== undefined && { start }), ...(end !== undefined && { end }) }
}

function entitiesOf(post: Members): Members | undefined {
  const entities = objectOf(post["entities"]) ?? {}
  const tags = (name: string) => objectsOf(entities[name]).map((one) => ({ ...placed(one), tag: one["text"] }))
  // The links of media stand in an object of their own, once for each medium in `extended_entities`.
  const media = objectsOf((objectOf(post["extended_entities"]) ?? entities)["media"])
  return membersOf({
    hashtags: itemsOf(tags("hashtags")),
    cashtags: itemsOf(tags("symbols")),
    mentions: itemsOf(
      objectsOf(entities["user_mentions"]).map((one) => ({
        ...placed(one),
        ...membersOf({ username: textOf(one["screen_name"]), id: idOf(one) }),
      })),
    ),
    urls: itemsOf([
      ...objectsOf(entities["urls"]).map(urlOf),
      ...media.map((one) => ({ ...urlOf(one), media_key: mediaKeyOf(one) })),
    ]),
  })
}

function urlOf(entity: Members): Members {
  const unwound = objectOf(entity["unwound"]) ?? {}
  return {
    ...placed(entity),
    ...membersOf({
      url: textOf(entity["url"]),
      expanded_url: textOf(entity["expanded_url"]),
      display_url: textOf(entity["display_url"]),
      unwound_url: textOf(unwound["url"]),
      status: numberOf(unwound["status"]),
      title: textOf(unwound["title"]),
      description: textOf(unwound["description"]),
    }),
  }
}

/** The place of a post. `coordinates` is GeoJSON, longitude first; the older `geo` has the latitude first. */
function geoOf(post: Members, included: IncludedObjects): Members | undefined {
  const place = objectOf(post["place"])
  if (place !== undefined) included.add("places", placeOf(place))
  const point = rangeOf(objectOf(post["coordinates"])?.["coordinates"])
  const older = rangeOf(objectOf(post["geo"])?.["coordinates"])?.toReversed()
  const coordinates = point ?? older
  return membersOf({
    place_id: textOf(place?.["id"]),
    coordinates: coordinates && { type: "Point", coordinates },
  })
}

function placeOf(place: Members): Members {
  const rings = objectOf(place["bounding_box"])?.["coordinates"]
  const ring: unknown = Array.isArray(rings) ? rings[0] : undefined
  const corners = Array.isArray(ring) ? ring.map((corner: unknown) => rangeOf(corner) ?? []) : []
  const longitudes = corners.flatMap(([longitude]) => longitude ?? [])
  const latitudes = corners.flatMap(([, latitude]) => latitude ?? [])
  const box = [Math.min(...longitudes), Math.min(...latitudes), Math.max(...longitudes), Math.max(...latitudes)]
  return {
    ...membersOf({
      id: textOf(place["id"]),
      full_name: textOf(place["full_name"]),
      name: textOf(place["name"]),
      country: textOf(place["country"]),
      country_code: textOf(place["country_code"]),
      place_type: textOf(place["place_type"]),
    }),
    ...(latitudes.length > 0 && { geo: { type: "Feature", bbox: box, properties: {} } }),
  }
}

/** The author, and whom the post replies to as far as the post says: `to:` goes by the name. */
function addUsers(post: Members, included: IncludedObjects): void {
  const author = objectOf(post["user"])
  if (author !== undefined) included.add("users", userOf(author))
  const id = idNamed(post, "in_reply_to_user_id")
  const username = textOf(post["in_reply_to_screen_name"])
  if (id === undefined || username === undefined) return
  const mentions = objectsOf(objectOf(post["entities"])?.["user_mentions"])
  const name = textOf(mentions.find((one) => idOf(one) === id)?.["name"])
  included.add("users", { id, username, ...(name !== undefined && { name }) })
}

function userOf(user: Members): Members {
  const described = objectOf(objectOf(user["entities"])?.["description"])
  const linked = objectOf(objectOf(user["entities"])?.["url"])
  const links = (of: Members | undefined) => {
    const urls = itemsOf(objectsOf(of?.["urls"]).map(urlOf))
    return urls && { urls }
  }
  return (
    membersOf({
      id: idOf(user),
      username: textOf(user["screen_name"]),
      name: typeof user["name"] === "string" ? user["name"] : undefined,
      created_at: timeOf(user["created_at"]),
      description: textOf(user["description"]),
      location: textOf(user["location"]),
      url: textOf(user["url"]),
      entities: membersOf({ url: links(linked), description: links(described) }),
      protected: booleanOf(user["protected"]),
      verified: booleanOf(user["verified"]),
      profile_image_url: textOf(user["profile_image_url_https"]) ?? textOf(user["profile_image_url"]),
      profile_banner_url: textOf(user["profile_banner_url"]),
      public_metrics: membersOf({
        followers_count: numberOf(user["followers_count"]),
        following_count: numberOf(user["friends_count"]),
        tweet_count: numberOf(user["statuses_count"]),
        listed_count: numberOf(user["listed_count"]),
      }),
      withheld: withheldOf(user),
    }) ?? {}
  )
}
