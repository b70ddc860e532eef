/**
 * The id of a delivery, `webhook-id`: one match of one link, the same over every attempt, and never two matches.
 *
 *     msg_<link>_<position>           in the first epoch of the app's match log
 *     msg_<link>_<epoch>_<position>   in a later one
 *
 * A store that goes on from a copy gives its next matches the positions that the original gave to others after the copy
 * was made. So a copy begins a new epoch (`store/epochs.ts`): the matches that it has keep their ids, and those that it
 * appends get ids that no store has given out.
 */
import { asId, isId, type LinkId, type MatchSeq } from "./ids.ts"
import type { LinkMatch } from "./redelivery.ts"

/** A stretch of an app's match log: from this position to the one before the next epoch. */
export interface LogEpoch {
  readonly fromSeq: MatchSeq
  /** 12 random hexadecimal digits. */
  readonly epoch: string
}

/** The epoch of a match; `undefined` for the first one of a log. `epochs` are those of the log after the first, in any order. */
export function epochAt(epochs: readonly LogEpoch[] | undefined, seq: MatchSeq): string | undefined {
  let found: LogEpoch | undefined
  for (const one of epochs ?? []) if (one.fromSeq <= seq && one.fromSeq > (found?.fromSeq ?? 0)) found = one
  return found?.epoch
}

/** The id of the deliveries of a match over a link. `epoch` is absent for a match of its log's first epoch. */
export function eventIdOf({ linkId, seq, epoch }: LinkMatch): string {
  return epoch === undefined ? `msg_${linkId}_${seq}` : `msg_${linkId}_${epoch}_${seq}`
}

const eventIdForm = /^msg_(?<link>0|[1-9]\d{0,18})_(?:(?<epoch>[0-9a-f]{12})_)?(?<seq>[1-9]\d{0,14})$/

/** The match that an event id names; `undefined` when it is not of the form that `eventIdOf` makes. */
export function matchOfEventId(eventId: string): LinkMatch | undefined {
  const { link = "", epoch, seq } = eventIdForm.exec(eventId)?.groups ?? {}
  if (!isId(link)) return undefined
  return { linkId: asId<LinkId>(link), seq: Number(seq) as MatchSeq, ...(epoch !== undefined && { epoch }) }
}
