/**
 * The architecture as a test: who may import whom, which library stands where, and what no file may hold.
 *
 * ARCHITECTURE.md has the only tables, and the test reads them. Each rule is a function in `architecture/checks.ts`, and is
 * shown here to find what breaks it.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import {
  badImports,
  bannedWords,
  bodiesMadeIn,
  circles,
  deadExports,
  foreignModules,
  longFunctions,
  rowOf,
  strayLibraries,
  strayWords,
  unusedPermissions,
  type Home,
  type ImportTable,
} from "./architecture/checks.ts"
import { isProgram, parseSource, readSources } from "./architecture/source.ts"
import { faultySentences, sentencesOfComment } from "./architecture/plain-english.ts"
import { architecture, folderTables, invariants, quoted, tableBelow } from "./architecture/tables.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

const tables = folderTables(architecture)

/** The rows of the table of what lies in `base`. Throws without one. */
function tableOf(base: string): ImportTable {
  const found = tables.find((table) => table.base === base)
  if (found === undefined) throw new Error(`ARCHITECTURE.md has no table of ${base}`)
  return found.rows
}

const serverTable = tableOf("packages/server/src/")

/** Files of the server that lie in no folder, and nothing else does. */
const serverTop = ["commands.ts", "config.ts", "index.ts", "main.ts", "stages.ts"]

const server = "packages/server/src/"
const command = "packages/sluice/src/"
const page = "packages/console/src/"

/** Each library, and where it may be imported. Node's own modules are `node:`; the rules run in a browser. */
const libraries: Readonly<Record<string, readonly string[]>> = {
  "node:": ["packages/console/vite.config.ts", "packages/server/", "packages/sluice/"],
  typebox: ["packages/api/", `${server}http/`],
  fastify: [`${server}http/`, "packages/console/vite.config.ts"],
  "@scalar/fastify-api-reference": ["packages/console/vite.config.ts"],
  "@fastify/swagger": [`${server}http/`],
  "@fastify/type-provider-typebox": [`${server}http/`],
  "ipaddr.js": [`${server}runtime/`],
  "lru-cache": [server],
  undici: [`${server}runtime/`],
  pino: [`${server}runtime/`],
  "prom-client": [`${server}runtime/`],
  pg: [`${server}store/cluster/`, `${server}sources/positioned/`],
  "@nats-io/jetstream": [`${server}sources/`],
  "@nats-io/transport-node": [`${server}sources/`],
  htmlparser2: [`${server}conversion/mastodon/`],
  ws: [`${server}sources/`],
  "eventsource-parser": [`${server}sources/`],
  jsonata: [`${server}sources/`],
  amqplib: [`${server}sources/`],
  redis: [`${server}sources/`],
  yaml: [`${server}config.ts`, `${command}rules/`, `${page}pages/rules/`],
  react: [page],
  "react-dom": [page],
  "@base-ui/react": [page],
  "@tanstack/react-query": [page],
  "@tanstack/react-virtual": [`${page}components/`],
  uplot: [`${page}components/`],
  "@codemirror/autocomplete": [`${page}components/`],
  "@codemirror/commands": [`${page}components/`],
  "@codemirror/lint": [`${page}components/`],
  "@codemirror/state": [`${page}components/`],
  "@codemirror/view": [`${page}components/`],
  wouter: [page],
  vite: ["packages/console/vite.config.ts"],
  "@vitejs/plugin-react": ["packages/console/vite.config.ts"],
  commander: [command],
  "cli-progress": [`${command}terminal/`],
  "string-width": [`${command}terminal/`],
}

/** Entries that run wherever JavaScript does, and so load nothing of Node and no library. */
const portable = [
  "packages/api/src/index.ts",
  "packages/api/src/limits.ts",
  "packages/api/src/paths.ts",
  "packages/api/src/signature.ts",
  "packages/client/src/index.ts",
  "packages/client/src/receiver/index.ts",
  "packages/rules/src/index.ts",
  "packages/rules/src/walk/index.ts",
]

