/** Changes of a link by a save of progress. */
import type { MatchSeq } from "../../model/ids.ts"
import type { LinkProgress } from "../../model/link.ts"
import { LinkLedger, type LinkBefore, type LinkChange } from "./link-change.ts"

/** The matches that progress names: those of which a store reads whether they are retries or dead letters. */
export function namedIn({ retries, dead, settled }: LinkProgress): readonly MatchSeq[] {
  return [...retries.map(({ seq }) => seq), ...dead.map(({ seq }) => seq), ...settled]
}

/** Applies progress of one link in its order. */
export function progressChange(before: LinkBefore, all: readonly LinkProgress[]): LinkChange {
  const link = new LinkLedger(before)
  for (const { position, retries, dead, settled, delivered, withdrawn = 0 } of all) {
    const outstandingBefore = link.outstanding
    for (const retry of retries) link.retry(retry)
    // Before the settled ones: the new dead letters are among them.
    for (const match of dead) link.deadLetter(match)
    for (const seq of settled) link.deliver(seq)
    const ended = { delivered, withdrawn }
    const counted = countedOf(ended, position - link.position, link.outstanding - outstandingBefore)
    link.delivered += counted.delivered
    link.withdrawn += counted.withdrawn
    link.moveTo(position)
  }
  return link.change()
}

/** Matches that have ended on their way, by their sender's count. */
interface EndedMatches {
  readonly delivered: number
  readonly withdrawn: number
}

/**
 * How many of the matches that are delivered or withdrawn by their sender's count become so. A match that retention took
 * on its way counts as missed, whether it arrives after all or not, and progress that is saved twice counts once: so no
 * more than the cursor passes and no retry or dead letter takes.
 */
function countedOf({ delivered, withdrawn }: EndedMatches, passed: number, outstandingBy: number): EndedMatches {
  const most = Math.max(Math.max(passed, 0) - outstandingBy, 0)
  const counted = Math.min(withdrawn, most)
  return { withdrawn: counted, delivered: Math.min(delivered, most - counted) }
}

/**
 * Whether progress is nothing but deliveries that succeeded, of each link once. Then of each link its change is a cursor,
 * never back, and `delivered`, which grows by no more than the cursor moves: a store may write that without a read.
 */
export function isDeliveredOnly(all: readonly LinkProgress[]): boolean {
  return (
    all.every((progress) => namedIn(progress).length === 0 && (progress.withdrawn ?? 0) === 0) &&
    new Set(all.map(({ linkId }) => linkId)).size === all.length
  )
}
