import { mkdtempDisposable } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A directory for one test. Its disposal, or `remove()`, removes it with its contents. */
export type TemporaryDirectory = Awaited<ReturnType<typeof mkdtempDisposable>>

/** Creates one. */
export async function temporaryDirectory(): Promise<TemporaryDirectory> {
  const made = await mkdtempDisposable(join(tmpdir(), "sluice-test-"))
  const { path } = made
  const remove = async (): Promise<void> => {
    const within = [...removals.keys()].filter((place) => place === path || place.startsWith(`${path}/`))
    for (const place of within) {
      const work = removals.get(place)
      removals.delete(place)
      await work?.()
    }
    await made.remove()
  }
  return { path, remove, [Symbol.asyncDispose]: remove }
}

const removals = new Map<string, () => Promise<void>>()

/** Runs `work` when the temporary directory `place`, or the one that contains it, is removed. */
export function onRemovalOf(place: string, work: () => Promise<void>): void {
  removals.set(place, work)
}
