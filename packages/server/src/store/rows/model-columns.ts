/** Columns of a table under the names of the model. */

/**
 * SQL that reads columns of a table, a list with commas, under the names of the model: `app_id` as `appId`. `readId`
 * makes the SQL that reads a column of ids.
 */
export function modelColumns(table: string, columns: string, readId: (id: string) => string): string {
  const selected = columns.split(", ").map((column) => {
    const value = `${table}.${column}`
    const name = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    return `${column === "id" || column.endsWith("_id") ? readId(value) : value} AS "${name}"`
  })
  return selected.join(", ")
}
