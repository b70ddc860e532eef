/** The sources that stream connections read: records one after the other, from the place of a connection. */
import type { AppId, MatchSeq } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import type { Clock } from "../../runtime/clock.ts"
import { follow } from "../../store/follow.ts"
import type { Store } from "../../store/store.ts"
import type { LineFormat, StreamRecord } from "./line-format.ts"

/** Records read at a time: about what a socket takes in at once. Ours. */
const batchMax = 128

/** A source of records, for one connection. Only the source, never the writer, says what is to be written next. */
export interface StreamSource<Entry extends StreamRecord = StreamRecord> {
  readonly format: LineFormat<Entry>
  /** Whether it comes to an end by itself. */
  readonly hasEnd: boolean
  /**
   * The records after those that were taken, in batches that are not empty, until `signal` or the end. Throws when a record
   * that was to come is gone, where that may not be.
   */
  read(signal: AbortSignal): AsyncIterable<readonly Entry[]>
  /** Notes that the first `count` records of the batch that was read last are written: those after them are read again. */
  take(batch: readonly Entry[], count: number): void
  /** Throws unless everything up to the end has been taken. */
  requireEnd(): void
}

/** Which part of an app's log a connection serves. */
export interface StreamSpan {
  readonly appId: AppId
  /** Exclusive. */
  readonly after: MatchSeq
  /** Inclusive. Absent: there is no end. */
  readonly upTo?: MatchSeq
}

/**
 * The matches of a part of an app's log. It throws when retention has deleted the match that was to come next: a client
 * that is disconnected reconnects and finds out what is left; one that is not would never know.
 */
export function logSource(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { appId, after, upTo }: StreamSpan,
  format: LineFormat<MatchEntry>,
): StreamSource<MatchEntry> {
  const { shape } = format
  let taken = after
  return {
    format,
    hasEnd: upTo !== undefined,
    async *read(signal) {
      const span = { appId, after: taken, ...(upTo !== undefined && { upTo }), shape, batchMax }
      for await (const entries of follow(store, clock, span, signal)) {
        refuseGap(taken, entries)
        yield entries
      }
    },
    take(entries, count) {
      taken = entries[count - 1]?.seq ?? taken
    },
    requireEnd() {
      if (upTo !== undefined && taken < upTo) throw missing(taken + 1, upTo)
    },
  }
}

/** A log has no gaps but those that retention makes. */
function refuseGap(taken: MatchSeq, entries: readonly MatchEntry[]): void {
  let expected = taken + 1
  for (const { seq } of entries) {
    if (seq !== expected) throw missing(expected, seq - 1)
    expected += 1
  }
}

function missing(from: number, to: number): Error {
  return new Error(`retention took the matches from ${from} to ${to} before they were read`)
}
