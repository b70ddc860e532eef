/** Another process removes `server.lock` of a running server. */
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { runProcess, startDev } from "../command.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

const inUse = "is in use by another Sluice process"

test("without its lock file a running server is still the only one, and no key is rotated while it runs", async () => {
  await using directory = await temporaryDirectory()
  await using dev = await startDev(directory.path)
  const lock = join(directory.path, "server.lock")
  const data = ["--data", directory.path]
  const tries = [
    { command: ["serve", "--port", "0"], isReplaced: false },
    { command: ["rotate-master-key"], isReplaced: false },
    { command: ["rotate-master-key"], isReplaced: true },
  ]
  for (const { command, isReplaced } of tries) {
    rmSync(lock)
    if (isReplaced) writeFileSync(lock, "", { mode: 0o600 })
    const { status, stderr } = await runProcess([...command, ...data])
    expect({ command, status, stderr }).toEqual({ command, status: 1, stderr: expect.stringContaining(inUse) })
  }
  rmSync(lock)
  expect(await runProcess(["app", "create", "another", ...data])).toMatchObject({ status: 0 })
  const { status } = await fetch(`${dev.ready.url}/readyz`)
  expect(status).toBe(200)
  expect(dev.process.isRunning).toBe(true)

  dev.process.end("SIGKILL")
  await dev.process.ended()
  rmSync(lock)
  await using again = await startDev(directory.path)
  expect(again.ready.app).toEqual(dev.ready.app)
}, 60_000)
