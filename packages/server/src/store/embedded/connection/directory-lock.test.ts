/** A lock whose file is removed while it is held. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../../../test/support/temporary-directory.testing.ts"
import { DataDirectoryInUse } from "../../store-faults.ts"
import { storeFile } from "./database.ts"
import { lockDirectory } from "./directory-lock.ts"
import { openEmbeddedStore } from "../serving/embedded-store.ts"

const removals: readonly [string, (file: string) => void][] = [
  ["removed", (file) => rmSync(file)],
  [
    "replaced",
    (file) => {
      rmSync(file)
      writeFileSync(file, "", { mode: 0o600 })
    },
  ],
]

test.each(removals)("the holder of a lock whose file was %s locks it again", async (_, remove) => {
  await using directory = await temporaryDirectory()
  using _lock = lockDirectory(directory.path)
  remove(join(directory.path, "server.lock"))
  await expect
    .poll(() => errorOf(() => lockDirectory(directory.path)[Symbol.dispose]()), { timeout: 5_000 })
    .toBeInstanceOf(DataDirectoryInUse)
})

test("a failed check is not an end: the holder continues, and locks again when the file can be created", async () => {
  await using directory = await temporaryDirectory()
  const file = join(directory.path, "server.lock")
  const lost: unknown[] = []
  using _lock = lockDirectory(directory.path, { lost: (error) => lost.push(error) })
  rmSync(file)
  symlinkSync(file, file)
  expect(() => statSync(file, { throwIfNoEntry: false })).toThrow("ELOOP")
  await sleep(600)
  rmSync(file)
  await expect
    .poll(() => errorOf(() => lockDirectory(directory.path)[Symbol.dispose]()), { timeout: 5_000 })
    .toBeInstanceOf(DataDirectoryInUse)
  expect(lost).toEqual([])
})

test("a process that finds no lock, while another has the store open, waits until that one has it again", async () => {
  await using directory = await temporaryDirectory()
  const moduleUrl = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)
  const script = `const { lockDirectory } = await import(${moduleUrl("directory-lock.ts")})
    const { openEmbeddedStore } = await import(${moduleUrl("../serving/embedded-store.ts")})
    lockDirectory(${JSON.stringify(directory.path)})
    await openEmbeddedStore({ file: ${JSON.stringify(storeFile(directory.path))} })
    console.log("held")
    setInterval(() => undefined, 1_000)`
  const holder = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  try {
    await once(holder.stdout, "data")
    rmSync(join(directory.path, "server.lock"))
    expect(() => lockDirectory(directory.path)).toThrow(DataDirectoryInUse)
  } finally {
    holder.kill("SIGKILL")
  }
})

test("a holder whose lock another process has acquired is notified, once", async () => {
  await using directory = await temporaryDirectory()
  const lost: unknown[] = []
  using _lock = lockDirectory(directory.path, { lost: (error) => lost.push(error) })
  rmSync(join(directory.path, "server.lock"))
  // There is no store, so nothing shows that there is a holder.
  using _other = lockDirectory(directory.path)
  await expect.poll(() => lost, { timeout: 5_000 }).toEqual([expect.any(DataDirectoryInUse)])
  await sleep(600)
  expect(lost.length).toBe(1)
})

test("a store that only a command has open can be locked, with a lock file or without", async () => {
  await using directory = await temporaryDirectory()
  await using _command = await openEmbeddedStore({ file: storeFile(directory.path) })
  const takeAndRelease = (): void => lockDirectory(directory.path)[Symbol.dispose]()
  expect(takeAndRelease).not.toThrow()
  rmSync(join(directory.path, "server.lock"))
  expect(takeAndRelease).not.toThrow()
})

function errorOf(work: () => void): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
