/** Builds the console when it is missing or older than its sources. `npm start` runs this first. */
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const built = join(root, "packages/console/dist/index.html")
const sources = ["api/src", "client/src", "rules/src", "console/src", "console/public", "console/index.html"].concat(
  "console/vite.config.ts",
)

/** The latest change of a file or of any file below a folder, Unix ms. */
function changedAtMs(path: string): number {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(...readdirSync(path).map((name) => changedAtMs(join(path, name))), 0)
}

const builtAtMs = existsSync(built) ? statSync(built).mtimeMs : 0
const isOld = sources.some((path) => changedAtMs(join(root, "packages", path)) > builtAtMs)

if (isOld && !existsSync(join(root, "node_modules/vite"))) {
  console.error("The console is not built, and its build tools are not installed: run `npm ci`.")
} else if (isOld) {
  console.error("Building the console …")
  const vite = join(root, "node_modules/vite/bin/vite.js")
  const { status } = spawnSync(process.execPath, [vite, "build", "--logLevel", "error"], {
    cwd: join(root, "packages/console"),
    stdio: ["ignore", "inherit", "inherit"],
  })
  // The server serves the API without it.
  if (status !== 0) console.error("The console could not be built. The server starts without it.")
}
