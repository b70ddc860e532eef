import type { SourceGap } from "@sluice/api"
import type { ReactNode } from "react"
import { DataTable, type Column } from "../../components/lists/data-table.tsx"
import { Panel } from "../../components/panel.tsx"
import { Time } from "../../components/time.tsx"

/** Stretches of time of which a source could not give everything. Nothing without one. */
export function Gaps({ gaps }: { readonly gaps: readonly SourceGap[] }): ReactNode {
  if (gaps.length === 0) return null
  return (
    <Panel title="Gaps" isFlush>
      <DataTable label="Gaps" columns={columns} rows={gaps} rowKey={(gap) => JSON.stringify(gap)} />
    </Panel>
  )
}

const columns: readonly Column<SourceGap>[] = [
  { id: "from", title: "From", cell: ({ from }) => instantCell(from) },
  { id: "to", title: "To", cell: ({ to }) => instantCell(to) },
  { id: "reason", title: "Reason", cell: ({ reason }) => reason },
  { id: "found", title: "Found", isSecondary: true, cell: ({ found_at: at }) => <Time at={at} /> },
]

function instantCell(at: string | undefined): ReactNode {
  return at === undefined ? "unknown" : <Time at={at} form="absolute" />
}
