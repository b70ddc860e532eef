/**
 * `npm run build:walk`: writes the constants that the walk of `@sluice/rules` shares with TypeScript, and compiles the walk,
 * which is written in AssemblyScript, into the module that stands among the sources. A checkout needs no build, and a test
 * fails when the constants or the module are older than their source.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { walkConstants } from "./build/walk-constants.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

/** The source that holds the module. */
export const walkModuleFile = join(root, "packages/rules/src/walk/json-walk-module.ts")

/** The files of `assembly/` with the constants that are shared with TypeScript, and their texts. */
export const walkConstantFiles = Object.entries(walkConstants()).map(
  ([name, text]) => [join(root, "packages/rules/assembly", name), text] as const,
)

/** Pages of the memory: the tables, a line of a MiB with its nodes, texts, and their words. Unused pages take no memory. */
const memoryPages = "553"

const options = ["--runtime", "stub", "--noAssert", "--enable", "simd,bulk-memory", "-O3"]

/** Compiles the walk. Returns the text of the source that holds the module. */
export function compiledWalk(): string {
  const directory = mkdtempSync(join(tmpdir(), "json-walk-"))
  try {
    const file = join(directory, "json-walk.wasm")
    const compiler = join(root, "node_modules/assemblyscript/bin/asc.js")
    const memory = ["--initialMemory", memoryPages, "--maximumMemory", memoryPages]
    const source = "packages/rules/assembly/walk.ts"
    execFileSync(process.execPath, [compiler, source, "--outFile", file, ...options, ...memory], { cwd: root })
    const base64 = readFileSync(file).toString("base64")
    const head = "/** `assembly/walk.ts`, compiled by `npm run build:walk`, in Base64. */"
    return `${head}\nexport const jsonWalkModule =\n  "${base64}"\n`
  } finally {
    rmSync(directory, { recursive: true })
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of walkConstantFiles) writeFileSync(file, text)
  writeFileSync(walkModuleFile, compiledWalk())
}
