/** Source files, read and parsed: what they import and export, their functions, their comments. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, normalize, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { parseSync, Visitor, type Node, type Program } from "oxc-parser"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** One import or re-export of a file, types included. */
interface Import {
  readonly specifier: string
  /** The file of this repository that it leads to, from the root; absent when it leads to a library. */
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

/** The making of a response: an object or a text that a handler returns or sends, or one with the members of a body. */
interface MadeBody {
  readonly line: number
  readonly code: string
}

/** A comment, and the line on which it begins. */
interface Comment {
  readonly line: number
  readonly text: string
}

/** A file by its path from the root. */
export interface Source {
  readonly path: string
  readonly text: string
  /** The text with every comment blanked out; lines stay where they are. */
  readonly code: string
  /** Each comment without its signs, adjacent lines as one. */
  readonly comments: readonly Comment[]
  readonly imports: readonly Import[]
  /** Names of the values (not types) that it declares and exports. */
  readonly exportedValues: readonly string[]
  readonly functions: readonly FunctionLines[]
  readonly madeBodies: readonly MadeBody[]
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

/** Folders that were read: their files are the same for every test. */
const readFolders = new Map<string, readonly Source[]>()

/** Every source file of these folders, from the root. AssemblyScript is parsed as TypeScript. */
export function readSources(...folders: readonly string[]): readonly Source[] {
  return folders.flatMap((folder) => {
    const sources = readFolders.get(folder) ?? readFolder(folder)
    readFolders.set(folder, sources)
    return sources
  })
}

function readFolder(folder: string): readonly Source[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => /(?<!\.d)\.tsx?$/.test(file) && !/(^|\/)(node_modules|dist)\//.test(file))
    .map((file) => join(root, folder, file))
    .map((file) => parseSource(relative(root, file), readFileSync(file, "utf8")))
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
    // AssemblyScript's compiler adds the extension itself.
    const file = /\.\w+$/.test(specifier) ? specifier : `${specifier}.ts`
    const target = specifier.startsWith(".") ? normalize(join(dirname(path), file)) : entryOf.get(specifier)
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
  const madeBodies = bodiesIn(program, text)
  return { path, text, code, comments: commentsIn(text, comments), imports, exportedValues, functions, madeBodies }
}

/** The members that the bodies of the API have at the top. No other object of a route has one of them. */
const bodyMembers = new Set(["data", "meta", "errors"])

/** The methods that add a route: the last argument of `server.get(…)` is its handler. */
const routeMethods = new Set(["get", "post", "put", "patch", "delete"])

function bodiesIn(program: Program, text: string): readonly MadeBody[] {
  const found = new Map<number, MadeBody>()
  const handlers = new Set<number>()
  const functions: number[] = []
  const add = ({ start, end }: Node): void => {
    const code = text.slice(start, end).split("\n", 1)[0] ?? ""
    found.set(start, { line: text.slice(0, start).split("\n").length, code })
  }
  const addMade = (value: Node): void => {
    for (const one of alternatives(value)) {
      if (one.type === "ObjectExpression" || one.type === "TemplateLiteral") add(one)
    }
  }
  new Visitor({
    ObjectExpression(node) {
      const names = node.properties.map((one) =>
        one.type === "Property" && one.key.type === "Identifier" ? one.key.name : "",
      )
      if (names.some((name) => bodyMembers.has(name))) add(node)
    },
    CallExpression(node) {
      const { callee, arguments: given } = node
      const name = callee.type === "MemberExpression" ? callee.property : callee
      if (name.type !== "Identifier") return
      if (name.name === "stringify") add(node)
      if (name.name === "send" || name.name === "presentData") given.forEach(addMade)
      const handler = given.at(-1)
      if (!routeMethods.has(name.name) || handler?.type !== "ArrowFunctionExpression") return
      handlers.add(handler.start)
      if (handler.body.type !== "BlockStatement") addMade(handler.body)
    },
    ArrowFunctionExpression: ({ start }) => void functions.push(start),
    "ArrowFunctionExpression:exit": () => void functions.pop(),
    ReturnStatement({ argument }) {
      if (argument !== null && handlers.has(functions.at(-1) ?? -1)) addMade(argument)
    },
  }).visit(program)
  return [...found.values()].toSorted((a, b) => a.line - b.line)
}

/** The values that an expression may have. */
function alternatives(value: Node): readonly Node[] {
  switch (value.type) {
    case "ConditionalExpression":
      return [...alternatives(value.consequent), ...alternatives(value.alternate)]
    case "LogicalExpression":
      return [...alternatives(value.left), ...alternatives(value.right)]
    case "AwaitExpression":
      return alternatives(value.argument)
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "ParenthesizedExpression":
      return alternatives(value.expression)
    default:
      return [value]
  }
}

/** Whether a file is part of the program: neither a test nor what only tests use. */
export function isProgram({ path }: { readonly path: string }): boolean {
  return path.startsWith("packages/") && !/((\.test|\.testing)\.tsx?|\/store\/contract\/.*)$/.test(path)
}

function commentsIn(
  text: string,
  comments: readonly { readonly start: number; readonly end: number }[],
): readonly Comment[] {
  const found: { line: number; text: string; end: number }[] = []
  for (const { start, end } of comments) {
    const words = text.slice(start, end).replaceAll(/^\/\*\*?|\*\/$|^\s*\*(?!\/) ?|^\/\/\/? ?/gm, "")
    const before = found.at(-1)
    const isLine = text.startsWith("//", start)
    if (before !== undefined && isLine && /^\n[ \t]*$/.test(text.slice(before.end, start))) {
      before.text += `\n${words}`
      before.end = end
    } else found.push({ line: text.slice(0, start).split("\n").length, text: words, end: isLine ? end : start })
  }
  return found.map(({ line, text: words }) => ({ line, text: words }))
}
