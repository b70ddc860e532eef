/**
 * Checksums of what is shown to people, made when it is stored and compared whenever it is read.
 *
 * SQLite notices a damaged page only when its structure is; a flipped bit within a text passes. A post has three:
 * `head` over what timelines filter by, and one for each of its texts, so that every read proves what it shows and
 * touches no more. All of them hold the id, so that a text never passes for another post's.
 */
import { crc32 } from "node:zlib"

/** The columns that timelines filter by, as stored. */
export interface PostHead {
  readonly authorId: string | null
  readonly createdAtMs: number
  readonly isReply: number
  readonly isRepost: number
}

/** An entry of a match log, as the store has it. */
export interface LoggedMatch {
  readonly seq: number
  readonly postId: string
  readonly atMs: number
  readonly rules: string
}

/** Checksum of one of a post's two texts. A value that damage left as no text gets one that equals no other. */
export function textChecksum(postId: string, text: unknown): number {
  return typeof text === "string" ? crc32(text, crc32(postId)) : Number.NaN
}

/** Checksum of one of a post's two texts in UTF-8. */
export function bytesChecksum(postId: string, text: Uint8Array): number {
  return crc32(text, crc32(postId))
}

/** Checksum of the columns that timelines filter by. */
export function headChecksum(postId: string, head: PostHead): number {
  return crc32(`${postId} ${head.authorId ?? "-"} ${head.createdAtMs} ${head.isReply} ${head.isRepost}`)
}

/** Checksum of an entry of a match log. */
export function matchChecksum(appId: string, { seq, postId, atMs, rules }: LoggedMatch): number {
  return crc32(`${appId} ${seq} ${postId} ${atMs} ${rules}`)
}
