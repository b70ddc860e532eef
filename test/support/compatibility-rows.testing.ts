/** The rows of docs/compatibility.md that have a test each. */
import { readFileSync } from "node:fs"

const file = new URL("../../docs/compatibility.md", import.meta.url)

/** Ids of the rows, in the order of the document: of every table whose first column is called "Row". */
export function compatibilityRows(text: string = readFileSync(file, "utf8")): readonly string[] {
  const ids: string[] = []
  let isInTable = false
  for (const line of text.split("\n")) {
    const first = /^\|\s*(.*?)\s*\|/.exec(line)?.[1]
    if (first === undefined) isInTable = false
    else if (first === "Row") isInTable = true
    else if (isInTable && !/^-+$/.test(first)) ids.push(first)
  }
  return ids
}
