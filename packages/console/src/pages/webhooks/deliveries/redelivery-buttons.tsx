import type { ReactNode } from "react"
import { Button } from "../../../components/button.tsx"
import { countText } from "../../../components/counts.ts"

/** Buttons that redeliver the selected rows of a list, or all; `allText` says which those are. */
export function RedeliveryButtons({
  selectedCount,
  isBusy,
  onSelected,
  allText,
  onAll,
}: {
  readonly selectedCount: number
  readonly isBusy: boolean
  readonly onSelected: () => void
  readonly allText: string
  readonly onAll: () => void
}): ReactNode {
  return (
    <>
      <Button disabled={selectedCount === 0} isBusy={isBusy} onClick={onSelected}>
        Redeliver {selectedCount === 0 ? "selected" : countText(selectedCount)}
      </Button>
      <Button isBusy={isBusy} onClick={onAll}>
        {allText}
      </Button>
    </>
  )
}
