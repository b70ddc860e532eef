import { expansions, mediaFields, placeFields, postFields, userFields } from "@sluice/api/fields"

/** The query that asks for everything of a post, so that a page can say why a rule matches it. */
export const wholePost = {
  "tweet.fields": postFields,
  "user.fields": userFields,
  "media.fields": mediaFields,
  "place.fields": placeFields,
  expansions,
} as const
