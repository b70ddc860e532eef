/** How many retries a link may have after matches have joined them that are to be sent again, and how large. */
import type { LinkId } from "../../../model/ids.ts"
import { retriesPerLinkMax, retryBytesPerLinkMax } from "../../bounds.ts"
import type { Queries } from "../connection/database.ts"

/**
 * SQL for the bytes to send at most for a match, of a row that has its `app_id` and `seq`: those of the post's envelope,
 * which PostgreSQL knows without reading the text. 0 when there is no match.
 */
export function bytesToSend(table: string): string {
  return `coalesce((SELECT octet_length(envelope) FROM matches JOIN posts ON posts.id = post_id
    WHERE matches.app_id = ${table}.app_id AND matches.seq = ${table}.seq LIMIT 1), 0)`
}

/** The room of one link. */
export class RetryRoom {
  #retries: number
  #bytes: number

  /** For a link that has so many retries, with so many bytes to send. */
  constructor(retries: number, bytes: number) {
    this.#retries = retries
    this.#bytes = bytes
  }

  /** How many more retries it may have. */
  get left(): number {
    return Math.max(retriesPerLinkMax - this.#retries, 0)
  }

  /** Whether there is room for a match of so many bytes. There always is for one, whatever its size. */
  has(bytes: number): boolean {
    return this.left > 0 && (this.#retries === 0 || this.#bytes + bytes <= retryBytesPerLinkMax)
  }

  /** Takes a match of so many bytes, unless there is no room for it. */
  take(bytes: number): boolean {
    if (!this.has(bytes)) return false
    this.#retries += 1
    this.#bytes += bytes
    return true
  }
}

/** The rooms of links that have so many retries. */
export async function retryRooms(
  queries: Queries,
  links: readonly { readonly id: LinkId; readonly retries: number }[],
): Promise<ReadonlyMap<LinkId, RetryRoom>> {
  const withRetries = links.filter(({ retries }) => retries > 0 && retries < retriesPerLinkMax)
  const sums =
    withRetries.length === 0
      ? []
      : await queries.rows<{ linkId: LinkId; bytes: number }>(
          `SELECT link_id AS "linkId", sum(${bytesToSend("retries")}) AS bytes FROM retries
           WHERE link_id = ANY ($1::bigint[]) GROUP BY link_id`,
          withRetries.map(({ id }) => id),
        )
  const bytes = new Map(sums.map((sum) => [sum.linkId, sum.bytes]))
  return new Map(links.map(({ id, retries }) => [id, new RetryRoom(retries, bytes.get(id) ?? 0)]))
}
