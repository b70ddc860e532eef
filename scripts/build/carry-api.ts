/**
 * `@sluice/client` depends on nothing: its package contains the parts of `@sluice/api` that it uses. The build copies
 * the API's modules that the client's compiled files reach next to them, and the declarations, with every type written
 * out.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { pathToFileURL } from "node:url"
import type { Manifest } from "./stage.ts"
import { withoutTypebox } from "./plain-types.ts"

const specifier = /(from |import\(|import )"([^"]+)"/g

/** Changes `dist/client` with files of `dist/api`. Throws when the client would still need another package. */
export async function carryApi(dist: string): Promise<void> {
  const client = join(dist, "client")
  const api = join(dist, "api")
  const entries = entriesOf(api)
  const carried = new Set<string>()
  for (const file of filesIn(join(client, "dist"))) {
    if (file.endsWith(".map")) continue
    const text = readFileSync(file, "utf8")
    const kind = file.endsWith(".d.ts") ? ".d.ts" : ".js"
    const own = text.replaceAll(specifier, (whole, before: string, name: string) => {
      if (!name.startsWith("@sluice/api")) return checked(whole, name, file)
      const module = entries.get(name)
      if (module === undefined) throw new Error(`${file}: @sluice/api has no entry ${name}.`)
      carried.add(module + kind)
      const path = relative(dirname(file), join(client, "dist/api", `${module}.js`))
      return `${before}"${path.startsWith(".") ? path : `./${path}`}"`
    })
    writeFileSync(file, own)
  }
  // The set grows during the loop: the imports of a module are carried too.
  for (const path of carried) await carryModule(path, join(api, "dist"), join(client, "dist/api"), carried)
  for (const path of carried) if (path.endsWith(".d.ts")) leaveOutMissing(join(client, "dist/api", path))
  const manifestFile = join(client, "package.json")
  const { dependencies: _, ...manifest } = JSON.parse(readFileSync(manifestFile, "utf8")) as Manifest
  writeFileSync(manifestFile, `${JSON.stringify(manifest, null, 2)}\n`)
}

async function carryModule(path: string, from: string, to: string, carried: Set<string>): Promise<void> {
  const isTypes = path.endsWith(".d.ts")
  let text = readFileSync(join(from, path), "utf8")
  if (isTypes) {
    const module = pathToFileURL(join(from, path.replace(/\.d\.ts$/, ".js"))).href
    text = withoutTypebox(path, text, (await import(module)) as Readonly<Record<string, unknown>>)
  }
  for (const [whole, , name = ""] of text.matchAll(specifier)) {
    checked(whole, name, path)
    if (!name.startsWith(".")) continue
    carried.add(join(dirname(path), isTypes ? name.replace(/\.js$/, ".d.ts") : name))
  }
  mkdirSync(dirname(join(to, path)), { recursive: true })
  writeFileSync(join(to, path), text)
  if (!isTypes) cpSync(join(from, `${path}.map`), join(to, `${path}.map`))
}

/** Removes from the export lists of a declaration file the schemas that its files no longer declare. */
function leaveOutMissing(file: string): void {
  const text = readFileSync(file, "utf8")
  const own = text.replaceAll(/export \{([^}]+)\} from "([^"]+)\.js"/g, (_, list: string, path: string) => {
    const declared = readFileSync(join(dirname(file), `${path}.d.ts`), "utf8")
    const kept = list
      .split(",")
      .map((name) => name.trim())
      .filter((name) =>
        new RegExp(`\\b(?:type|interface|const|function|class) ${name} `).test(declared.replaceAll(/[<(:]/g, " ")),
      )
    return `export { ${kept.join(", ")} } from "${path}.js"`
  })
  writeFileSync(file, own)
}

/** Entries by import name: the module's path without its ending. */
function entriesOf(api: string): ReadonlyMap<string, string> {
  const { name, exports } = JSON.parse(readFileSync(join(api, "package.json"), "utf8")) as {
    name: string
    exports: Readonly<Record<string, { default: string }>>
  }
  return new Map(
    Object.entries(exports).map(([entry, file]) => [
      name + entry.slice(1),
      file.default.replace(/^\.\/dist\//, "").replace(/\.js$/, ""),
    ]),
  )
}

function checked(text: string, name: string, file: string): string {
  if (name.startsWith(".") || name.startsWith("node:")) return text
  throw new Error(`${file}: the client may not depend on ${name}, since it depends on nothing.`)
}

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
