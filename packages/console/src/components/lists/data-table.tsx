import type { ReactNode } from "react"
import styles from "./data-table.module.css"
import { Skeleton } from "../states.tsx"

/** A column of a table. */
export interface Column<Row> {
  readonly id: string
  readonly title: ReactNode
  readonly cell: (row: Row) => ReactNode
  /** `end` for numbers. */
  readonly align?: "start" | "end"
  /** A CSS width; by default the width of its content. */
  readonly width?: string
  /** Hidden where the table is narrow. */
  readonly isSecondary?: boolean
}

/**
 * A table of at most a few hundred rows, which scrolls within its own frame. While `rows` is `undefined` it shows
 * `skeletonRows` placeholders; without rows it shows `empty`.
 */
export function DataTable<Row>({
  label,
  columns,
  rows,
  rowKey,
  empty,
  skeletonRows = 4,
}: {
  /** The accessible name. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[] | undefined
  readonly rowKey: (row: Row) => string
  readonly empty?: ReactNode
  readonly skeletonRows?: number
}): ReactNode {
  if (rows?.length === 0 && empty !== undefined) return empty
  const classOf = ({ align, isSecondary }: Column<Row>): string =>
    `${align === "end" ? styles["end"] : ""} ${isSecondary === true ? styles["secondary"] : ""}`
  const line = (key: string | number, cellOf: (column: Column<Row>) => ReactNode): ReactNode => (
    <tr key={key}>
      {columns.map((column) => (
        <td key={column.id} className={classOf(column)}>
          {cellOf(column)}
        </td>
      ))}
    </tr>
  )
  return (
    // Focusable, so that it scrolls by keyboard too.
    <div className={styles["scroll"]} tabIndex={0} role="region" aria-label={label}>
      <table className={styles["table"]} aria-busy={rows === undefined}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.id} scope="col" className={classOf(column)} style={{ width: column.width }}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows === undefined
            ? Array.from({ length: skeletonRows }, (_, index) => line(index, () => <Skeleton width="70%" />))
            : rows.map((row) => line(rowKey(row), ({ cell }) => cell(row)))}
        </tbody>
      </table>
    </div>
  )
}
