/**
 * `npm run build:bounds`: makes docs/bounds.md of the sources. A bound is a constant whose name says so (`…Max`, `…Min`) or
 * has a unit of time or size (`…Ms`, `…Bytes`), and whose docstring says the rest:
 *
 *     Most bytes of a hint's apps; with more, the hint is for all. Ours.
 *     └ what it bounds            └ what happens at the bound      └ source
 *
 * A sentence or clause that begins with one of `atBoundWords` says what happens at the bound.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { fileURLToPath } from "node:url"
import { appFigures } from "@sluice/api/limits"
import { parseSync, type Expression, type ObjectExpression } from "oxc-parser"

const root = fileURLToPath(new URL("..", import.meta.url))

/** The page, from the root. */
export const boundsPage = "docs/bounds.md"

/** The sources that bounds of the server are in. */
const folders = ["packages/api/src", "packages/rules/src/language", "packages/server/src"]

/** The file of the operator's settings. */
const configFile = "packages/server/src/config.ts"

/** A constant with a number, from the source `path`. */
export interface Bound {
  readonly path: string
  readonly name: string
  readonly value: number
  /** The docstring as one line; empty when there is none. */
  readonly docstring: string
}

/** A setting that takes a whole number. */
interface NumberSetting {
  readonly name: string
  readonly range: readonly [number, number]
  /** `undefined` when it is computed at the start, or absent. */
  readonly defaultValue: number | undefined
  /** The profile of limits decides; `defaultValue` is that of `none`. */
  readonly isByProfile: boolean
  readonly help: string
}

/** A top-level constant of a file, with the docstring of its group: constants that follow without a blank line share it. */
interface Constant {
  readonly name: string
  readonly init: Expression
  readonly docstring: string
}

/** A parsed file: its constants, and where the names that it imports come from. */
interface ParsedFile {
  readonly constants: readonly Constant[]
  readonly imports: ReadonlyMap<string, { readonly path: string; readonly name: string }>
}

const noBound = /^(?:second|minute|hour|day|week)Ms$|bibyte$|Epoch/
const noBoundDocstring = /^(?:Memory (?:of|that)|Length of|Bytes of|Characters of)\b/
const boundName = /(?:Max|Min)(?:[A-Z]|$)|(?:Ms|Seconds|Minutes|Bytes|Characters|AtOnce|PerTurn|PerRound)$/

/** Every bound, in the order of folders, files and lines. */
export function readBounds(): readonly Bound[] {
  const files = new Map(sourceFiles().map((path) => [path, parsedFile(path)]))
  return [...files].flatMap(([path, { constants }]) =>
    constants
      .filter(({ name }) => boundName.test(name) && !noBound.test(name))
      .filter(({ docstring }) => !noBoundDocstring.test(docstring))
      .map(({ name, docstring }) => ({ path, name, docstring, value: valueOf(files, path, name) }))
      .filter((one): one is Bound => one.value !== undefined),
  )
}

function sourceFiles(): readonly string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /(?<!\.d|\.test|\.testing)\.ts$/.test(file) && !/(?:^|\/)contract\//.test(file))
      .map((file) => `${folder}/${file}`)
      .toSorted((one, other) => (roomOf(one) + one < roomOf(other) + other ? -1 : 1)),
  )
}

function parsedFile(path: string): ParsedFile {
  const text = readFileSync(join(root, path), "utf8")
  const { program, comments, module } = parseSync(path, text)
  const areAllOurs = comments[0]?.value.includes("All are ours") === true
  const constants: Constant[] = []
  let group = { end: 0, docstring: "" }
  for (const statement of program.body) {
    const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement
    if (declaration?.type !== "VariableDeclaration") continue
    const own = comments.findLast(({ end, start }) => end <= statement.start && start >= group.end)
    const isOwn = own?.value.startsWith("*") === true && /^\n$/.test(text.slice(own.end, statement.start))
    const isSame = /^\n$/.test(text.slice(group.end, statement.start))
    const ownText = isOwn ? oneLine(own.value) + (areAllOurs ? " Ours." : "") : ""
    group = { end: statement.end, docstring: isSame ? group.docstring : ownText }
    for (const { id, init } of declaration.declarations) {
      if (id.type === "Identifier" && init !== null) constants.push({ name: id.name, init, docstring: group.docstring })
    }
  }
  const imports = new Map<string, { path: string; name: string }>()
  for (const { moduleRequest, entries } of module.staticImports) {
    for (const { importName, localName } of entries) {
      if (importName.name === null || importName.name === undefined) continue
      imports.set(localName.value, { path: importedPath(path, moduleRequest.value), name: importName.name })
    }
  }
  return { constants, imports }
}

