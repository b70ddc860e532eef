/** Source files, read and parsed: what they import and export, their functions, their comments. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { parseSync, Visitor } from "oxc-parser"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** One import or re-export of a file, types included. */
interface Import {
  readonly specifier: string
  /** The file of this repository that it leads to, from the root; absent when it is somebody else's. */
  readonly target: string | undefined
  /** The names as the other file exports them; `*` for all. */
  readonly names: readonly string[]
  /** Whether the names are exported again under the same name. */
  readonly isReExport: boolean
  /** Whether only types are imported, so that nothing is loaded when the program runs. */
  readonly isTypeOnly: boolean
  /** Whether it is an `import()`, which loads when it is reached. */
  readonly isLate: boolean
}

/** A function, method or arrow function. */
interface FunctionLines {
  readonly name: string
  /** Lines that hold more than blanks and comments. */
  readonly codeLines: number
}

/** A file by its path from the root. */
export interface Source {
  readonly path: string
  readonly text: string
  /** The text with every comment blanked out; lines stay where they are. */
  readonly code: string
  readonly imports: readonly Import[]
  /** Names of the values (not types) that it declares and exports. */
  readonly exportedValues: readonly string[]
  readonly functions: readonly FunctionLines[]
}

/** The entries of the packages: where `@sluice/x` leads. */
function entries(): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const name of readdirSync(join(root, "packages"))) {
    const text = readFileSync(join(root, "packages", name, "package.json"), "utf8")
    const manifest = JSON.parse(text) as { name: string; exports?: Readonly<Record<string, string>> }
    for (const [path, file] of Object.entries(manifest.exports ?? {})) {
      found.set(normalize(join(manifest.name, path)), normalize(join("packages", name, file)))
    }
  }
  return found
}

const entryOf = entries()

/** Every source file of these folders, from the root; what is in AssemblyScript is not TypeScript. */
export function readSources(...folders: readonly string[]): readonly Source[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /(?<!\.d)\.tsx?$/.test(file) && !/(^|\/)(node_modules|dist|assembly)\//.test(file))
      .map((file) => join(root, folder, file))
      .map((file) => parseSource(relative(root, file), readFileSync(file, "utf8"))),
  )
}

/** Reads one file. Throws when it is no TypeScript. */
export function parseSource(path: string, text: string): Source {
  const { program, module, comments, errors } = parseSync(path, text)
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`)
  let code = text
  for (const { start, end } of comments) {
    code = code.slice(0, start) + text.slice(start, end).replaceAll(/[^\n]/g, " ") + code.slice(end)
  }

  const imports: Import[] = []
  const add = (
    specifier: string,
    names: readonly string[],
    isReExport: boolean,
    { isTypeOnly = false, isLate = false } = {},
  ): void => {
    const target = specifier.startsWith(".") ? normalize(join(dirname(path), specifier)) : entryOf.get(specifier)
    imports.push({ specifier, target, names, isReExport, isTypeOnly, isLate })
  }
  for (const { moduleRequest, entries: names } of module.staticImports) {
    add(
      moduleRequest.value,
      names.map(({ importName: { name } }) => name ?? "*"),
      false,
      { isTypeOnly: names.length > 0 && names.every(({ isType }) => isType) },
    )
  }
  const exportedValues: string[] = []
  for (const { entries: names } of module.staticExports) {
    for (const { moduleRequest, importName, exportName, isType } of names) {
      if (moduleRequest !== null) add(moduleRequest.value, [importName.name ?? "*"], true, { isTypeOnly: isType })
      else if (!isType && exportName.name !== null) exportedValues.push(exportName.name)
    }
  }
  const late = new Map<number, readonly string[]>()
  for (const { moduleRequest } of module.dynamicImports) late.set(moduleRequest.start, ["*"])

  const functions: FunctionLines[] = []
  const measure = (node: { start: number; end: number; id?: { name: string } | null }): void => {
    const body = code.slice(node.start, node.end)
    const codeLines = body.split("\n").filter((line) => line.trim() !== "").length
    functions.push({ name: node.id?.name ?? "(without a name)", codeLines })
  }
  new Visitor({
    FunctionDeclaration: measure,
    FunctionExpression: measure,
    ArrowFunctionExpression: measure,
    VariableDeclarator({ id, init }) {
      // const { a, b } = await import("…")
      if (init?.type !== "AwaitExpression" || init.argument.type !== "ImportExpression") return
      if (id.type !== "ObjectPattern") return
      const names = id.properties.flatMap((one) =>
        one.type === "Property" && one.key.type === "Identifier" ? [one.key.name] : ["*"],
      )
      late.set(init.argument.source.start, names)
    },
  }).visit(program)
  for (const { moduleRequest } of module.dynamicImports) {
    const specifier = /^["'](.*)["']$/.exec(text.slice(moduleRequest.start, moduleRequest.end))?.[1]
    if (specifier !== undefined) add(specifier, late.get(moduleRequest.start) ?? ["*"], false, { isLate: true })
  }
  return { path, text, code, imports, exportedValues, functions }
}

/** Whether a file is part of the program: neither a test nor what only tests use. */
export function isProgram({ path }: { readonly path: string }): boolean {
  return path.startsWith("packages/") && !/((\.test|\.testing)\.tsx?|\/store\/contract\/.*)$/.test(path)
}
