/**
 * Checksums of what is shown to people, made when it is stored and compared whenever it is read.
 *
 * SQLite notices a damaged page only when its structure is; a flipped bit within a text passes. A post has three:
 * `head` over what timelines filter by, and one for each of its texts, so that every read proves what it shows and
 * touches no more. All of them hold the id, so that a text never passes for another post's.
 */
import { crc32 } from "node:zlib"

/** What timelines filter by, as the store has it. */
interface PostHead {
  readonly author_id: string | null
  readonly created_at_ms: number
  readonly is_reply: number
  readonly is_repost: number
}

/** Of one of a post's two texts. Of what is no text, as damage may leave it, one that equals none. */
export function textChecksum(postId: string, text: unknown): number {
  return typeof text === "string" ? crc32(text, crc32(postId)) : Number.NaN
}

/** Of what timelines filter by. */
export function headChecksum(postId: string, head: PostHead): number {
  const { author_id: author, created_at_ms: createdAtMs, is_reply: isReply, is_repost: isRepost } = head
  return crc32(`${postId} ${author ?? "-"} ${createdAtMs} ${isReply} ${isRepost}`)
}

/** Of an entry of a match log. */
export function matchChecksum(
  appId: string,
  entry: { readonly seq: number; readonly post_id: string; readonly at_ms: number; readonly rules: string },
): number {
  return crc32(`${appId} ${entry.seq} ${entry.post_id} ${entry.at_ms} ${entry.rules}`)
}