/** Entries of the threads that start with a server, apart from the main one. */
const threads = [
  "delivery/threads/delivery-thread.ts",
  "ingest/intake-thread.ts",
  "search/search-thread.ts",
  "store/embedded/serving/writer-thread.ts",
].map((file) => server + file)

/** Entries of the library, for programs that are not here, and that of the walk, whose exports its compiled module has. */
const published = [
  "packages/rules/assembly/walk.ts",
  "packages/client/src/index.ts",
  "packages/client/src/receiver/index.ts",
  "packages/sluice/src/testing/index.ts",
]

/** Most lines of code in a function of the program. */
const functionLinesMax = 100

/** Words with one home: where they may stand in the source of the packages. */
const homes: readonly Home[] = [
  {
    name: "Date.now",
    word: /\bDate\.now\b/,
    home: /^packages\/(server\/src\/runtime\/clock\.ts|client\/src\/|console\/|sluice\/)/,
  },
  {
    name: "performance.now",
    word: /\bperformance\.now\b/,
    home: /^packages\/(server\/src\/runtime\/clock\.ts|sluice\/)/,
  },
  {
    // V8 14.6 reads past the end of a slice.
    name: "codePointAt",
    word: /\.codePointAt\(/,
    home: /^packages\/(?!rules\/)/,
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
    home: /^packages\/server\/src\/(?:store|sources\/positioned\/outbox)\//,
  },
  { name: "SQLite", word: /SQLITE|[Ss]qlite/, home: /^packages\/server\/src\/store\/embedded\// },
  {
    name: "status codes of responses",
    word: /\.(code|status|writeHead)\(\s*[1-5]\d\d\b|\bstatus: [1-5]\d\d\b/,
    home: /^packages\/(server\/src\/(http\/|model\/problem\.ts)|client\/src\/receiver\/|sluice\/)/,
  },
  { name: "a path of the API", word: /["'`]\/(2|sluice\/v1)\//, home: /^packages\/api\/src\/(paths|not-offered)\.ts$/ },
]

/** Words of a private language, and the field's word (STYLE.md, the glossary). */
const banned: readonly { readonly word: RegExp; readonly say: string }[] = [
  { word: /\bpour(s|ed|ing)?\b/i, say: "ingest, import or send" },
  { word: /\b(bury|buried|buries|noteDead)\b/i, say: "dead-letter" },
  { word: /\b(signOfLife|sign of life|signs of life)\b/i, say: "keep-alive" },
  { word: /\b(sayFarewell|farewell|last words)\b/i, say: "disconnect message" },
  { word: /\b(ControlLooks|looksBegun|lookMs)\b/, say: "watch or reconcile" },
  { word: /\b(HeldDeliveries|heldDeliveries)\b/, say: "PendingDeliveries" },
  { word: /\b(openDoor|doors?)\b/i, say: "entry point" },
  { word: /\btold\b/i, say: "reported, notified or changeKinds" },
  { word: /\b(orTooLong|perhapsDry|theSame)\b/, say: "withTimeout, withDryRun, interned" },
  { word: /\b(lacking|failForWantOfThread|for want of)\b/i, say: "unavailable, without" },
  { word: /\b(whatIsAsked|refuseUnserved|Judged)\b/, say: "parseChange, rejectUnembeddable, ValidatedRule" },
  { word: /\b(mostTelling|Lack|Standing)\b/, say: "mostSpecific, Violation, Selectivity" },
  { word: /\b(retireWebhook|turnInvalid|setWebhookValid)\b/, say: "invalidate" },
  { word: /\b(storyOnStderr|Telling)\b/, say: "DemoReporter" },
  { word: /\b(whoever|for ever)\b/i, say: "a person or a part by name; forever" },
]

const program = readSources("packages").filter(isProgram)

describe("the architecture", () => {
  test("every folder of a table is there, and every folder has its row", () => {
    expect(tables.map(({ base }) => base)).toContain("packages/")
    for (const { base, rows } of tables) {
      const folders = readdirSync(join(root, base), { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => base + name)
        .filter((folder) => program.some(({ path }) => path.startsWith(`${folder}/`)))
      const missing = folders.filter((folder) => !Object.keys(rows).some((row) => `${row}/`.startsWith(`${folder}/`)))
      expect(missing, "folders without a row").toEqual([])
      const gone = Object.keys(rows).filter(
        (row) => !program.some(({ path }) => path.startsWith(`${row}/`) || path === `${row}.ts`),
      )
      expect(gone, "rows without a folder").toEqual([])
    }
  })

  test("no package and no folder imports what its row does not allow", () => {
    expect(tables.flatMap(({ rows }) => badImports(rows, program))).toEqual([])
  })

  test("no row allows an import that its files do not use", () => {
    expect(tables.flatMap(({ rows }) => unusedPermissions(rows, program))).toEqual([])
  })

  test("every file to which a question leads exists", () => {
    const files = tableBelow(architecture, /^## Where to look$/).flatMap(([, cell = ""]) => quoted(cell))
    expect(files.length).toBeGreaterThan(20)
    expect(files.filter((file) => !existsSync(join(root, "packages", file)))).toEqual([])
  })

  test("the table of threads names every file that runs as a thread", () => {
    const named = tableBelow(architecture, /^## Threads$/).map(([, cell = ""]) => `packages/${quoted(cell)[0] ?? ""}`)
    const running = program.map(({ path }) => path).filter((path) => /^packages\/server\/.*-thread\.ts$/.test(path))
    expect(named.toSorted()).toEqual([`${server}main.ts`, ...running].toSorted())
  })

  test("only the settings, the entry and the assembly lie at the top of the server", () => {
    const top = program.map(({ path }) => path).filter((path) => /^packages\/server\/src\/[^/]+$/.test(path))
    expect(top.toSorted()).toEqual(serverTop.map((file) => server + file))
  })

  test("each library is imported only where it belongs", () => {
    expect(strayLibraries(libraries, program)).toEqual([])
  })

  test("code that also runs in browsers loads nothing of Node, and no library", () => {
    expect(portable.flatMap((entry) => foreignModules(entry, program))).toEqual([])
  })

  test("a thread loads no HTTP, no schemas and nothing that sends requests: it starts each time a server does", () => {
    const allowed = /^(node:(?!https?$|http2$|tls$).+|lru-cache|ipaddr\.js)$/
    const trails = threads.flatMap((entry) => foreignModules(entry, program, { late: false }))
    expect(trails.filter((trail) => !allowed.test(trail.split(" → ").at(-1) ?? ""))).toEqual([])
  })

  test("a start loads no code that sends requests, makes the description, or has no settings", () => {
    const entries = ["main.ts", "http/server.ts"].map((file) => server + file)
    const trails = entries.flatMap((entry) => foreignModules(entry, program, { late: false }))
    const late =
      / → (undici|ws|jsonata|eventsource-parser|amqplib|redis|@fastify\/swagger|yaml|@nats-io\/.+|node:https?)$/
    expect(trails.filter((trail) => late.test(trail))).toEqual([])
  })

  test("threads start before HTTP loads", () => {
    const trails = foreignModules(`${server}main.ts`, program, { late: false })
    expect(trails.filter((trail) => / → (fastify|typebox(\/.+)?)$/.test(trail))).toEqual([])
  })

  test("imports make no cycle, types counted", () => {
    expect(circles(program)).toEqual([])
  })

  test(`no function has more than ${functionLinesMax} lines of code`, () => {
    expect(longFunctions(functionLinesMax, program)).toEqual([])
  })

  test("words that have one home stay there", () => {
    expect(strayWords(homes, program)).toEqual([])
  })

  test("no route makes the body of a response: that is for http/present", () => {
    expect(bodiesMadeIn(`${server}http/routes/`, program)).toEqual([])
  })

  test("no banned word stands in code, comments or documentation", () => {
    const own = /^test\/architecture/
    const code = readSources("packages", "bench", "test", "scripts", "site").filter(({ path }) => !own.test(path))
    const pages = readdirSync(root, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".md") && !/(^|\/)(node_modules|\.git)\//.test(path) && path !== "STYLE.md")
      .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }))
    expect(bannedWords(banned, [...code, ...pages])).toEqual([])
  })

  test("no comment begins a sentence with a clause, or uses a word of the old dialect", () => {
    const sources = readSources("packages", "bench", "test", "scripts", "examples", "site")
    const faults = sources.flatMap(({ path, comments }) =>
      comments.flatMap(({ line, text }) =>
        faultySentences(sentencesOfComment(text)).map((sentence) => `${path}:${line}: ${sentence}`),
      ),
    )
    expect(faults).toEqual([])
  })

  test("each invariant names a test, which is there", () => {
    const unheld = tableBelow(invariants, /^# Invariants$/).filter(([, cell = ""]) => {
      const [, path = "", name = ""] = /^`([^`]+)`: "(.+)"$/.exec(cell) ?? []
      return name === "" || !readFileSync(join(root, path), "utf8").includes(name)
    })
    expect(unheld).toEqual([])
  })

  test("no export is used by tests only", () => {
    const others = readSources("bench", "scripts")
    const tests = readSources("packages", "test").filter((source) => !isProgram(source))
    const dead = deadExports([...program, ...others], tests, published)
    expect(dead.filter((line) => line.startsWith("packages/"))).toEqual([])
  })
})

describe("the checks of the architecture", () => {
  const file = (path: string, text: string) => parseSource(path, text)

  test("a bad import is found, types and re-exports included", () => {
    const bad = (path: string, text: string): number =>
      tables.flatMap(({ rows }) => badImports(rows, [file(path, text)])).length
    expect(bad(`${server}http/routes/x.ts`, 'import { a } from "../../store/store.ts"')).toBe(1)
    expect(bad(`${server}http/x.ts`, 'import type { A } from "../store/store.ts"')).toBe(1)
    expect(bad(`${server}model/x.ts`, 'export * from "../runtime/clock.ts"')).toBe(1)
    expect(bad(`${server}delivery/links/x.ts`, 'import {\n  a,\n  b,\n} from "../../control/apps.ts"')).toBe(1)
    expect(bad(`${server}delivery/links/x.ts`, 'import { a } from "../replays/replays.ts"')).toBe(1)
    expect(bad(`${server}delivery/sending/x.ts`, 'import { a } from "../links/webhook-link.ts"')).toBe(1)
    expect(bad(`${server}delivery/links/x.ts`, 'import { a } from "../sending/attempt.ts"')).toBe(0)
    expect(bad(`${server}delivery/x.ts`, 'import { a } from "@sluice/rules"')).toBe(1)
    expect(bad(`${server}control/x.ts`, 'import { startServer } from "../main.ts"')).toBe(1)
    expect(bad(`${server}main.ts`, 'import { createClient } from "@sluice/client"')).toBe(1)
    expect(bad(`${server}ingest/x.ts`, 'import { a } from "../store/embedded/database.ts"')).toBe(1)
    expect(bad(`${server}store/open.ts`, 'import { a } from "./embedded/database.ts"')).toBe(0)
    expect(bad(`${server}store/cluster/x.ts`, 'import { a } from "../embedded/nouns/apps.ts"')).toBe(1)
    expect(bad(`${server}store/embedded/x.ts`, 'import { a } from "../cluster/nouns/apps.ts"')).toBe(1)
    expect(bad("packages/rules/src/text/x.ts", 'import type { Rule } from "../language/rule.ts"')).toBe(1)
    expect(bad("packages/rules/src/matcher/x.ts", 'import type { Rule } from "../language/rule.ts"')).toBe(0)
    expect(bad("packages/rules/assembly/x.ts", 'import { line } from "./memory"')).toBe(0)
    expect(bad("packages/rules/assembly/x.ts", 'import { names } from "../src/post/member-names"')).toBe(1)
    expect(bad("packages/rules/src/walk/x.ts", 'import { line } from "../../assembly/memory.ts"')).toBe(2)
    expect(bad(`${command}x.ts`, 'import { x } from "../../server/src/main.ts"')).toBe(1)
    expect(bad(`${command}x.ts`, 'import { x } from "@sluice/nothing"')).toBe(1)
    expect(bad(`${server}http/x.ts`, 'const late = await import("../store/store.ts")')).toBe(1)
    expect(bad(`${server}http/x.ts`, 'import { a } from "../control/apps.ts"')).toBe(0)
    expect(bad(`${server}http/x.ts`, 'import own from "../../package.json" with { type: "json" }')).toBe(0)
    expect(bad(`${server}http/x.ts`, 'import other from "../../../rules/package.json" with { type: "json" }')).toBe(2)
  })

  test("a permission that no file needs is found", () => {
    const [{ rows: table } = { rows: {} }] = folderTables(`### Rules: \`packages/rules/src/\`

| Folder | Holds | May import             |
| ------ | ----- | ---------------------- |
| \`text\` |       |                        |
| \`post\` |       | \`text\`, \`@sluice/api\` |
`)
    const used = file("packages/rules/src/post/x.ts", 'import type { Fold } from "../text/fold.ts"')
    expect(unusedPermissions(table, [used])).toEqual(["packages/rules/src/post need not import @sluice/api"])
  })

  test("a folder belongs to the row of the longest path", () => {
    expect(rowOf(serverTable, `${server}delivery/links/x.ts`)).toBe(`${server}delivery/links`)
    expect(rowOf(serverTable, `${server}delivery/x.ts`)).toBe(`${server}delivery`)
    expect(rowOf(serverTable, `${server}config.ts`)).toBe(`${server}config`)
    expect(rowOf(serverTable, `${server}main.ts`)).toBe(undefined)
  })

  test("a library away from its folder is found, and so is one without a folder", () => {
    const stray = (path: string, text: string): number => strayLibraries(libraries, [file(path, text)]).length
    expect(stray(`${server}control/x.ts`, 'import { request } from "undici"')).toBe(1)
    expect(stray(`${server}control/x.ts`, 'import type { A } from "left-pad"')).toBe(1)
    expect(stray("packages/rules/src/text/x.ts", 'import { readFileSync } from "node:fs"')).toBe(1)
    expect(stray(`${server}http/x.ts`, 'import swagger from "@fastify/swagger"')).toBe(0)
  })

  test("a module of Node that an entry loads is found with the way to it, and types are not loaded", () => {
    const entry = file("packages/client/src/a.ts", 'export { b } from "./b.ts"\nexport type { C } from "./c.ts"')
    const b = file("packages/client/src/b.ts", 'import { createHmac } from "node:crypto"\nexport const b = createHmac')
    const c = file("packages/client/src/c.ts", 'import { createServer } from "node:http"')
    const fromB = "packages/client/src/a.ts → packages/client/src/b.ts → node:crypto"
    expect(foreignModules("packages/client/src/a.ts", [entry, b, c])).toEqual([fromB])
    const types = file("packages/client/src/b.ts", 'import type { Hmac } from "node:crypto"\nexport const b = 1')
    expect(foreignModules("packages/client/src/a.ts", [entry, types, c])).toEqual([])
    const late = file("packages/client/src/b.ts", 'export const b = import("node:crypto")')
    expect(foreignModules("packages/client/src/a.ts", [entry, late, c])).toEqual([fromB])
  })

  test("a cycle is found, of types too", () => {
    const a = file("packages/api/src/a.ts", 'import type { B } from "./b.ts"')
    const b = file("packages/api/src/b.ts", 'import { c } from "./c.ts"')
    const c = file("packages/api/src/c.ts", 'export type { A } from "./a.ts"')
    expect(circles([a, b, c])).toEqual([
      "packages/api/src/a.ts → packages/api/src/b.ts → packages/api/src/c.ts → packages/api/src/a.ts",
    ])
    expect(circles([a, b])).toEqual([])
  })

  test("a long function is found, comments and blank lines not counted", () => {
    const body = (lines: number): string => "  a()\n".repeat(lines)
    const long = file("packages/api/src/x.ts", `function long() {\n${body(99)}}\nconst other = () => {\n${body(9)}}\n`)
    expect(longFunctions(100, [long])).toEqual(["packages/api/src/x.ts: long has 101 lines"])
    const short = file("packages/api/src/x.ts", `function short() {\n/*\n\n*/ // b\n\n${body(98)}}`)
    expect(longFunctions(100, [short])).toEqual([])
  })

  test("a stray word is found, and one in a comment is not", () => {
    const stray = (path: string, text: string): number => strayWords(homes, [file(path, text)]).length
    expect(stray(`${server}http/x.ts`, "const now = Date.now()")).toBe(1)
    expect(stray(`${server}control/x.ts`, "if (process.env.X) run()")).toBe(1)
    expect(stray(`${server}delivery/x.ts`, 'db.prepare("SELECT 1")')).toBe(1)
    expect(stray(`${server}http/x.ts`, 'if (code === "SQLITE_FULL") wait()')).toBe(1)
    expect(stray(`${server}control/x.ts`, "throw new Problem({ status: 404 })")).toBe(1)
    expect(stray(`${command}x.ts`, "request(`/2/webhooks/${id}`)")).toBe(1)
    expect(stray(`${server}http/x.ts`, "// Date.now is not for here")).toBe(0)
    expect(stray(`${server}runtime/clock.ts`, "Date.now()")).toBe(0)
  })

  test("a body that a route makes is found, and a read or a decision of a route is not", () => {
    const folder = `${server}http/routes/`
    const made = (text: string, path = `${folder}x.ts`): readonly string[] =>
      bodiesMadeIn(folder, [file(path, text)]).map((line) => line.slice(path.length + 1))
    expect(made("server.get(path, options, async () => ({ status: 1 }))")).toEqual(["1: { status: 1 }"])
    expect(made("server.put(path, async () => {\n  return { status: 1 }\n})")).toEqual(["2: { status: 1 }"])
    expect(made("server.get(path, async () => (known ? presentOne(known) : { none: true }))")).toHaveLength(1)
    expect(made("server.get(path, async (_, reply) => reply.send(`<p>${name}</p>`))")).toHaveLength(1)
    expect(made("const body = { data: items, meta }")).toHaveLength(1)
    expect(made("server.post(path, async () => presentData({ deleted: true }))")).toHaveLength(1)
    expect(made("lines.write(JSON.stringify(report))")).toHaveLength(1)
    expect(made("server.get(path, { schema: { hide: true } }, async () => presentData(await app.read()))")).toEqual([])
    expect(made("server.get(path, async () => read({ limit: 1 }, () => {\n  return { id: 1 }\n}))")).toEqual([])
    expect(made("const body = { data: items }", `${server}http/present/x.ts`)).toEqual([])
  })

  test("a banned word is found with its line, in comments too", () => {
    const found = (text: string) => bannedWords(banned, [{ path: "x.ts", text }])
    expect(found("const a = 1\n// Posts are poured in.")).toEqual(['x.ts:2: "poured", say ingest, import or send'])
    expect(found("pours()\nbury(match)\nopenDoor()")).toHaveLength(3)
    expect(found("// It imports posts.")).toEqual([])
  })

  test("a comment's sentences are found, in blocks and in adjacent lines", () => {
    const text =
      "/**\n * One. What it keeps.\n *\n *     What is code\n */\nconst a = 1 // Of all\n// these.\n\n// Then."
    const sentences = file("packages/api/src/x.ts", text).comments.map((comment) => sentencesOfComment(comment.text))
    expect(sentences).toEqual([["One.", "What it keeps."], ["Of all these."], ["Then."]])
    expect(faultySentences(sentences.flat())).toEqual(["What it keeps.", "Of all these."])
  })

  test("an export that only tests use is found, behind an index file too", () => {
    const used = "packages/api/src/used.ts"
    const definition = file(used, "export const a = 1\nexport const b = 2\nexport const c = 3\nexport const d = c\n")
    const index = file("packages/api/src/index.ts", 'export { a, b } from "./used.ts"')
    const caller = file("packages/api/src/caller.ts", 'import { a } from "./index.ts"\nimport { d } from "./used.ts"')
    const testing = file("packages/api/src/used.test.ts", 'import { b } from "./index.ts"')
    expect(deadExports([definition, index, caller], [testing])).toEqual([`${used}: b`])
    expect(deadExports([definition, index, caller], [testing], [index.path])).toEqual([])
  })
})
