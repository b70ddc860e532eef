/** Builds and packs every package, and installs the tarballs into an empty directory, once for all tests here. */
import { execFile } from "node:child_process"
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { TestProject } from "vitest/node"
import { root } from "./nodes.testing.ts"

const run = promisify(execFile)

declare module "vitest" {
  // eslint-disable-next-line typescript/consistent-type-definitions
  interface ProvidedContext {
    /** The packed packages: a tarball by the name of its directory in `dist`. */
    readonly tarballs: Readonly<Record<string, string>>
    /** A directory, away from the checkout, in which the tarballs are installed and nothing else. */
    readonly installed: string
  }
}

export default async function packAll(project: TestProject): Promise<() => Promise<void>> {
  await run("npm", ["run", "build"], { cwd: root })
  const work = await mkdtemp(join(tmpdir(), "sluice-install-"))
  const names = await readdir(join(root, "dist"))
  const places = names.map((name) => join(root, "dist", name))
  const { stdout } = await run("npm", ["pack", ...places, "--pack-destination", work, "--json"])
  const tarballs = Object.fromEntries(
    packed(JSON.parse(stdout)).map(({ name, filename }) => [name.replace("@sluice/", ""), join(work, filename)]),
  )
  const installed = join(work, "installed")
  await run("mkdir", [installed])
  await writeFile(join(installed, "package.json"), "{}\n")
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", ...Object.values(tarballs)], {
    cwd: installed,
  })
  project.provide("tarballs", tarballs)
  project.provide("installed", installed)
  return () => rm(work, { recursive: true, force: true })
}

interface Packed {
  readonly name: string
  readonly filename: string
}

/** npm 11 prints a list, and npm 12 an object by name. */
function packed(printed: unknown): readonly Packed[] {
  return Object.values(printed as Readonly<Record<string, Packed>>)
}
