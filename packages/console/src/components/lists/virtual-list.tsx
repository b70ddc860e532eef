import { useVirtualizer } from "@tanstack/react-virtual"
import { useEffect, useRef, type ReactNode } from "react"
import styles from "./virtual-list.module.css"

/**
 * A list of any length that renders only its visible rows. Rows may have any height; `rowHeight` is an estimate in px.
 * `onEnd` is called near the end of the list, to read the next page.
 */
export function VirtualList<Row>({
  label,
  rows,
  rowKey,
  row,
  rowHeight,
  height,
  onEnd,
}: {
  readonly label: string
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  readonly row: (row: Row, index: number) => ReactNode
  readonly rowHeight: number
  /** A CSS length; longer lists scroll within it. */
  readonly height: string
  readonly onEnd?: () => void
}): ReactNode {
  const scroll = useRef<HTMLDivElement>(null)
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => {
      const one = rows[index]
      return one === undefined ? index : rowKey(one)
    },
    overscan: 8,
  })
  const items = virtualizer.getVirtualItems()
  const lastIndex = items.at(-1)?.index ?? -1
  const isNearEnd = rows.length > 0 && lastIndex >= rows.length - 10
  useEffect(() => {
    if (isNearEnd) onEnd?.()
  }, [isNearEnd, rows.length, onEnd])
  return (
    <div
      ref={scroll}
      className={styles["scroll"]}
      style={{ maxHeight: height }}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <div role="list" className={styles["rows"]} style={{ height: virtualizer.getTotalSize() }}>
        {items.map(({ key, index, start }) => {
          const one = rows[index]
          return (
            one !== undefined && (
              <div
                key={key}
                ref={virtualizer.measureElement}
                data-index={index}
                role="listitem"
                aria-setsize={rows.length}
                aria-posinset={index + 1}
                className={styles["row"]}
                style={{ transform: `translateY(${start}px)` }}
              >
                {row(one, index)}
              </div>
            )
          )
        })}
      </div>
    </div>
  )
}
