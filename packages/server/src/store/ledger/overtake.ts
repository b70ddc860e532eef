/**
 * Changes of a link whose cursor retention passes: the matches beyond the cursor are missed, and a gap marker records
 * them.
 */
import type { MatchSeq } from "../../model/ids.ts"
import type { GapMarker } from "../../model/link.ts"

/** A cursor that is moved on to where retention is. */
export interface Overtaken {
  /** How many matches the link misses. */
  readonly missed: number
  /** The gap that is announced. */
  readonly gap: GapMarker
  /** The marker that is put, in the place of the one with the same `from`: the newest one grows when nothing is between. */
  readonly marker: GapMarker
}

/** Moves a link's cursor on and records the missed matches. `newest` is its newest gap marker. */
export function overtake(
  { position, newest }: { readonly position: MatchSeq; readonly newest: Pick<GapMarker, "from" | "to"> | undefined },
  to: MatchSeq,
  atMs: number,
): Overtaken {
  const gap = { from: (position + 1) as MatchSeq, to, atMs }
  const from = newest?.to === position ? newest.from : gap.from
  return { missed: to - position, gap, marker: { ...gap, from } }
}
