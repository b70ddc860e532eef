import type { Source } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { Link } from "wouter"
import { useApi } from "../../api/use-api.ts"
import { AutoRefresh } from "../../components/auto-refresh.tsx"
import { countText } from "../../components/counts.ts"
import { DataTable, type Column } from "../../components/lists/data-table.tsx"
import { Muted } from "../../components/muted.tsx"
import { PageHeader } from "../../components/page-header.tsx"
import { Panel } from "../../components/panel.tsx"
import { EmptyState, ErrorState } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { durationText, rateText } from "./durations.ts"
import { currentError, SourceState } from "./source-state.tsx"

const refetchMs = 3_000

/** All sources, each with a link to its view. */
export function SourceList(): ReactNode {
  const [isPaused, setPaused] = useState(false)
  const sources = useApi("sources", {}, { refetchMs, isPaused })
  if (sources.isLoadingError) return <ErrorState isPage of={sources} />
  return (
    <>
      <PageHeader title="Sources">
        Networks, feeds and brokers that posts are taken from, as the configuration lists them. Rates, lags and errors
        are those of the process that shows this page.
      </PageHeader>
      <Panel title="Sources" isFlush actions={<AutoRefresh isPaused={isPaused} onChange={setPaused} />}>
        <DataTable
          label="Sources"
          columns={columns}
          rows={sources.data?.data}
          rowKey={({ name }) => name}
          empty={
            <EmptyState title="No sources">
              List sources of posts in the configuration file, or start with <code>sluice dev --bluesky</code>.
            </EmptyState>
          }
        />
      </Panel>
    </>
  )
}

const columns: readonly Column<Source>[] = [
  { id: "name", title: "Name", cell: ({ name }) => <Link href={`/${name}`}>{name}</Link> },
  { id: "type", title: "Type", isSecondary: true, cell: ({ type }) => type },
  { id: "state", title: "State", cell: (source) => <SourceState source={source} /> },
  { id: "rate", title: "Rate", align: "end", cell: ({ records_per_second: rate }) => rateText(rate) },
  {
    id: "lag",
    title: "Lag",
    align: "end",
    isSecondary: true,
    cell: ({ lag_ms: lagMs }) => (lagMs === undefined ? "" : durationText(lagMs)),
  },
  {
    id: "dead-letters",
    title: "Dead letters",
    align: "end",
    isSecondary: true,
    cell: ({ dead_letters: letters }) => countText(letters),
  },
  {
    id: "error",
    title: "Error",
    isSecondary: true,
    cell(source) {
      const error = currentError(source)
      return error === undefined ? (
        ""
      ) : (
        <>
          {error.message}{" "}
          <Muted>
            <Time at={error.at} />
          </Muted>
        </>
      )
    },
  },
]
