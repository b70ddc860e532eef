import type { Connection } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApi } from "../../api/use-api.ts"
import { AutoRefresh } from "../../components/auto-refresh.tsx"
import { Button } from "../../components/button.tsx"
import { DataTable, type Column } from "../../components/lists/data-table.tsx"
import { useConfirmedChange } from "../../components/overlays/use-confirmed-change.tsx"
import { Panel } from "../../components/panel.tsx"
import { EmptyState, ErrorState } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { VisuallyHidden } from "../../components/visually-hidden.tsx"

const refetchMs = 3_000

/** Connections shown of each state: the newest. */
const shownMax = 100

/** Open connections, each with a button that ends it, and the newest that have ended. */
export function ConnectionsPanel(): ReactNode {
  const [isPaused, setPaused] = useState(false)
  const read = { refetchMs, isPaused }
  const open = useApi("connections", { query: { max_results: shownMax } }, read)
  const ended = useApi("connections", { query: { max_results: shownMax, status: "inactive" } }, read)
  const ending = useConfirmedChange("DELETE", "connections", {
    invalidates: ["connections"],
    request: ({ id = "" }: Connection) => ({ body: { uuids: [id] } }),
    title: ({ endpoint_name: endpoint = "" }) => `End this connection to ${endpoint}?`,
    text: () => "Its client gets a disconnect message, and may connect again.",
    action: "End",
    doneText: ({ endpoint_name: endpoint = "" }) => `Ended a connection to ${endpoint}.`,
  })
  if (open.isLoadingError) return <ErrorState of={open} />
  if (ended.isLoadingError) return <ErrorState of={ended} />
  const openColumns: readonly Column<Connection>[] = [
    ...factColumns,
    {
      id: "actions",
      title: <VisuallyHidden>Actions</VisuallyHidden>,
      align: "end",
      cell: (connection) => (
        <Button
          size="small"
          onClick={() => ending.ask(connection)}
          aria-label={`End the connection ${connection.id ?? ""}`}
        >
          End
        </Button>
      ),
    },
  ]
  return (
    <>
      <Panel title="Open connections" isFlush actions={<AutoRefresh isPaused={isPaused} onChange={setPaused} />}>
        <DataTable
          label="Open connections"
          columns={openColumns}
          rows={open.data?.data}
          rowKey={({ id = "" }) => id}
          empty={<EmptyState title="No open connections">A client that reads a stream is listed here.</EmptyState>}
        />
        {ending.dialog}
      </Panel>
      <Panel title="Ended in the last 7 days" isFlush>
        <DataTable
          label="Ended connections"
          columns={endedColumns}
          rows={ended.data?.data}
          rowKey={({ id = "" }) => id}
          empty={
            <EmptyState title="No ended connections">Connections stay here for 7 days after their end.</EmptyState>
          }
        />
      </Panel>
    </>
  )
}

const factColumns: readonly Column<Connection>[] = [
  { id: "endpoint", title: "Endpoint", cell: ({ endpoint_name: endpoint }) => <code>{endpoint}</code> },
  { id: "client", title: "Client", cell: ({ client_ip: address }) => <code>{address}</code> },
  { id: "connected", title: "Connected", isSecondary: true, cell: ({ connected_at: at }) => timeCell(at) },
]

const endedColumns: readonly Column<Connection>[] = [
  // On a narrow screen the reason takes the place of the client.
  ...factColumns.map((column) => (column.id === "client" ? { ...column, isSecondary: true } : column)),
  { id: "disconnected", title: "Ended", cell: ({ disconnected_at: at }) => timeCell(at) },
  { id: "reason", title: "Reason", cell: ({ disconnect_reason: reason }) => reason },
]

function timeCell(at: string | undefined): ReactNode {
  return at === undefined ? "" : <Time at={at} />
}
