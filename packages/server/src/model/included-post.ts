/** A post in the `includes` of a stored one, in the form in which stored posts are read. */
import { elementsOf, membersOf, objectOf, textOf } from "./json-text.ts"
import type { PostId } from "./ids.ts"
import { coreJson, type PostShape } from "./post.ts"

/**
 * The text of a post that came in the `includes` of an envelope: its core, or an envelope of it that has the same
 * `includes`, so that expansions find there what came along. `undefined` when there is none of the id that has a text.
 */
export function includedPostJson(envelopeJson: string, id: PostId, shape: PostShape): string | undefined {
  const includes = membersOf(envelopeJson).get("includes") ?? ""
  for (const json of elementsOf(membersOf(includes).get("tweets") ?? "")) {
    const members = membersOf(json)
    const text = textOf(members.get("text"))
    if (textOf(members.get("id")) !== id || text === undefined) continue
    if (shape === "envelope") return objectOf(Object.entries({ data: json, includes }))
    const history = elementsOf(members.get("edit_history_tweet_ids") ?? "").flatMap((one) => textOf(one) ?? [])
    return coreJson({ id, text, edit_history_tweet_ids: history.length === 0 ? [id] : history })
  }
  return undefined
}
