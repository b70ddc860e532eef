/** Sources of posts whose position the store keeps: a part of the store (`store.ts`). */
import type { PostId } from "../../model/ids.ts"
import type { PostMatch } from "../../model/match.ts"
import type { AcceptedPost } from "../../model/post.ts"
import type {
  AssignedName,
  SourceAppend,
  SourceDeadLetter,
  StoredSourceGap,
  SourceProgress,
  StoredSource,
} from "../../model/source.ts"
import type { KeysetRange } from "../keyset-range.ts"

/** A page of the dead letters of sources, the newest first. */
export interface SourceDeadLetterRange extends KeysetRange<string> {
  /** Absent: those of all sources. */
  readonly source?: string | undefined
}

/** Reads of sources. */
export interface SourceReads {
  /** Sources that were ever driven, by name. */
  sources(): Promise<readonly StoredSource[]>
  /** Those of the names whose posts have ids that do not follow from them. */
  assignedNames(names: readonly string[]): Promise<readonly AssignedName[]>
  /** Gaps of a source, the newest first, at most `sourceGapsMax`. */
  sourceGaps(source: string): Promise<readonly StoredSourceGap[]>
  sourceDeadLetters(range: SourceDeadLetterRange): Promise<readonly SourceDeadLetter[]>
  /** How many dead letters there are of each source that has some. */
  sourceDeadLetterCounts(): Promise<ReadonlyMap<string, number>>
}

/** Writes of sources. */
export interface SourceWrites {
  /** Has the caller drive a source, under a new number: the driver before it is refused from then on. */
  beginSource(name: string): Promise<StoredSource>
  /**
   * As `append`, with the progress of a source in the same transaction. The store keeps the newest
   * `sourceDeadLettersMax` dead letters, over all sources, within `sourceDeadLetterBytesMax`.
   */
  appendFrom(
    progress: SourceProgress,
    batch: readonly { readonly post: AcceptedPost; readonly matches: readonly PostMatch[] }[],
    atMs: number,
  ): Promise<SourceAppend>
  /** Pauses a source, or resumes it. Its driver is refused from then on, and begins again. */
  pauseSource(name: string, isPaused: boolean): Promise<void>
  /** Sets the position of a source. Its driver is refused from then on, and begins again. */
  rewindSource(name: string, position: string): Promise<void>
  /** Notes a gap. The store keeps the newest `sourceGapsMax` of each source. */
  noteSourceGap(gap: StoredSourceGap): Promise<void>
  /** Deletes dead letters of a source. Returns which there were. */
  deleteSourceDeadLetters(source: string, ids: readonly string[]): Promise<readonly string[]>
  /** Forgets assigned names of posts below an id, at most `limit`. Returns how many. */
  trimAssignedNames(below: PostId, limit: number): Promise<number>
}
