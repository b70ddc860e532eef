/**
 * `npm run build`: makes every package in its published form, each in `dist/<package>`: compiled JavaScript,
 * declarations, source maps, and a manifest that names them. The checkout itself needs no build, since Node runs its
 * sources; so the manifests next to the sources name these, and the ones in `dist` name the compiled files.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { carryApi } from "./build/carry-api.ts"
import { stage, type Manifest } from "./build/stage.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const dist = join(root, "dist")

/** Packages that run in browsers and in Node 20 too: the build replaces newer syntax. */
const portable = ["api", "client", "rules"]
const forServers = ["server", "sluice"]

function run(file: string, ...args: readonly string[]): void {
  const { status } = spawnSync(process.execPath, [file, ...args], { cwd: root, stdio: "inherit" })
  if (status !== 0) throw new Error(`${file} ${args.join(" ")} has failed.`)
}

function compile(target: string, outDir: string): void {
  run("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", "--target", target, "--outDir", outDir)
}

rmSync(dist, { recursive: true, force: true })
// The console too is built here and not in its package, where a running server may serve the one of the checkout.
const compiled = {
  portable: join(dist, ".portable"),
  servers: join(dist, ".servers"),
  console: join(dist, ".console"),
}
compile("es2024", compiled.portable)
compile("esnext", compiled.servers)
for (const name of portable) stage(root, name, join(compiled.portable, name, "src"))
for (const name of forServers) stage(root, name, join(compiled.servers, name, "src"))
await carryApi(dist)

const consoleDirectory = join(root, "packages/console")
const { scripts } = JSON.parse(readFileSync(join(consoleDirectory, "package.json"), "utf8")) as Manifest
if (scripts?.["build"] !== undefined) {
  run("node_modules/vite/bin/vite.js", "build", "packages/console", "--outDir", compiled.console)
  stage(root, "console", compiled.console)
}
for (const directory of Object.values(compiled)) rmSync(directory, { recursive: true, force: true })
if (!existsSync(join(dist, "sluice/dist/sluice.js"))) throw new Error("The command was not compiled.")
