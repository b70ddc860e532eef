/**
 * The architecture as a test: who may import whom, and the words that have one home.
 *
 * The table is the one of ARCHITECTURE.md; when it changes, both change in the same commit.
 */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))

/** What the source of a package may import of the others. */
const packageTable: Readonly<Record<string, readonly string[]>> = {
  rules: [],
  api: [],
  server: ["@sluice/api", "@sluice/rules"],
  sluice: ["@sluice/rules", "@sluice/server"],
}

/** What a folder of the server may import of the others and of the packages. */
const folderTable: Readonly<Record<string, readonly string[]>> = {
  model: ["@sluice/api"],
  runtime: ["@sluice/api"],
  store: ["@sluice/api", "model", "runtime"],
  matching: ["@sluice/api", "@sluice/rules", "model", "runtime"],
  ingest: ["@sluice/api", "model", "runtime", "store", "matching"],
  delivery: ["@sluice/api", "model", "runtime", "store"],
  timelines: ["@sluice/api", "model", "runtime", "store"],
  control: ["@sluice/api", "@sluice/rules", "model", "runtime", "store", "matching"],
  http: ["@sluice/api", "model", "runtime", "ingest", "delivery", "timelines", "control"],
}

/** Packages that are pure: no built-in module of Node either. */
const withoutBuiltIns: ReadonlySet<string> = new Set(["rules"])

