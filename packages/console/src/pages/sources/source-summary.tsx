import type { Source } from "@sluice/api"
import type { ReactNode } from "react"
import { countText, nounText } from "../../components/counts.ts"
import { Fact, Facts } from "../../components/facts.tsx"
import { Muted } from "../../components/muted.tsx"
import { Panel } from "../../components/panel.tsx"
import { Time } from "../../components/time.tsx"
import { durationText, rateText } from "./durations.ts"
import { SourceState } from "./source-state.tsx"

/** The state of a source, and its counts since the process began. */
export function SourceSummary({ source }: { readonly source: Source }): ReactNode {
  const { since, connected_to: to, last_record_at: lastAt, lag_ms: lagMs, counts } = source
  return (
    <Panel title="State" actions={<SourceState source={source} />}>
      <Facts>
        <Fact name="Type">{source.type}</Fact>
        <Fact name="Connected to">
          {to ?? "nothing"}
          {since !== undefined && (
            <Muted>
              since <Time at={since} />
            </Muted>
          )}
        </Fact>
        <Fact name="Rate">
          {rateText(source.records_per_second)}
          <Muted>{lastAt === undefined ? "no record yet" : <LastRecord at={lastAt} />}</Muted>
        </Fact>
        <Fact name="Lag">
          {lagMs === undefined ? "unknown" : durationText(lagMs)}
          <Muted>{waitingText(source)}</Muted>
        </Fact>
        <Position source={source} />
        <Fact name="Since it was started">
          <span>{nounText(counts.accepted, "new post")}</span>
          <Muted>
            {nounText(counts.duplicates, "duplicate")}, {nounText(counts.deleted, "deletion")},{" "}
            {countText(counts.ignored)} ignored, {nounText(counts.rejected, "dead letter")}
            {counts.returned > 0 && `, ${countText(counts.returned)} returned`}
            {counts.redelivered > 0 && `, ${countText(counts.redelivered)} redelivered`}
          </Muted>
          <Muted>
            started <Time at={source.started_at} />
          </Muted>
        </Fact>
      </Facts>
    </Panel>
  )
}

function LastRecord({ at }: { readonly at: string }): ReactNode {
  return (
    <>
      last record <Time at={at} />
    </>
  )
}

function Position({ source: { position, position_saved_at: savedAt } }: { readonly source: Source }): ReactNode {
  if (position === undefined) return null
  return (
    <Fact name="Position">
      <code>{position}</code>
      {savedAt !== undefined && (
        <Muted>
          saved <Time at={savedAt} />
        </Muted>
      )}
    </Fact>
  )
}

/** Records on their way, as far as the source tells. */
function waitingText({ pending, in_flight: inFlight, unacknowledged }: Source): string {
  const parts = [
    ...(pending === undefined ? [] : [`${countText(pending)} waiting`]),
    ...(inFlight === undefined ? [] : [`${countText(inFlight)} in flight`]),
    ...(unacknowledged === undefined ? [] : [`${countText(unacknowledged)} unacknowledged`]),
  ]
  return parts.join(", ")
}
