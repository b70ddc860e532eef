/** A copy of the repository in which a mutant may live. The checkout itself is never touched. */
import { cp, mkdir, readdir, symlink } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** The parts of the repository that tests need. */
const copied = ["packages", "test", "docs", "deploy", "package.json", "tsconfig.json", "vitest.config.ts"]

/** A directory that is removed when it is done with. */
export interface ScratchCopy extends AsyncDisposable {
  readonly directory: string
}

/**
 * Copies what tests need. Dependencies are linked one by one: those that are packages of ours must lead to the copy,
 * or the tests would try the checkout.
 */
export async function makeScratchCopy(): Promise<ScratchCopy> {
  const scratch = await temporaryDirectory()
  const directory = scratch.path
  for (const name of copied) await cp(join(root, name), join(directory, name), { recursive: true })
  const modules = join(directory, "node_modules")
  await mkdir(join(modules, "@sluice"), { recursive: true })
  for (const name of await readdir(join(root, "node_modules"))) {
    const isOurs = name === "@sluice" || name === "sluice" || name.startsWith(".")
    if (!isOurs) await symlink(join(root, "node_modules", name), join(modules, name))
  }
  for (const name of await readdir(join(directory, "packages"))) {
    const link = name === "sluice" ? name : join("@sluice", name)
    await symlink(join(directory, "packages", name), join(modules, link))
  }
  return {
    directory,
    [Symbol.asyncDispose]: () => scratch.remove(),
  }
}
