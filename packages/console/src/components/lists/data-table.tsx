import type { ReactNode } from "react"
import styles from "./data-table.module.css"
import { Skeleton } from "../states.tsx"

/** A column of a table. */
export interface Column<Row> {
  readonly id: string
  readonly title: ReactNode
  readonly cell: (row: Row) => ReactNode
  /** Numbers stand at the end of their cells. */
  readonly align?: "start" | "end"
  /** A CSS width; without it as wide as its content needs. */
  readonly width?: string
  /** Left out where the table is narrow: what it says stands in a view of the row too. */
  readonly isSecondary?: boolean
}

/**
 * A table of at most some hundred rows. Wider than its place, it scrolls in itself. Until `rows` are there it shows the
 * room for `skeletonRows`; without rows it shows `empty`.
 */
export function DataTable<Row>({
  label,
  columns,
  rows,
  rowKey,
  empty,
  skeletonRows = 4,
}: {
  /** What the table lists, for screen readers. */
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
  return (
    // Focusable, because what scrolls must scroll by keyboard too.
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
            ? Array.from({ length: skeletonRows }, (_, index) => (
                <tr key={index}>
                  {columns.map((column) => (
                    <td key={column.id} className={classOf(column)}>
                      <Skeleton width="70%" />
                    </td>
                  ))}
                </tr>
              ))
            : rows.map((row) => (
                <tr key={rowKey(row)}>
                  {columns.map((column) => (
                    <td key={column.id} className={classOf(column)}>
                      {column.cell(row)}
                    </td>
                  ))}
                </tr>
              ))}
        </tbody>
      </table>
    </div>
  )
}
