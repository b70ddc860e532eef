/** The rules of the architecture, each as a function: sources → what breaks the rule, in words. */
import type { Source } from "./source.ts"

/** A row of an import table: a folder, and the rows and packages that its files may import. */
export type ImportTable = Readonly<Record<string, readonly string[]>>

/** The first row of the table, the longest folder first, that a file lies in. */
export function rowOf(table: ImportTable, path: string): string | undefined {
  return Object.keys(table)
    .toSorted((a, b) => b.length - a.length)
    .find((row) => path.startsWith(`${row}/`) || path === `${row}.ts`)
}

/** Files of ours that a row of the table does not allow to be imported. */
export function badImports(table: ImportTable, sources: readonly Source[]): readonly string[] {
  return sources.flatMap(({ path, imports }) => {
    const row = rowOf(table, path)
    if (row === undefined) return []
    return imports.flatMap(({ specifier, target }) => {
      if (target === undefined) {
        return /^(@sluice\/|sluice$)/.test(specifier) ? [`${path}: ${specifier} is no entry of a package`] : []
      }
      const targetRow = rowOf(table, target)
      if (targetRow === row) return []
      const isWithin = target.split("/")[1] === path.split("/")[1]
      // A package's own manifest is the home of its version, for all its folders.
      if (isWithin && /^packages\/\w+\/package\.json$/.test(target)) return []
      if (specifier.startsWith(".") && !isWithin) return [`${path} reaches into ${target}`]
      const allowed = table[row] ?? []
      const wanted = specifier.startsWith(".") ? targetRow : specifier
      const isAllowed =
        wanted !== undefined && allowed.some((one) => wanted === one || wanted.startsWith(`${one}/src/`))
      return isAllowed ? [] : [`${path}: ${row} may not import ${wanted ?? target}`]
    })
  })
}

/** Permissions of a row that none of its files uses. */
export function unusedPermissions(table: ImportTable, sources: readonly Source[]): readonly string[] {
  return Object.entries(table).flatMap(([row, allowed]) => {
    const imports = sources.filter(({ path }) => rowOf(table, path) === row).flatMap((source) => source.imports)
    const imported = new Set(
      imports.map(({ specifier, target = "" }) => (specifier.startsWith(".") ? rowOf(table, target) : specifier)),
    )
    return allowed.filter((one) => !imported.has(one)).map((one) => `${row} need not import ${one}`)
  })
}

/** Imports of libraries, and of Node's own modules, outside the folders that may. */
export function strayLibraries(
  homes: Readonly<Record<string, readonly string[]>>,
  sources: readonly Source[],
): readonly string[] {
  return sources.flatMap(({ path, imports }) =>
    imports.flatMap(({ specifier, target }) => {
      if (target !== undefined) return []
      const library = specifier.startsWith("node:")
        ? "node:"
        : specifier
            .split("/")
            .slice(0, specifier.startsWith("@") ? 2 : 1)
            .join("/")
      const allowed = homes[library]
      if (allowed === undefined) return [`${path}: ${library} has no folder`]
      return allowed.some((folder) => path.startsWith(folder)) ? [] : [`${path} may not import ${library}`]
    }),
  )
}

/**
 * Node's own modules and libraries that an entry loads when it runs, each with the files that lead to it. Unless `late`,
 * only those that it loads before it does anything.
 */
export function foreignModules(
  entry: string,
  sources: readonly Source[],
  { late = true }: { readonly late?: boolean } = {},
): readonly string[] {
  const byPath = new Map(sources.map((source) => [source.path, source]))
  const found: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    if (done.has(path)) return
    done.add(path)
    const source = byPath.get(path)
    if (source === undefined) throw new Error(`${path} is not among the sources`)
    for (const { specifier, target, isTypeOnly, isLate } of source.imports) {
      if (isTypeOnly || (isLate && !late)) continue
      if (target === undefined) found.push([...trail, path, specifier].join(" → "))
      else visit(target, [...trail, path])
    }
  }
  visit(entry, [])
  return found
}

