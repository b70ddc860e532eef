import { indexTermsOf, type EarlierPosts, type RuleEnvelope } from "@sluice/rules"
import type { StoredPost } from "../model/post.ts"
import type { IndexedPost } from "../store/search-index.ts"

/** A stored post as the index has it. `earlier` learns its places. */
export function indexedPost({ id, json }: StoredPost, earlier: EarlierPosts): IndexedPost {
  const envelope = JSON.parse(json) as RuleEnvelope
  earlier.learnPlacesOf(envelope)
  return { id, terms: indexTermsOf(envelope) }
}
