import { snowflakeAtMs, type Envelope } from "@sluice/api"
import type { ReactNode } from "react"
import { Button } from "../../components/button.tsx"
import { BarChart } from "../../components/charts/bar-chart.tsx"
import { barLengthText, type Bar } from "../../components/charts/bars.ts"
import { nounText } from "../../components/counts.ts"
import { Muted } from "../../components/muted.tsx"
import { Panel } from "../../components/panel.tsx"
import { Skeleton } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import type { SearchRequest } from "./search.ts"
import { useCounts } from "./use-counts.ts"
import type { Hits } from "./use-hits.ts"

/** The hits of a search over time. A bar narrows the search to its time. */
export function CountsPanel({
  request,
  hits,
  onChoose,
}: {
  readonly request: SearchRequest
  readonly hits: Hits
  readonly onChoose: (bar: Bar) => void
}): ReactNode {
  const { bars, total, sinceMs, error, hasMore, isReading, readMore } = useCounts(request, true)
  const isWhole = !hasMore || hasNoneBefore(hits, sinceMs)
  const isUndated = hits.posts?.some(({ data }) => snowflakeAtMs(data.id) === undefined) ?? false
  return (
    <Panel
      title="Posts over time"
      error={error}
      actions={
        bars && (
          <>
            <span role="status">
              {nounText(total, "post")}{" "}
              <Muted>
                {!isWhole && (
                  <>
                    since <Time at={sinceMs} form="absolute" />,{" "}
                  </>
                )}
                by {barLengthText(bars)}
              </Muted>
            </span>
            {!isWhole && (
              <Button size="small" isBusy={isReading} onClick={readMore}>
                Count further back
              </Button>
            )}
          </>
        )
      }
      foot={isUndated && "Posts whose ids are from before snowflakes have no time: no bar has them."}
    >
      {bars === undefined ? (
        error === null && <Skeleton height="166px" />
      ) : (
        <BarChart
          label="Posts over time"
          hint="Choose a bar to narrow the search to its time."
          bars={bars}
          textOf={textOf}
          onChoose={onChoose}
        />
      )}
    </Panel>
  )
}

/** Whether all hits are known, and none is older than what was counted. */
function hasNoneBefore({ posts, hasMore }: Hits, sinceMs: number): boolean {
  return !hasMore && (posts?.every(({ data }: Envelope) => (snowflakeAtMs(data.id) ?? Infinity) >= sinceMs) ?? false)
}

const span = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })

function textOf({ startMs, endMs, count }: Bar): string {
  return `${nounText(count, "post")}, ${span.formatRange(startMs, endMs)}`
}
