/**
 * The files of the console, as the build left them in one directory.
 *
 * All are read together at the first request for one of them, and kept: an index always finds the assets that it names,
 * even when the console is built anew meanwhile. Paths are looked up among the names that were found, never in the file
 * system, so no path leads out of the directory.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { extname, join, sep } from "node:path"

/** One file, ready to be sent. */
export interface ConsoleFile {
  readonly type: string
  /** True if its name holds a hash of its content, so that it never changes. */
  readonly isImmutable: boolean
  /** Its bytes, and those that the build compressed, by content coding. */
  readonly bytes: Buffer
  readonly compressed: Readonly<Partial<Record<"br" | "gzip", Buffer>>>
}

/** The pages: `index.html` is that of all the console's own routes, `docs.html` shows the API. */
export type ConsolePage = "index.html" | "docs.html"

/** The console of one directory. */
export interface ConsoleFiles {
  /** A page, for a response with this nonce; absent while the console is not built. */
  page(name: ConsolePage, nonce: string): string | undefined
  /** A file by its path below the console's own; absent when there is none. */
  file(path: string): ConsoleFile | undefined
}

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
}

/** The placeholder of the nonce in the built page. `vite.config.ts` of the console writes it. */
const noncePlaceholder = /__CSP_NONCE__/g

/** The files of a directory, which need not be there yet. */
export function createConsoleFiles(directory: string | undefined): ConsoleFiles {
  let kept: ReadonlyMap<string, ConsoleFile> | undefined
  const files = (): ReadonlyMap<string, ConsoleFile> | undefined => {
    if (kept === undefined && directory !== undefined && existsSync(join(directory, "index.html"))) {
      kept = readFiles(directory)
    }
    return kept
  }
  return {
    page: (name, nonce) => files()?.get(name)?.bytes.toString("utf8").replaceAll(noncePlaceholder, nonce),
    file: (path) => (path.endsWith(".html") ? undefined : files()?.get(path)),
  }
}

function readFiles(directory: string): ReadonlyMap<string, ConsoleFile> {
  const names = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(directory.replace(/[/\\]+$/, "").length + 1))
  const found = new Set(names)
  const bytesOf = (name: string): Buffer => readFileSync(join(directory, name))
  return new Map(
    names.flatMap((name): [string, ConsoleFile][] => {
      const type = types[extname(name)]
      if (type === undefined) return []
      const path = name.replaceAll(sep, "/")
      const compressed = {
        ...(found.has(`${name}.br`) && { br: bytesOf(`${name}.br`) }),
        ...(found.has(`${name}.gz`) && { gzip: bytesOf(`${name}.gz`) }),
      }
      return [[path, { type, isImmutable: path.startsWith("assets/"), bytes: bytesOf(name), compressed }]]
    }),
  )
}
