/**
 * Bundles the program and what its threads run, once for all test files. A server of a test starts two threads or more, of
 * which each would load some 300 modules, and a started `sluice dev` 600: half of the processor time of their starts.
 *
 * The modules keep their own URLs: `import.meta.url` is that of the source file. Processes and threads are started with the
 * URLs of sources, too, and a hook has them load the bundle. `bundle-threads.testing.ts` does that for the threads of a test
 * process, and `sluice-process.testing.ts` for processes. The tests of faults and of the packages run without it.
 */
import { globSync, readFileSync } from "node:fs"
import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { rolldown } from "rolldown"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Marks a module that threads are given by its URL: what a thread runs, or opens a store with. */
const isGivenByUrl = /serveThread\(import\.meta\.url|module: import\.meta\.url/

/** Makes the bundle, and names its directory to the processes of the tests. Returns the way to delete it. */
export async function setup(): Promise<() => Promise<void>> {
  const given = globSync("packages/server/src/**/*.ts", { cwd: root })
    .filter((path) => !path.endsWith("test.ts") && !path.endsWith(".testing.ts"))
    .filter((path) => isGivenByUrl.test(readFileSync(join(root, path), "utf8")))
  const entries = ["packages/sluice/src/sluice.ts", ...given].map((path) => join(root, path))
  const directory = join(root, "node_modules/.cache", `sluice-bundle-${process.pid}`)
  await using bundle = await rolldown({
    input: Object.fromEntries(entries.map((path, at) => [`entry-${at}`, path])),
    platform: "node",
    external: (name) => !/^[./]|^@sluice\//.test(name),
    plugins: [
      {
        name: "urls of sources",
        transform: (code, path) =>
          code.includes("import.meta.url")
            ? code.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href))
            : undefined,
      },
    ],
  })
  await bundle.write({
    dir: directory,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
  })
  const table = entries.map((path, at) => [
    pathToFileURL(path).href,
    pathToFileURL(join(directory, `entry-${at}.mjs`)).href,
  ])
  await writeFile(join(directory, "entries.json"), JSON.stringify(table))
  await writeFile(
    join(directory, "resolve-entries.mjs"),
    `import { registerHooks } from "node:module"
const entries = new Map(${JSON.stringify(table)})
registerHooks({ resolve: (name, context, next) => next(entries.get(name) ?? name, context) })
`,
  )
  process.env["SLUICE_TEST_BUNDLE"] = directory
  return () => rm(directory, { recursive: true, force: true })
}
