import type { Trouble } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApi, useApiChange } from "../../api/use-api.ts"
import { AutoRefresh } from "../../components/auto-refresh.tsx"
import { Button } from "../../components/button.tsx"
import { nounText } from "../../components/counts.ts"
import { DataTable, type Column } from "../../components/lists/data-table.tsx"
import { Panel } from "../../components/panel.tsx"
import { EmptyState, ErrorState } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { VisuallyHidden } from "../../components/visually-hidden.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import styles from "./trouble-list.module.css"
import { extentText, faultText } from "./trouble-text.ts"

const refetchMs = 2_000

/** The active faults, with what remains of each. */
export function TroubleList(): ReactNode {
  const [isPaused, setPaused] = useState(false)
  const troubles = useApi("troubles", {}, { refetchMs, isPaused })
  const webhooks = useApi("webhooks")
  const clearOne = useApiChange("DELETE", "trouble", { invalidates: ["troubles"] })
  const clearAll = useApiChange("DELETE", "troubles")
  const toast = useToast()
  const rows = troubles.data?.data
  const urls = new Map(webhooks.data?.data.map(({ id, url }) => [id, url]))

  if (troubles.isLoadingError) return <ErrorState of={troubles} />
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
      title="Active faults"
      isFlush
      error={clearOne.error ?? clearAll.error}
      actions={
        <>
          <AutoRefresh isPaused={isPaused} onChange={setPaused} />
          <Button
            disabled={rows === undefined || rows.length === 0}
            isBusy={clearAll.isPending}
            onClick={() =>
              clearAll.mutate({}, { onSuccess: ({ data }) => toast(`Cleared ${nounText(data.cleared, "fault")}.`) })
            }
          >
            Clear all
          </Button>
        </>
      }
    >
      <div className={styles["list"]}>
        <DataTable
          label="Active faults"
          columns={columns}
          rows={rows}
          rowKey={({ id }) => id}
          skeletonRows={3}
          empty={
            <EmptyState title="No active faults">
              Add one below. It applies to the next requests, and stays listed here until it is used up.
            </EmptyState>
          }
        />
      </div>
    </Panel>
  )
}

const factColumns: readonly Column<Trouble>[] = [
  { id: "fault", title: "Fault", cell: faultText },
  { id: "extent", title: "Remaining", cell: extentText },
  { id: "applied", title: "Applied", align: "end", isSecondary: true, cell: ({ applied }) => applied },
]

const clearTitle = <VisuallyHidden>Clear</VisuallyHidden>

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
