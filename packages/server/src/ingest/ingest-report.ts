/** The report of a body of posts. */

/** The outcome of the lines of a body, or of a part of it. */
export interface IngestReport {
  /** New posts. */
  readonly accepted: number
  /** Posts whose id is stored already, and those that are deleted, or whose authors are. */
  readonly duplicates: number
  /** Lines that ask for deletions; absent when none does. */
  readonly deleted?: number
  /** Records of a source that ask for nothing; absent when there are none. */
  readonly ignored?: number
  /** When the source had the last record, Unix ms; absent when it is not known. */
  readonly recordAtMs?: number
  /** The rejected lines: all of a batch; of a whole body the first 100. */
  readonly rejected: readonly { readonly line: number; readonly title: string; readonly detail: string }[]
  readonly rejectedCount: number
  /** Lines that were not blank: accepted, duplicates, deletions, ignored and rejected together. */
  readonly lines: number
  /** Entries appended to match logs. */
  readonly matches: number
  /** Matches that were counted instead; absent when none are counted. */
  readonly undelivered?: number
}

/** Most rejections that a report names. A batch with as many is reported, so that it names all of its own. */
export const rejectedMax = 100

/** The report of no lines. */
export const emptyReport: IngestReport = {
  accepted: 0,
  duplicates: 0,
  rejected: [],
  rejectedCount: 0,
  lines: 0,
  matches: 0,
}

/** The report of two parts of a body, `a` before `b`. */
export function addReports(a: IngestReport, b: IngestReport): IngestReport {
  return {
    accepted: a.accepted + b.accepted,
    duplicates: a.duplicates + b.duplicates,
    rejected: [...a.rejected, ...b.rejected].slice(0, rejectedMax),
    rejectedCount: a.rejectedCount + b.rejectedCount,
    lines: a.lines + b.lines,
    matches: a.matches + b.matches,
    ...((a.deleted ?? b.deleted) !== undefined && { deleted: (a.deleted ?? 0) + (b.deleted ?? 0) }),
    ...((a.ignored ?? b.ignored) !== undefined && { ignored: (a.ignored ?? 0) + (b.ignored ?? 0) }),
    ...((b.recordAtMs ?? a.recordAtMs) !== undefined && { recordAtMs: b.recordAtMs ?? a.recordAtMs }),
    ...((a.undelivered ?? b.undelivered) !== undefined && {
      undelivered: (a.undelivered ?? 0) + (b.undelivered ?? 0),
    }),
  }
}