const oneLine = (comment: string): string =>
  comment
    .replaceAll(/^\s*\*+ ?/gm, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

function importedPath(path: string, specifier: string): string {
  const ofApi = /^@sluice\/api\/(.*)$/.exec(specifier)
  return ofApi === null ? normalize(join(dirname(path), specifier)) : `packages/api/src/${ofApi[1]}.ts`
}

/** A constant's value, through others that it is computed of; `undefined` when it is no number that the sources say. */
function valueOf(files: ReadonlyMap<string, ParsedFile>, path: string, name: string): number | undefined {
  const file = files.get(path)
  const constant = file?.constants.find((one) => one.name === name)
  if (constant !== undefined) return numberOf(constant.init, (other) => valueOf(files, path, other))
  const imported = file?.imports.get(name)
  return imported === undefined ? undefined : valueOf(files, imported.path, imported.name)
}

function numberOf(node: Expression, named: (name: string) => number | undefined): number | undefined {
  if (node.type === "Literal") return typeof node.value === "number" ? node.value : undefined
  if (node.type === "Identifier") return named(node.name)
  if (node.type === "TSAsExpression") return numberOf(node.expression, named)
  if (node.type !== "BinaryExpression" || node.left.type === "PrivateIdentifier") return undefined
  const left = numberOf(node.left, named)
  const right = numberOf(node.right, named)
  if (left === undefined || right === undefined) return undefined
  return operations[node.operator]?.(left, right)
}

const operations: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
  "**": (left, right) => left ** right,
}

/** The settings that take a whole number, in the order of the configuration. */
export function readNumberSettings(): readonly NumberSetting[] {
  const files = new Map(sourceFiles().map((path) => [path, parsedFile(path)]))
  const named = (name: string): number | undefined => valueOf(files, configFile, name)
  const table = files.get(configFile)?.constants.find(({ name }) => name === "table")?.init
  const object = table?.type === "TSSatisfiesExpression" ? table.expression : table
  return object?.type === "ObjectExpression" ? numberSettings(object, named) : []
}

/** Those of a table whose values are calls with a range: `wholeNumber([low, high], default, help)`. */
function numberSettings(
  { properties }: ObjectExpression,
  named: (name: string) => number | undefined,
): readonly NumberSetting[] {
  return properties.flatMap((property) => {
    if (property.type !== "Property" || property.key.type !== "Identifier") return []
    if (property.value.type !== "CallExpression") return []
    const nodes = property.value.arguments.filter((one): one is Expression => one.type !== "SpreadElement")
    const [range, fallback] = nodes
    if (range?.type !== "ArrayExpression" || fallback === undefined) return []
    const [low, high] = range.elements.map((one) =>
      one === null || one.type === "SpreadElement" ? undefined : numberOf(one, named),
    )
    const figure = profileFigureOf(fallback)
    const defaultValue = figure === undefined ? numberOf(fallback, named) : appFigures.none[figure]
    const help = nodes.flatMap((one) => (one.type === "Literal" && typeof one.value === "string" ? [one.value] : []))[0]
    if (low === undefined || high === undefined || help === undefined) return []
    return [{ name: property.key.name, range: [low, high], defaultValue, isByProfile: figure !== undefined, help }]
  })
}

/** The figure of `byProfile("figure")`, of a default that the profile of limits decides. */
function profileFigureOf(node: Expression): keyof typeof appFigures.none | undefined {
  if (node.type !== "CallExpression" || node.callee.type !== "Identifier" || node.callee.name !== "byProfile")
    return undefined
  const [figure] = node.arguments
  return figure?.type === "Literal" ? (figure.value as keyof typeof appFigures.none) : undefined
}

