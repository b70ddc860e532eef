/**
 * Which dead letters become retries at once: the links with the fewest retries come first, of each link the oldest.
 *
 * A link may have a million of them, and a million links may have one: so the retries, and the work to find room for
 * them, are bounded over all links.
 */
import type { LinkId } from "../../model/ids.ts"
import { redeliveredMax, retriesSummedMax } from "../bounds.ts"
import type { RetryRoom } from "./retry-room.ts"

/** The order of links, for those that are not read in it. */
export function fewestRetriesFirst(
  a: { readonly id: LinkId; readonly retries: number },
  b: { readonly id: LinkId; readonly retries: number },
): number {
  return a.retries - b.retries || Number(BigInt(a.id) - BigInt(b.id))
}

/** The order of a link's dead letters, for those that are not read in it. */
export function oldestFirst(
  a: { readonly id: string; readonly deadLetteredAtMs: number },
  b: { readonly id: string; readonly deadLetteredAtMs: number },
): number {
  return a.deadLetteredAtMs - b.deadLetteredAtMs || Number(BigInt(a.id) - BigInt(b.id))
}

/** The room of all links for one call. */
export class FairRedelivery {
  #left = redeliveredMax
  #summed = 0
  readonly #full = new Set<LinkId>()

  /** How many more dead letters become retries. */
  get left(): number {
    return this.#left
  }

  /** Whether the next link, which has so many retries, has its turn. When it has not, no later one has. */
  begin(retries: number): boolean {
    if (this.#left === 0 || this.#summed > retriesSummedMax) return false
    this.#summed += retries
    return true
  }

  /** Takes the next dead letter of a link. After the first for which there is no room it takes none of this link. */
  take(linkId: LinkId, room: RetryRoom | undefined, bytes: number): boolean {
    if (this.#left === 0 || this.#full.has(linkId)) return false
    if (room?.take(bytes) !== true) {
      this.#full.add(linkId)
      return false
    }
    this.#left -= 1
    return true
  }
}
