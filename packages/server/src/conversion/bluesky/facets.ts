/**
 * Facets of a post's text: its links, hashtags and mentions, at offsets in UTF-8 bytes.
 *
 * Clients write facets, and nothing compares them with the text. So those that lie out of the text, within a character or
 * over an earlier one are dropped, and a hashtag that the text does not show stands at its end.
 * Source: `app.bsky.richtext.facet`.
 */
import type { UserId } from "../../model/ids.ts"
import type { KnownNames } from "../converter.ts"
import type { EntityLists } from "../entities.ts"
import { foreignUserId, isDid } from "../foreign-ids.ts"
import { filledOf, itemsOf, memberOf, objectOf, stringOf, wholeOf, type Members } from "../records.ts"
import { partsByBytes, type TextPart } from "../text-offsets.ts"

/** Most facets of a post that are read. Ours: the text has 300 characters, and recorded posts have at most 20. */
const facetsMax = 1_000

/** A part of the text, and what a facet makes of it. */
export type Facet = TextPart &
  (
    | { readonly kind: "link"; readonly uri: string }
    | { readonly kind: "tag"; readonly tag: string }
    | { readonly kind: "mention"; readonly did: string; readonly id: UserId }
  )

/** The facets of a text in its order; no two overlap. */
export function facetsOf(text: string, value: unknown): readonly Facet[] {
  const items = itemsOf(value)
  if (items.length === 0) return []
  const partOf = partsByBytes(text)
  const facets: Facet[] = []
  for (const item of items.slice(0, facetsMax)) {
    const index = memberOf(item, "index")
    const part = partOf(wholeOf(memberOf(index, "byteStart")) ?? -1, wholeOf(memberOf(index, "byteEnd")) ?? -1)
    const facet = part === undefined ? undefined : facetAt(part, memberOf(item, "features"))
    if (facet !== undefined) facets.push(facet)
  }
  // Sorting keeps the order of the record among those that begin together.
  facets.sort((a, b) => a.start - b.start)
  let end = 0
  return facets.filter((facet) => {
    if (facet.start < end) return false
    ;({ end } = facet)
    return true
  })
}

/** The facet by the first feature that is known. */
function facetAt(part: TextPart, features: unknown): Facet | undefined {
  for (const item of itemsOf(features)) {
    const feature = objectOf(item)
    const facet = feature === undefined ? undefined : facetOf(part, feature)
    if (facet !== undefined) return facet
  }
  return undefined
}

function facetOf(part: TextPart, feature: Members): Facet | undefined {
  switch (feature.$type) {
    case "app.bsky.richtext.facet#link": {
      const uri = filledOf(feature.uri)
      return uri === undefined ? undefined : { ...part, kind: "link", uri }
    }
    case "app.bsky.richtext.facet#tag": {
      const tag = stringOf(feature.tag)?.replace(/^[#＃]/, "")
      return tag === undefined || tag === "" ? undefined : { ...part, kind: "tag", tag }
    }
    case "app.bsky.richtext.facet#mention": {
      const { did } = feature
      return typeof did === "string" && isDid(did)
        ? { ...part, kind: "mention", did, id: foreignUserId(did) }
        : undefined
    }
    default:
      return undefined
  }
}

/** Adds the facets to the entities of the text, which ends at `textEnd`. */
export function addFacets(
  facets: readonly Facet[],
  {
    entities,
    textEnd,
    known,
  }: { readonly entities: EntityLists; readonly textEnd: number; readonly known: KnownNames },
): void {
  for (const facet of facets) {
    const { start, end, text } = facet
    if (facet.kind === "link") {
      const { uri } = facet
      entities.urls.push({ start, end, url: uri, expanded_url: uri, display_url: text })
    } else if (facet.kind === "mention") {
      const { did, id } = facet
      const username = text.startsWith("@") && text.length > 1 ? text.slice(1) : (known.user(id)?.username ?? did)
      entities.mentions.push({ start, end, username, id })
    } else if (/^[#＃]/.test(text) && text.slice(1).toLowerCase() === facet.tag.toLowerCase()) {
      entities.hashtags.push({ start, end, tag: text.slice(1) })
    } else {
      entities.addUnshown(facet.tag, textEnd)
    }
  }
}