/** The parts of a docstring: what is bounded, what happens at the bound, and where the number comes from. */
export function partsOf(docstring: string): {
  readonly what: string
  readonly atBound: string
  readonly source: string
} {
  const sentences = docstring.split(/(?<=[^\s.]{2}[.:])\s+(?=[A-Z`])|(?<=\.)\s+(?=(?:Ours|Source)\b)/)
  const from = sentences.findIndex(
    (one, at) => /^(?:Ours|Source|Measured)\b/.test(one) || (at > 0 && /^X's\b/.test(one)),
  )
  const before = from < 0 ? sentences : sentences.slice(0, from)
  const source = from < 0 ? "" : sentences.slice(from).join(" ")
  const [first = "", ...others] = before
  const clause = new RegExp(`^(.*?)[;,] ((?:${atBoundWords})\\b.*)$`).exec(first)
  const sentence = others.filter((one) => new RegExp(`^(?:${atBoundWords})\\b`, "i").test(one))
  return {
    what: [clause === null ? first : `${clause[1]}.`, ...others.filter((one) => !sentence.includes(one))].join(" "),
    atBound: [...(clause?.[2] === undefined ? [] : [capitalised(clause[2])]), ...sentence].join(" "),
    source,
  }
}

const atBoundWords =
  "beyond|with more|at the bound|after it|over it|above it|of more|more|further|one more|the last|the one|what is"

const capitalised = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** A value as people read it: `16 MiB`, `10 s`, `25,000 characters`. The unit is in the constant's name. */
export function shownValue(name: string, value: number): string {
  if (/Ms(?:$|Max|Min|[A-Z])/.test(name)) return scaled(value, times)
  if (/[bB]ytes(?:[A-Z]\w*)?$/.test(name)) return scaled(value, sizes)
  if (/Mb/.test(name)) return `${count(value)} MiB`
  const unit = /(Seconds|Minutes|Hours|Days|[cC]haracters)(?:[A-Z]\w*)?$/.exec(name)?.[1]?.toLowerCase()
  return unit === undefined ? count(value) : `${count(value)} ${unit}`
}

type Unit = readonly [factor: number, name: string]
const times: readonly Unit[] = [
  [86_400_000, "days"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
  [1, "ms"],
]
const sizes: readonly Unit[] = [
  [1_073_741_824, "GiB"],
  [1_048_576, "MiB"],
  [1_024, "KiB"],
  [1, "bytes"],
]

/** In the largest unit that divides it; 24 h rather than a day. */
function scaled(value: number, units: readonly Unit[]): string {
  const [factor, name] = units.find(([one]) => value % one === 0 && value >= one * (one === 86_400_000 ? 2 : 1)) ?? [
    1,
    "",
  ]
  return `${count(value / factor)} ${name}`.trim()
}

const count = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 6 })

/** The room that a file is in: its package, and in the server the stage. */
function roomOf(path: string): string {
  const [, name = "", , folder = ""] = path.split("/")
  if (name !== "server") return `@sluice/${name}`
  return folder.endsWith(".ts") ? "the assembly" : folder
}

/** The page. Its tables are not aligned, so that a changed bound is a changed line. */
export function boundsText(): string {
  const bounds = readBounds().filter(({ docstring }) => docstring !== "")
  const rooms = Map.groupBy(bounds, ({ path }) => roomOf(path))
  const tables = [...rooms].flatMap(([room, own]) => ["", `## ${room}`, "", ...boundRows(own)])
  return [head, ...settingRows(readNumberSettings()), ...tables, ""].join("\n")
}

const head = `# Bounds

<!-- Made by \`npm run build:bounds\` of the docstrings in the sources. Change those. -->

Every queue, cache, wait and input of the server has a bound. This page lists them by package and, for the server, by the
folders that [ARCHITECTURE.md](../ARCHITECTURE.md) describes. A bound holds for what its sentence names: a connection, an
app, a link, or all of them. Where "At the bound" is empty, nothing is lost there: the rest is done later, or in parts.

"Ours" is a number that Sluice chose; a source is named where X's documents, a standard or a measurement decide.

## Set by the operator

As a flag, an environment variable or a line of the configuration file.

`

function settingRows(settings: readonly NumberSetting[]): readonly string[] {
  const rows = settings
    .filter(({ name }) => !/port$/i.test(name))
    .map(({ name, range, defaultValue, isByProfile, help }) => {
      const variable = `SLUICE_${name.replaceAll(/[A-Z]/g, "_$&").toUpperCase()}`
      const plain = defaultValue === undefined ? "by cores" : plainOrSize(name, defaultValue)
      const shown = isByProfile ? `${plain}, or by [profile](limits.md)` : plain
      return row([`\`${variable}\``, shown, range.map((one) => plainOrSize(name, one)).join(" to "), help])
    })
  return [row(["Setting", "Default", "Range", "Bounds"]), row(["---", "---", "---", "---"]), ...rows]
}

const plainOrSize = (name: string, value: number): string =>
  /Bytes/.test(name) ? shownValue(name, value) : count(value)

function boundRows(bounds: readonly Bound[]): readonly string[] {
  const rows = bounds.map(({ path, name, value, docstring }) => {
    const { what, atBound, source } = partsOf(docstring)
    const short = source.replace(/^Ours\.$/, "Ours").replace(/^Source: /, "")
    const file = `[${path.split("/").slice(3).join("/")}](../${path})`
    return row([`\`${name}\``, shownValue(name, value), what, atBound, short, file])
  })
  const columns = ["Constant", "Value", "Bounds", "At the bound", "Source", "File"]
  return [row(columns), row(columns.map(() => "---")), ...rows]
}

const row = (cells: readonly string[]): string => `| ${cells.map((one) => one.replaceAll("|", "\\|")).join(" | ")} |`

if (import.meta.main) writeFileSync(join(root, boundsPage), boundsText())
