/**
 * A post in which some operators hold, written operator by operator: words into its text, names into its marks, links
 * into its entities, users, places and media into what is included.
 *
 * A post can be written in several ways (`Style`), because operators that must not hold may be met by accident: by the
 * words that stand where nothing is asked for, by two parts of the text that happen to follow each other, by the text
 * of a hashtag. A field that two operators want with different values, such as the language, is written for the first;
 * the post is compared with the rule afterwards in any case.
 */

import { containsPoint, type Area, type Point } from "../language/area.ts"
import type { KeyName, Operator } from "../language/rule.ts"
import { isSampled } from "../meaning/sample.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"
import type { Literal } from "./branches.ts"
import { envelopeOf } from "./draft-envelope.ts"
import { emptyDraft, type DraftPost, type DraftUser, type Style } from "./draft.ts"
import { linkOfPart, linkOfWords, textOfWords } from "./written-words.ts"

/** The post of these literals in this style. */
export function draftPost(literals: readonly Literal[], style: Style): RuleEnvelope {
  const draft = emptyDraft(style)
  for (const { operator, isPositive } of literals) if (isPositive) write(draft, operator)
  draft.id = sampledId(literals, style.id)
  writeCounts(draft, literals)
  const point = pointOf(literals)
  if (point !== undefined) draft.point = point
  return envelopeOf(draft)
}

/** Writes what the operator asks for. Counts, areas and samples are chosen for all operators together. */
function write(draft: DraftPost, operator: Operator): void {
  const { mode, filler } = draft.style
  const host = `${filler}.example`
  switch (operator.kind) {
    case "words": {
      const { name, value, words } = operator
      if (name === "url") {
        draft.links.push({ url: linkOfWords(value, words, mode, host) })
        return
      }
      const text = textOfWords(value, words, mode)
      if (name === "bio") draft.bio.push(text)
      else if (name === "bio_name") draft.bioName.push(text)
      else if (name === "bio_location") draft.bioLocation.push(text)
      else if (name === "url_title") draft.links.push({ url: `https://${host}/`, title: text })
      else if (name === "url_description") draft.links.push({ url: `https://${host}/`, description: text })
      else draft.texts.push(text)
      return
    }
    case "near":
      draft.texts.push(textOfWords(operator.value, operator.words, mode))
      return
    case "contains":
      draft.links.push({ url: linkOfPart(operator.value, host) })
      return
    case "key":
      writeKey[operator.name](draft, operator.value, operator.key)
      return
    default:
      return
  }
}

type WriteKey = (draft: DraftPost, value: string, key: string) => void

const writeKey: Readonly<Record<KeyName, WriteKey>> = {
  hashtag: ({ hashtags }, value) => void hashtags.push(value),
  mention: ({ mentions }, value) => void mentions.push(value),
  cashtag: ({ cashtags }, value) => void cashtags.push(value),
  from: ({ author }, value) => nameUser(author, value),
  to(draft, value) {
    draft.flags.add("reply")
    nameUser(draft.repliedTo, value)
  },
  retweets_of(draft, value) {
    draft.flags.add("retweet")
    nameUser(draft.reposted, value)
  },
  from_affiliate_of: ({ author }, value) => void author.affiliations.push(value),
  to_affiliate_of(draft, value) {
    draft.flags.add("reply")
    draft.repliedTo.affiliations.push(value)
  },
  context({ contexts }, value) {
    const [domain = "*", entity = "*"] = value.split(".")
    contexts.push({ domain: domain === "*" ? "131" : domain, entity: entity === "*" ? "1" : entity })
  },
  entity: ({ entities }, value) => void entities.push(value),
  conversation_id: (draft, value) => void (draft.conversationId ??= value),
  in_reply_to_tweet_id: (draft, value) => void (draft.replyTo ??= value),
  retweets_of_tweet_id: (draft, value) => void (draft.repostOf ??= value),
  quotes_of_tweet_id: (draft, value) => void (draft.quoteOf ??= value),
  place: ({ places }, value) => void places.push(value),
  place_country: (draft, value) => void (draft.country ??= value.toUpperCase()),
  source: (draft, value) => void (draft.source ??= value),
  lang: (draft, value) => void (draft.language ??= value),
  is(draft, _value, key) {
    if (key === "nullcast") draft.source ??= "Twitter for Advertisers"
    else draft.flags.add(key)
  },
  has(draft, _value, key) {
    if (key === "images" || key === "media") draft.mediaKinds.push("photo")
    else if (key === "video_link") draft.mediaKinds.push("video")
    else draft.flags.add(`has ${key}`)
  },
}

