/** A package in its published form: the compiled files, the manifest, and the other files of its folder. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"

/** An entry of `exports`: a file, or one by condition. */
type Entry = string | { readonly [condition: string]: Entry }

/** A package.json, as far as the build reads it. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly exports?: Entry
  readonly bin?: Readonly<Record<string, string>>
  /** `directory` is published in place of the package's folder. Read by changesets. */
  readonly publishConfig?: { readonly directory?: string }
  readonly files?: readonly string[]
}

/** Folders of the sources and of the compiled files in a package. */
const sources = "./src/"
const outputs = "./dist/"

/** Makes `dist/<name>` of `packages/<name>` and of its compiled files. */
export function stage(root: string, name: string, compiled: string): void {
  const from = join(root, "packages", name)
  const to = join(root, "dist", name)
  const manifest = JSON.parse(readFileSync(join(from, "package.json"), "utf8")) as Manifest
  copyCompiled(compiled, join(to, "dist"), hasImporters(manifest))
  for (const file of (manifest.files ?? []).filter((one) => one !== "dist"))
    copyBeside(join(from, file), join(to, file))
  cpSync(join(from, "README.md"), join(to, "README.md"))
  if (existsSync(join(from, "CHANGELOG.md"))) cpSync(join(from, "CHANGELOG.md"), join(to, "CHANGELOG.md"))
  cpSync(join(root, "LICENSE"), join(to, "LICENSE"))
  writeFileSync(join(to, "package.json"), `${JSON.stringify(published(manifest), null, 2)}\n`)
}

/** Whether other programs import sources of the package, and so need its declarations. */
function hasImporters({ bin, exports }: Manifest): boolean {
  return bin === undefined || JSON.stringify(exports ?? {}).includes(sources)
}

/** Copies a file or folder of the package unchanged, except for the paths of sources in it. */
function copyBeside(from: string, to: string): void {
  cpSync(from, to, { recursive: true })
  if (!to.endsWith("/bin")) return
  for (const file of readdirSync(to)) {
    const path = join(to, file)
    const text = readFileSync(path, "utf8")
    writeFileSync(path, text.replaceAll(/"\.\.\/src\/([\w/-]+)\.ts"/g, '"../dist/$1.js"'))
  }
}

/** The manifest of the published package. */
function published(manifest: Manifest): object {
  const { scripts: _, devDependencies: __, publishConfig: ___, exports, files = [], ...rest } = manifest
  return {
    ...rest,
    ...(exports !== undefined && { exports: publishedEntry(exports) }),
    files: [...new Set(["dist", "CHANGELOG.md", ...files])],
    publishConfig: { access: "public" },
  }
}

function publishedEntry(entry: Entry): Entry {
  if (typeof entry !== "string") {
    return Object.fromEntries(Object.entries(entry).map(([key, value]) => [key, publishedEntry(value)]))
  }
  if (!entry.startsWith(sources)) return entry
  const base = outputs + entry.slice(sources.length).replace(/\.ts$/, "")
  return { types: `${base}.d.ts`, default: `${base}.js` }
}

function copyCompiled(from: string, to: string, isImported: boolean): void {
  for (const entry of readdirSync(from, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || (!isImported && entry.name.endsWith(".d.ts"))) continue
    const source = join(entry.parentPath, entry.name)
    const path = relative(from, source)
    mkdirSync(dirname(join(to, path)), { recursive: true })
    if (path.endsWith(".d.ts")) {
      writeFileSync(join(to, path), withCompiledImports(readFileSync(source, "utf8")))
    } else if (path.endsWith(".js.map")) {
      writeFileSync(join(to, path), withOwnSource(path, readFileSync(source, "utf8")))
    } else {
      cpSync(source, join(to, path))
    }
  }
}

/** The compiler leaves the names of sources in declarations; other tools look for the compiled files. */
function withCompiledImports(text: string): string {
  return text.replaceAll(/(from |import\()"(\.{1,2}\/[^"]+)\.ts"/g, '$1"$2.js"')
}

/** The map contains its source, under the path that it has in the package. */
function withOwnSource(path: string, text: string): string {
  const up = "../".repeat(path.split("/").length)
  const map = JSON.parse(text) as { sources: string[]; sourcesContent?: readonly string[] }
  if (map.sourcesContent?.length !== 1) return text
  return JSON.stringify({ ...map, sources: [`${up}src/${path.replace(/\.js\.map$/, ".ts")}`] })
}
