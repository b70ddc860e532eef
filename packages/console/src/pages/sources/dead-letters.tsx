/** The dead letters of a source: inspected, and converted again or discarded, one by one or several. */
import type { Source, SourceDeadLetter } from "@sluice/api"
import { useState, type ReactNode } from "react"
import { useApiPages } from "../../api/use-api-pages.ts"
import { useApiChange } from "../../api/use-api.ts"
import { Button } from "../../components/button.tsx"
import { CodeBlock } from "../../components/code-block.tsx"
import { countText, nounText } from "../../components/counts.ts"
import { DataTable, type Column } from "../../components/lists/data-table.tsx"
import { useSelection } from "../../components/lists/use-selection.ts"
import { Muted } from "../../components/muted.tsx"
import { Dialog } from "../../components/overlays/dialog.tsx"
import { useToast } from "../../components/overlays/toast.tsx"
import { useConfirmedChange } from "../../components/overlays/use-confirmed-change.tsx"
import { Panel } from "../../components/panel.tsx"
import { Stack } from "../../components/stack.tsx"
import { EmptyState, ErrorState } from "../../components/states.tsx"
import { Time } from "../../components/time.tsx"
import { VisuallyHidden } from "../../components/visually-hidden.tsx"

const refetchMs = 3_000
const pageSize = 100

/** Most ids of one request. Source: the route's schema. */
const idsMax = 1_000

/** Operations whose responses change with dead letters. */
const changed = ["sourceDeadLetters", "source", "sources"] as const

/** The dead letters of a source. Those of a broker are with the broker. */
export function DeadLetters({
  source: { name },
  isPaused,
}: {
  readonly source: Source
  readonly isPaused: boolean
}): ReactNode {
  const [inspected, setInspected] = useState<SourceDeadLetter>()
  const { keys, toggle, clear } = useSelection()
  const toast = useToast()
  const parameters = { name }
  const list = useApiPages("sourceDeadLetters", { max_results: pageSize }, { refetchMs, isPaused, parameters })
  const repeat = useApiChange("POST", "repeatSourceDeadLetters", { invalidates: changed })
  const discard = useConfirmedChange("POST", "discardSourceDeadLetters", {
    invalidates: changed,
    request: (ids: readonly string[]) => ({ parameters, body: { ids: [...ids] } }),
    title: (ids) => `Discard ${nounText(ids.length, "dead letter")}?`,
    text: () => "Their records are deleted, and cannot become posts any more.",
    action: "Discard",
    doneText: (ids) => `Discarded ${nounText(ids.length, "dead letter")}.`,
    onDone: clear,
  })
  const repeatAll = (ids: readonly string[]): void =>
    repeat.mutate(
      { parameters, body: { ids: [...ids] } },
      {
        onSuccess({ data }) {
          toast(repeatedText(data))
          clear()
        },
      },
    )
  if (list.error !== null) return <ErrorState of={list} />
  const selected = [...keys].slice(0, idsMax)
  const columns = columnsOf({ isSelected: (id) => keys.has(id), onSelect: toggle, onInspect: setInspected })
  return (
    <Panel
      isFlush
      title="Dead letters"
      error={repeat.error}
      actions={
        <>
          <Button disabled={selected.length === 0} isBusy={repeat.isPending} onClick={() => repeatAll(selected)}>
            Repeat {selected.length === 0 ? "selected" : countText(selected.length)}
          </Button>
          <Button disabled={selected.length === 0} onClick={() => discard.ask(selected)}>
            Discard {selected.length === 0 ? "selected" : countText(selected.length)}
          </Button>
        </>
      }
      foot={
        list.hasMore && (
          <Button isBusy={list.isReadingMore} onClick={list.readMore}>
            Show more
          </Button>
        )
      }
    >
      <DataTable
        label="Dead letters"
        rows={list.rows}
        rowKey={({ id }) => id}
        columns={columns}
        empty={
          <EmptyState title="No dead letters">
            A record that cannot become a post is kept here, with the reason. Those of a broker are with the broker.
          </EmptyState>
        }
      />
      {inspected !== undefined && <Inspected letter={inspected} onClose={() => setInspected(undefined)} />}
      {discard.dialog}
    </Panel>
  )
}

function repeatedText({ repeated, rejected }: { readonly repeated: number; readonly rejected: number }): string {
  const again = rejected === 0 ? "" : ` ${nounText(rejected, "record")} became dead letters again.`
  return `Converted ${nounText(repeated, "dead letter")} again.${again}`
}

function columnsOf(actions: {
  readonly isSelected: (id: string) => boolean
  readonly onSelect: (id: string) => void
  readonly onInspect: (letter: SourceDeadLetter) => void
}): readonly Column<SourceDeadLetter>[] {
  return [
    {
      id: "select",
      title: <VisuallyHidden>Select</VisuallyHidden>,
      width: "40px",
      cell: ({ id, at, title }) => (
        <input
          type="checkbox"
          aria-label={`Select ${title} of ${at}`}
          checked={actions.isSelected(id)}
          onChange={() => actions.onSelect(id)}
        />
      ),
    },
    { id: "at", title: "Dead-lettered", isSecondary: true, cell: ({ at }) => <Time at={at} /> },
    {
      id: "reason",
      title: "Reason",
      cell: ({ title, detail }) => (
        <Stack>
          <span>{title}</span>
          <Muted>{detail}</Muted>
        </Stack>
      ),
    },
    { id: "bytes", title: "Bytes", align: "end", isSecondary: true, cell: ({ bytes }) => countText(bytes) },
    {
      id: "actions",
      title: <VisuallyHidden>Actions</VisuallyHidden>,
      align: "end",
      cell: (letter) => (
        <Button
          size="small"
          kind="quiet"
          aria-label={`Inspect ${letter.title} of ${letter.at}`}
          onClick={() => actions.onInspect(letter)}
        >
          Inspect
        </Button>
      ),
    },
  ]
}

/** A dead letter with its record. */
function Inspected({
  letter: { title, detail, at, encoding, record },
  onClose,
}: {
  readonly letter: SourceDeadLetter
  readonly onClose: () => void
}): ReactNode {
  return (
    <Dialog
      isWide
      onClose={onClose}
      title={title}
      description={
        <>
          {detail} <Time at={at} />
        </>
      }
    >
      {encoding === "base64" && <Muted>The record is not UTF-8. It stands here in base64.</Muted>}
      <CodeBlock what="the record" text={record} />
    </Dialog>
  )
}
