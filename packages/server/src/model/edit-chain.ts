/**
 * Edits of posts. Each version of an edited post is a post of its own, with an id of its own, and names the versions before
 * it in `edit_history_tweet_ids`. The ids of the versions that are known make a chain.
 *
 * Ids ascend with time, so the order of a chain is that of its ids, and no order of arrival changes it. Posts of one version
 * have no chain: nothing is stored for them and nothing is asked.
 *
 * Source: X, "Edit Posts". The bound is ours.
 */
import { elementsOf, membersOf, objectOf, textOf, withMember, withMembers } from "./json-text.ts"
import { asId, compareIds, type PostId } from "./ids.ts"
import type { PostShape, StoredPost } from "./post.ts"

/** Most versions of a post that are kept of one history: the first and the newest. Ours: X's posts have at most six. */
const versionsMax = 100

/** Edits that a post may have. Source: X, "Edit Posts". */
export const editsMax = 5

/** The versions that a post's history names, its own id among them, ascending; undefined when there is but one. */
export function chainOf(id: PostId, history: readonly string[]): readonly PostId[] | undefined {
  if (history.length === 0 || (history.length === 1 && history[0] === id)) return undefined
  const ids = [...new Set([...history.map((one) => asId<PostId>(one)), id])].toSorted(compareIds)
  if (ids.length < 2) return undefined
  if (ids.length <= versionsMax) return ids
  return [...ids.slice(0, 1), ...ids.slice(1 - versionsMax)]
}

/**
 * A stored post with the whole chain: its `core` or envelope. An envelope includes those of `versions`, which are envelopes,
 * that are of the chain and did not come with it.
 */
export function chainsShown(
  { id, json }: StoredPost,
  {
    chain,
    shape,
    versions,
  }: {
    readonly chain: readonly PostId[]
    readonly shape: PostShape
    readonly versions: ReadonlyMap<PostId, string>
  },
): string {
  if (shape === "core") return withChain(json, chain)
  const envelope = membersOf(json)
  const includes = membersOf(envelope.get("includes") ?? "")
  const posts = elementsOf(includes.get("tweets") ?? "").map((post) => {
    const own = chain.find((one) => one === textOf(membersOf(post).get("id")))
    return own === undefined ? post : withChain(post, chain)
  })
  const came = new Set(posts.map((post) => textOf(membersOf(post).get("id"))))
  for (const one of chain) {
    const version = versions.get(one)
    const data = version === undefined ? undefined : membersOf(version).get("data")
    if (one !== id && data !== undefined && !came.has(one)) posts.push(withChain(data, chain))
  }
  if (posts.length > 0) includes.set("tweets", `[${posts.join(",")}]`)
  envelope.set("data", withChain(envelope.get("data") ?? "{}", chain))
  if (includes.size > 0) envelope.set("includes", objectOf(includes))
  return objectOf(envelope)
}

/**
 * The JSON text of a post with the whole chain as its history, and with the edits that are left: X shows those of the
 * newest version with every version.
 */
function withChain(postJson: string, chain: readonly PostId[]): string {
  const left = Math.max(0, editsMax + 1 - chain.length)
  let hasHistory = false
  const whole = withMembers(postJson, (name, value) => {
    if (name === "edit_controls") return withEditsLeft(value, left)
    if (name !== "edit_history_tweet_ids") return value
    hasHistory = true
    return JSON.stringify(chain)
  })
  return hasHistory ? whole : withMember(whole, "edit_history_tweet_ids", JSON.stringify(chain))
}

/** `edit_controls` with the edits that are left, unless it came with fewer. X writes the number as text at times. */
function withEditsLeft(controls: string, left: number): string {
  return withMembers(controls, (name, value) => {
    if (name !== "edits_remaining") return value
    const text = textOf(value)
    if (!(Number(text ?? value) > left)) return value
    return text === undefined ? String(left) : JSON.stringify(String(left))
  })
}
