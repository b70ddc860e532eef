/**
 * `npm run figures`: fills the measured figures of `docs/figures/` into the documents, makes the page of all figures, and
 * draws the plots. `npm run bench -- all` writes new figures.
 */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { filesFromFigures } from "./figures/pages.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const files = filesFromFigures(root)
for (const [path, content] of files) writeFileSync(join(root, path), content)
const formatted = [...files.keys()].filter((path) => path.endsWith(".md"))
execFileSync(join(root, "node_modules/.bin/oxfmt"), [...formatted, "docs/figures"], { cwd: root, stdio: "inherit" })