/** Circles of imports, types counted; each as its files in their order. */
export function circles(sources: readonly Source[]): readonly string[] {
  const targets = new Map(sources.map(({ path, imports }) => [path, imports.flatMap(({ target }) => target ?? [])]))
  const found = new Map<string, string>()
  const done = new Set<string>()
  const trail: string[] = []
  const visit = (path: string): void => {
    const begin = trail.indexOf(path)
    if (begin !== -1) {
      const circle = trail.slice(begin)
      found.set(circle.toSorted().join(), [...circle, path].join(" → "))
      return
    }
    if (done.has(path)) return
    trail.push(path)
    for (const target of targets.get(path) ?? []) visit(target)
    trail.pop()
    done.add(path)
  }
  for (const { path } of sources) visit(path)
  return [...found.values()]
}

/** Functions with more code lines than `linesMax`. */
export function longFunctions(linesMax: number, sources: readonly Source[]): readonly string[] {
  return sources.flatMap(({ path, functions }) =>
    functions
      .filter(({ codeLines }) => codeLines > linesMax)
      .map(({ name, codeLines }) => `${path}: ${name} has ${codeLines} lines`),
  )
}

/** A word, and where it may stand. */
export interface Home {
  readonly name: string
  readonly word: RegExp
  readonly home: RegExp
}

/** Words of the code (not of comments) that stand away from their home. */
export function strayWords(homes: readonly Home[], sources: readonly Source[]): readonly string[] {
  return sources.flatMap(({ path, code }) =>
    homes.filter(({ word, home }) => word.test(code) && !home.test(path)).map(({ name }) => `${path}: ${name}`),
  )
}

/** Bodies of responses that files of a folder make themselves. */
export function bodiesMadeIn(folder: string, sources: readonly Source[]): readonly string[] {
  return sources
    .filter(({ path }) => path.startsWith(folder))
    .flatMap(({ path, madeBodies }) => madeBodies.map(({ line, code }) => `${path}:${line}: ${code}`))
}

/** Lines of texts, comments and code, that hold a banned word; each with what to say. */
export function bannedWords(
  banned: readonly { readonly word: RegExp; readonly say: string }[],
  texts: readonly { readonly path: string; readonly text: string }[],
): readonly string[] {
  return texts.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) =>
      banned.flatMap(({ word, say }) => {
        const found = word.exec(line)?.[0]
        return found === undefined ? [] : [`${path}:${index + 1}: "${found}", say ${say}`]
      }),
    ),
  )
}

/**
 * Values that a file of the program exports, and that nothing but tests uses: not the file itself, and no other file of
 * the program or of the benchmarks. Index files count only for what is imported from them; those of a library, `entries`,
 * for all that they export.
 */
export function deadExports(
  sources: readonly Source[],
  tests: readonly Source[],
  entries: readonly string[] = [],
): readonly string[] {
  const files = new Map([...sources, ...tests].map((source) => [source.path, source]))
  const isTest = new Set(tests.map(({ path }) => path))
  const used = new Set<string>()
  const use = (path: string, name: string): void => {
    if (used.has(`${path}#${name}`)) return
    used.add(`${path}#${name}`)
    const source = files.get(path)
    for (const one of source?.imports ?? []) {
      if (!one.isReExport || one.target === undefined) continue
      for (const passed of one.names) if (name === "*" || passed === "*" || passed === name) use(one.target, passed)
    }
  }
  for (const entry of entries) use(entry, "*")
  for (const { path, imports } of sources) {
    if (isTest.has(path)) continue
    for (const { target, names, isReExport } of imports) {
      if (target !== undefined && !isReExport) for (const name of names) use(target, name)
    }
  }
  return sources.flatMap(({ path, code, exportedValues }) =>
    exportedValues
      .filter((name) => !used.has(`${path}#${name}`) && !used.has(`${path}#*`))
      .filter((name) => [...code.matchAll(new RegExp(`\\b${name}\\b`, "g"))].length < 2)
      .map((name) => `${path}: ${name}`),
  )
}
