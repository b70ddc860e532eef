import type { Trouble } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { AutoRefresh } from "../../components/auto-refresh.tsx"
import { Button } from "../../components/button.tsx"
import { DataTable, type Column } from "../../components/lists/data-table.tsx"
import { Panel } from "../../components/panel.tsx"
import { EmptyState, ErrorNote, ErrorState } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import styles from "./trouble.module.css"
import { extentText, faultText } from "./trouble-text.ts"

/** How often what remains is read. */
const refetchMs = 2_000

/** What waits for its time, with what of it remains. */
export function TroubleList(): ReactNode {
  const [isPaused, setPaused] = useState(false)
  const troubles = useApi("troubles", {}, { refetchMs: isPaused ? false : refetchMs })
  const webhooks = useApi("webhooks")
  const clearOne = useApiChange("DELETE", "trouble", { invalidates: ["troubles"] })
  const clearAll = useApiChange("DELETE", "troubles")
  const toast = useToast()
  const rows = troubles.data?.data
  const urls = new Map(webhooks.data?.data.map(({ id, url }) => [id, url]))

  if (troubles.isError) return <ErrorState error={troubles.error} onRetry={() => void troubles.refetch()} />
  const columns: readonly Column<Trouble>[] = [
    ...factColumns,
    { id: "webhook", title: "Webhook", isSecondary: true, cell: (trouble) => webhookText(trouble, urls) },
    { id: "added", title: "Added", isSecondary: true, cell: addedCell },
    {
      id: "clear",
      title: clearTitle,
      align: "end",
      cell: (trouble) => clearCell(trouble, () => clearOne.mutate({ parameters: { trouble_id: trouble.id } })),
    },
  ]
  return (
    <Panel
      title="Waiting for its time"
      isFlush
      actions={
        <>
          <AutoRefresh isPaused={isPaused} onChange={setPaused} />
          <Button
            disabled={rows === undefined || rows.length === 0}
            isBusy={clearAll.isPending}
            onClick={() => clearAll.mutate({}, { onSuccess: ({ data }) => toast(clearedText(data.cleared)) })}
          >
            Clear all
          </Button>
        </>
      }
    >
      <ErrorNote error={clearOne.error ?? clearAll.error} />
      <div className={styles["list"]}>
        <DataTable
          label="Troubles that wait for their time"
          columns={columns}
          rows={rows}
          rowKey={({ id }) => id}
          skeletonRows={3}
          empty={
            <EmptyState title="Nothing is made to fail">
              Choose a fault below. It is applied to what is sent next, and listed here until it is used up.
            </EmptyState>
          }
        />
      </div>
    </Panel>
  )
}

function clearedText(count: number): string {
  return `Cleared ${String(count)} ${count === 1 ? "trouble" : "troubles"}.`
}

const factColumns: readonly Column<Trouble>[] = [
  { id: "fault", title: "What goes wrong", cell: faultText },
  { id: "extent", title: "Remaining", cell: extentText },
  { id: "applied", title: "Applied", align: "end", isSecondary: true, cell: ({ applied }) => applied },
]

const clearTitle = <span className="visually-hidden">Clear</span>

function clearCell(trouble: Trouble, onClear: () => void): ReactNode {
  return (
    <Button kind="quiet" size="small" aria-label={`Clear: ${faultText(trouble)}`} onClick={onClear}>
      Clear
    </Button>
  )
}

function addedCell({ created_at: at }: Trouble): ReactNode {
  return <Time at={at} />
}

function webhookText({ kind, webhook_id: id }: Trouble, urls: ReadonlyMap<string, string>): string {
  if (kind === "page_tokens") return ""
  return id === undefined ? "All" : (urls.get(id) ?? id)
}
