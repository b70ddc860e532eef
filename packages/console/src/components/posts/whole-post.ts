import type { Envelope, IncludesIn, PostIn } from "@sluice/api"
import { expansions, mediaFields, placeFields, postFields, userFields } from "@sluice/api/fields"

/** The query that asks for everything of a post, so that a page can say why a rule matches it. */
export const wholePost = {
  "tweet.fields": postFields,
  "user.fields": userFields,
  "media.fields": mediaFields,
  "place.fields": placeFields,
  expansions,
} as const

/** A post of a response to such a query as the envelope that pages show: an envelope may have any further member. */
export function envelopeOf(post: PostIn<"old">, includes: IncludesIn<"old"> | undefined): Envelope {
  const envelope: { readonly data: object; readonly includes?: object } = {
    data: post,
    ...(includes !== undefined && { includes }),
  }
  return envelope as Envelope
}