/** Words with one home: where they may stand in the source of the packages. */
const homes: readonly { readonly word: RegExp; readonly name: string; readonly home: RegExp }[] = [
  { name: "Date.now", word: /\bDate\.now\b/, home: /^packages\/(server\/src\/runtime\/clock\.ts|sluice\/)/ },
  {
    name: "performance.now",
    word: /\bperformance\.now\b/,
    home: /^packages\/(server\/src\/runtime\/clock\.ts|sluice\/)/,
  },
  { name: "Math.random", word: /\bMath\.random\b/, home: /^packages\/server\/src\/runtime\/random\.ts$/ },
  {
    name: "process.env",
    word: /\bprocess\.env\b/,
    home: /^packages\/(server\/src\/config\.ts|sluice\/src\/environment\.ts)$/,
  },
  {
    name: "SQL",
    word: /["'`]\s*(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|CREATE\s+(TABLE|INDEX)\s|PRAGMA\s)/,
    home: /^packages\/server\/src\/store\//,
  },
  {
    name: "status codes of answers",
    word: /\.(code|status|writeHead)\(\s*[1-5]\d\d\b|\bstatus: [1-5]\d\d\b/,
    home: /^packages\/(server\/src\/(http\/|model\/problem\.ts)|sluice\/)/,
  },
]

/** A source file: its path from the root, and its text. */
interface Source {
  readonly path: string
  readonly text: string
}

function sources(): readonly Source[] {
  return Object.keys(packageTable).flatMap((name) => {
    const directory = join(root, "packages", name, "src")
    return readdirSync(directory, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => join(directory, file))
      .map((file) => ({ path: relative(root, file), text: readFileSync(file, "utf8") }))
  })
}

/** Tests and what only tests use may break the rules of the program. */
function isProgram({ path }: Source): boolean {
  return !/((\.test|\.testing)\.ts|store\/contract\.ts)$/.test(path)
}

function importsOf(text: string): readonly string[] {
  return [
    ...text.matchAll(
      /^(?:import|export)\b[^"';]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm,
    ),
  ].map((found) => found[1] ?? found[2] ?? found[3] ?? "")
}

/** `server/src/http/routes/rules.ts` lies in `http`; files at the top of the server lie in no folder. */
function folderOf(path: string): string | undefined {
  return /^packages\/server\/src\/([^/]+)\//.exec(path)?.[1]
}

/** Every import of a file that its row of the table does not allow, in words. */
function badImports({ path, text }: Source): readonly string[] {
  const packageName = /^packages\/([^/]+)\//.exec(path)?.[1] ?? ""
  const folder = folderOf(path)
  return importsOf(text).flatMap((specifier) => {
    if (specifier.startsWith(".")) {
      const target = relative(root, resolve(root, dirname(path), specifier))
      if (!target.startsWith(`packages/${packageName}/`)) return [`${path} reaches into ${target}`]
      const targetFolder = folderOf(target)
      if (folder === undefined || targetFolder === folder) return []
      const isAllowed = targetFolder !== undefined && folderTable[folder]?.includes(targetFolder) === true
      return isAllowed ? [] : [`${path}: ${folder} may not import ${targetFolder ?? target}`]
    }
    if (/^(@sluice\/|sluice$)/.test(specifier)) {
      const allowed = folder === undefined ? packageTable[packageName] : folderTable[folder]
      return allowed?.includes(specifier) === true ? [] : [`${path} may not import ${specifier}`]
    }
    if (withoutBuiltIns.has(packageName)) return [`${path} may not import ${specifier}: it is pure`]
    return []
  })
}

/** Every word of a file that is away from its home. */
function strayWords({ path, text }: Source): readonly string[] {
  const code = text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "")
  return homes.flatMap(({ name, word, home }) =>
    word.test(code) && !home.test(path) ? [`${path}: ${name}`] : [],
  )
}

describe("the architecture", () => {
  const program = sources().filter(isProgram)

  test("every folder of the server has its row, and every row its folder", () => {
    const folders = new Set(program.map(({ path }) => folderOf(path)).filter((name) => name !== undefined))
    expect([...folders].toSorted()).toEqual(Object.keys(folderTable).toSorted())
  })

  test("nothing imports what its row does not allow", () => {
    expect(program.flatMap(badImports)).toEqual([])
  })

  test("words that have one home stay there", () => {
    expect(program.flatMap(strayWords)).toEqual([])
  })

  test("a bad import is found, types and re-exports included", () => {
    const bad = (path: string, text: string): number => badImports({ path, text }).length
    expect(bad("packages/server/src/http/routes/x.ts", 'import { a } from "../../store/store.ts"')).toBe(1)
    expect(bad("packages/server/src/http/x.ts", 'import type { A } from "../store/store.ts"')).toBe(1)
    expect(bad("packages/server/src/model/x.ts", 'export * from "../runtime/clock.ts"')).toBe(1)
    expect(
      bad("packages/server/src/delivery/x.ts", 'import {\n  a,\n  b,\n} from "../control/apps.ts"'),
    ).toBe(1)
    expect(bad("packages/server/src/delivery/x.ts", 'import { a } from "@sluice/rules"')).toBe(1)
    expect(bad("packages/server/src/control/x.ts", 'import { startServer } from "../main.ts"')).toBe(1)
    expect(bad("packages/rules/src/x.ts", 'import { readFileSync } from "node:fs"')).toBe(1)
    expect(bad("packages/sluice/src/x.ts", 'import { x } from "../../server/src/main.ts"')).toBe(1)
    expect(bad("packages/server/src/http/x.ts", 'const late = await import("../store/store.ts")')).toBe(1)
    expect(bad("packages/server/src/http/x.ts", 'import { a } from "../control/apps.ts"')).toBe(0)
  })

  test("a stray word is found, and one in a comment is not", () => {
    const stray = (path: string, text: string): number => strayWords({ path, text }).length
    expect(stray("packages/server/src/http/x.ts", "const now = Date.now()")).toBe(1)
    expect(stray("packages/server/src/control/x.ts", "if (process.env.X) run()")).toBe(1)
    expect(stray("packages/server/src/delivery/x.ts", 'db.prepare("SELECT 1")')).toBe(1)
    expect(stray("packages/server/src/control/x.ts", "throw new Problem({ status: 404 })")).toBe(1)
    expect(stray("packages/server/src/http/x.ts", "// Date.now is not for here")).toBe(0)
    expect(stray("packages/server/src/runtime/clock.ts", "Date.now()")).toBe(0)
  })
})
