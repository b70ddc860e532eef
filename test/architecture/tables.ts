/** The tables of ARCHITECTURE.md, read: they are the only ones, and the tests compare the program with them. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { ImportTable } from "./checks.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** The page of the architecture. */
export const architecture = readFileSync(join(root, "ARCHITECTURE.md"), "utf8")

/** The page of what must stay true. */
export const invariants = readFileSync(join(root, "docs/invariants.md"), "utf8")

/** A table of folders: where they lie, and what each may import. */
export interface FolderTable {
  /** The path before each name, with a slash at its end. */
  readonly base: string
  readonly rows: ImportTable
}

/** The cells of each row of the first table below a heading that matches, without its head. Throws without one. */
export function tableBelow(page: string, heading: RegExp): readonly (readonly string[])[] {
  const sections = page.split(/^(?=#{1,3} )/m)
  const section = sections.find((text) => heading.test(text.split("\n", 1)[0] ?? ""))
  const lines = section?.split("\n").filter((line) => line.startsWith("|")) ?? []
  if (lines.length < 3) throw new Error(`no table stands below ${String(heading)}`)
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  )
}

/**
 * Every table of folders. Its heading names the path in which they lie, as `packages/server/src/`; its first column a
 * folder or a file, its last what that may import: other rows of the table, or entries of packages.
 */
export function folderTables(page: string): readonly FolderTable[] {
  return [...page.matchAll(/^### .*`(packages\/[\w/-]*)`.*$/gm)].map(([heading, base = ""]) => {
    const whole = (name: string): string => (name.startsWith("@") ? name : base + name)
    const rows = tableBelow(page, new RegExp(`^${escaped(heading)}$`)).map(([name = "", , allowed = ""]) => [
      whole(quoted(name)[0] ?? ""),
      quoted(allowed).map(whole),
    ])
    return { base, rows: Object.fromEntries(rows) as ImportTable }
  })
}

/** The texts between backquotes. */
export function quoted(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text)
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}
