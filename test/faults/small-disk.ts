/** A small disk that a test fills. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from "node:fs"
import { join } from "node:path"

/** The reason why no disk can be mounted here; undefined when one can. */
export const mountMissing = tryMount()

/** A memory disk that is mounted until its disposal. */
export interface SmallDisk extends Disposable {
  /** Mount point. Every user may create files there. */
  readonly mount: string
  /** Uses all of its space. */
  fill(): void
  /** Frees the space that `fill` used. */
  makeRoom(): void
  isFull(): boolean
}

/** Mounts a memory disk in a directory. */
export function mountSmallDisk(directory: string, bytes: number): SmallDisk {
  const mount = join(directory, "disk")
  mkdirSync(mount)
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "none", mount])
  assert(status === 0, String(stderr))
  const ballast = join(mount, "ballast")
  return {
    mount,
    fill() {
      const file = openSync(ballast, "a")
      const block = Buffer.alloc(64 * 1024)
      try {
        for (;;) writeSync(file, block)
      } catch (error) {
        assert((error as NodeJS.ErrnoException).code === "ENOSPC")
      } finally {
        closeSync(file)
      }
    },
    makeRoom: () => rmSync(ballast),
    isFull: () => statfsSync(mount).bavail === 0,
    [Symbol.dispose]: () => void spawnSync("umount", ["--lazy", mount]),
  }
}

function tryMount(): string | undefined {
  const { status, stderr, error } = spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/mnt"])
  if (status === 0 && process.getuid?.() === 0) return undefined
  const reason = error?.message ?? `mounting is not permitted: ${String(stderr).trim()}`
  console.log(`SKIPPED, a small disk: ${reason}`)
  return reason
}
