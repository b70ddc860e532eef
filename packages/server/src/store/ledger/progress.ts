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
  for (const { position, retries, dead, settled, delivered } of all) {
    const outstandingBefore = link.outstanding
    for (const retry of retries) link.retry(retry)
    // Before the settled ones: the new dead letters are among them.
    for (const match of dead) link.deadLetter(match)
    for (const seq of settled) link.deliver(seq)
    link.delivered += deliveredBy(delivered, position - link.position, link.outstanding - outstandingBefore)
    link.moveTo(position)
  }
  return link.change()
}

/**
 * How many of the matches that are delivered by their sender's count become so. A match that retention took on its way
 * counts as missed, whether it arrives after all or not, and progress that is saved twice counts once: so no more than
 * the cursor passes and no retry or dead letter takes.
 */
function deliveredBy(delivered: number, passed: number, outstandingBy: number): number {
  return Math.max(Math.min(delivered, Math.max(passed, 0) - outstandingBy), 0)
}

/**
 * Whether progress is nothing but deliveries that succeeded, of each link once. Then of each link its change is a cursor,
 * never back, and `delivered`, which grows by no more than the cursor moves: a store may write that without a read.
 */
export function isDeliveredOnly(all: readonly LinkProgress[]): boolean {
  return (
    all.every((progress) => namedIn(progress).length === 0) &&
    new Set(all.map(({ linkId }) => linkId)).size === all.length
  )
}
