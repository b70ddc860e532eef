import { mkdtempDisposable } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A directory of a test's own. Its disposal, or `remove()`, removes it with what is in it. */
export type TemporaryDirectory = Awaited<ReturnType<typeof mkdtempDisposable>>

/** Makes one. */
export function temporaryDirectory(): Promise<TemporaryDirectory> {
  return mkdtempDisposable(join(tmpdir(), "sluice-test-"))
}