/** A user has one id and one name; digits may be either. */
function nameUser(user: DraftUser, value: string): void {
  if (/^\d{1,19}$/.test(value) && user.id === undefined) user.id = value
  else user.username ??= value.replace(/^[@＠]/u, "")
}

/** Most ids that are tried: one in a hundred is in the smallest sample. Ours. */
const sampledIdsMax = 5_000

/** The first id, from the given one on, that is in the samples. */
function sampledId(literals: readonly Literal[], first: string): string {
  const samples = literals.flatMap(({ operator, isPositive }) =>
    operator.kind === "sample" ? [{ percent: operator.percent, isPositive }] : [],
  )
  if (samples.length === 0) return first
  for (let tried = 0n; tried < sampledIdsMax; tried++) {
    const id = String(BigInt(first) + tried)
    if (samples.every(({ percent, isPositive }) => isSampled(id, percent) === isPositive)) return id
  }
  return first
}

/** A number within the bounds that hold, outside of those that must not. One that is not asked for stays unknown. */
function writeCounts({ counts }: DraftPost, literals: readonly Literal[]): void {
  const bounds = literals.flatMap(({ operator, isPositive }) =>
    operator.kind === "count" ? [{ ...operator, most: operator.most ?? Infinity, isPositive }] : [],
  )
  for (const name of new Set(bounds.filter(({ isPositive }) => isPositive).map((one) => one.name))) {
    const own = bounds.filter((one) => one.name === name)
    const candidates = own.flatMap(({ least, most }) => [least, least - 1, most + 1]).filter((one) => one >= 0)
    const found = candidates.find((count) =>
      own.every(({ least, most, isPositive }) => (count >= least && count <= most) === isPositive),
    )
    if (found !== undefined) counts.set(name, found)
  }
}

/** A point in all areas that must hold and in no other; `undefined`: none is asked for, or none was found. */
function pointOf(literals: readonly Literal[]): Point | undefined {
  const areas = literals.flatMap(({ operator, isPositive }) =>
    operator.kind === "area" ? [{ area: operator.area, isPositive }] : [],
  )
  if (!areas.some(({ isPositive }) => isPositive)) return undefined
  const candidates = areas.flatMap(({ area }) => pointsOf(area))
  return candidates.find((point) => areas.every(({ area, isPositive }) => containsPoint(area, point) === isPositive))
}

/** Degrees of latitude that a kilometre takes. */
const degreesPerKm = 1 / 111.32

/** The centre of an area, and points across it and at its edges. */
function pointsOf(area: Area): readonly Point[] {
  const [west, south, east, north] = area.kind === "box" ? area.box : boxAround(area)
  const width = east >= west ? east - west : east - west + 360
  const shares = [0.5, 0.25, 0.75, 0, 1, 0.1, 0.9]
  return shares.flatMap((up) =>
    shares.map((along): Point => {
      const longitude = west + width * along
      return [longitude > 180 ? longitude - 360 : longitude, Math.min(south + (north - south) * up, north)]
    }),
  )
}

function boxAround({ centre: [longitude, latitude], radiusKm }: Extract<Area, { kind: "circle" }>) {
  const up = radiusKm * degreesPerKm
  const along = Math.min(180, up / Math.max(0.01, Math.cos((latitude * Math.PI) / 180)))
  const west = longitude - along < -180 ? longitude - along + 360 : longitude - along
  const east = longitude + along > 180 ? longitude + along - 360 : longitude + along
  return [west, Math.max(-90, latitude - up), east, Math.min(90, latitude + up)] as const
}
