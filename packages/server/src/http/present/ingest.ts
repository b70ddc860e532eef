/** Reports of posts that were sent, as JSON bodies and as lines of `ack=batch`. */
import type { IngestedBody } from "@sluice/api"
import type { IngestReport } from "../../ingest/ingest-report.ts"

/** The counts of a body so far, and its first rejected lines. */
export function presentIngest(report: IngestReport): IngestedBody {
  const { accepted, duplicates, rejected, rejectedCount, lines, undelivered, deleted } = report
  return {
    lines,
    accepted,
    duplicates,
    rejected: [...rejected],
    rejected_count: rejectedCount,
    ...(deleted !== undefined && { deleted }),
    ...(undelivered !== undefined && { undelivered }),
  }
}

/** The line of a batch that is durable. */
export function presentIngestLine(report: IngestReport): string {
  return `${JSON.stringify(presentIngest(report))}\n`
}

/** The last line of a body that was read to its end. */
export function presentIngestEnd(report: IngestReport): string {
  return `${JSON.stringify({ ...presentIngest(report), done: true })}\n`
}
