/**
 * The request of an attempt, made again from the match: deliveries are not stored a second time.
 *
 * A link's choice of fields never changes, and a post only when what it includes is deleted; so what is rendered now is
 * what was rendered then but for that, as long as retention has left the match.
 */
import type { StoredAttempt } from "../../../model/attempt.ts"
import type { LinkToDeliver } from "../../../model/link.ts"
import { selectionOfQuery } from "../../../model/link-query.ts"
import { renderDelivery, shapeFor } from "../../../model/render-post.ts"
import type { MatchLogReads } from "../../../store/port/match-log.ts"

/** An attempt, where it was sent, and the body. */
export interface AttemptSent {
  readonly attempt: StoredAttempt
  readonly url: string
  /** `gone`: retention has deleted the match. `damaged`: the stored post is not as it was stored. `deleted`: it has been deleted. */
  readonly body:
    | { readonly kind: "whole"; readonly text: string }
    | { readonly kind: "gone" }
    | { readonly kind: "damaged" }
    | { readonly kind: "deleted" }
}

/** Makes the body of an attempt of a link again. */
export async function attemptSent(
  store: Pick<MatchLogReads, "match">,
  { appId, url, query }: LinkToDeliver,
  attempt: StoredAttempt,
): Promise<AttemptSent> {
  const selection = selectionOfQuery(query)
  const entry = await store.match(appId, attempt.seq, shapeFor(selection))
  if (entry === undefined) return { attempt, url, body: { kind: "gone" } }
  const { postJson } = entry
  if (entry.isDeleted === true) return { attempt, url, body: { kind: "deleted" } }
  if (postJson === undefined) return { attempt, url, body: { kind: "damaged" } }
  return { attempt, url, body: { kind: "whole", text: renderDelivery({ ...entry, postJson }, selection) } }
}
