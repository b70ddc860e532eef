import { existsSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { startTestServer } from "../../../../test/support/test-server.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run } from "../command.testing.ts"

test("a backup is made next to a running server and restored elsewhere, and each prints the next step", async () => {
  await using directory = await temporaryDirectory()
  const [data, copy, place] = ["data", "copy", "place"].map((name) => join(directory.path, name)) as [
    string,
    string,
    string,
  ]
  await using at = await startTestServer({ data })
  await at.ingest({ data: { id: "1", text: "hello" } })

  const made = await run(["backup", copy, "--data", data])
  expect(made).toMatchObject({ status: 0, stderr: "Copying the store …\nVerifying the copy …\n" })
  expect(made.stdout).toMatch(/^Backed up to \S+copy, as of 20\S+Z, [\d.]+ MiB\. Whole: 1 post and 0 matches have /)
  expect(made.stdout).toContain(
    `The backup does not contain the master key, without which its secrets are unreadable: keep a copy of ${data}`,
  )

  const again = await run(["backup", copy, "--data", data])
  expect(again).toMatchObject({ status: 1, stdout: "" })
  expect(again.stderr).toContain(`${copy} is not empty (backup.json).`)

  const restored = await run(["restore", copy, "--data", place])
  expect(restored.status).toBe(0)
  expect(restored.stdout).toMatch(/^Restored to \S+place, as of 20\S+Z\. Whole: 1 post /)
  expect(restored.stdout).toContain(`put the key file at ${place}/master.key (mode 0600), or set SLUICE_MASTER_KEY.`)
  expect(restored.stdout).toContain("Links continue from their positions in the backup")
  const inUse = await run(["restore", copy, "--data", data])
  expect(inUse.stderr).toContain(`The data directory ${data} has a store already`)
})

test("with --json each prints one value, and with --with-key the key is in it", async () => {
  await using directory = await temporaryDirectory()
  const [data, copy, place] = ["data", "copy", "place"].map((name) => join(directory.path, name)) as [
    string,
    string,
    string,
  ]
  await run(["app", "create", "one", "--data", data])
  const made = await run(["backup", copy, "--with-key", "--json", "--data", data])
  expect(made.stderr).toBe("")
  expect(JSON.parse(made.stdout)).toMatchObject({ directory: copy, has_master_key: true })
  const restored = await run(["restore", copy, "--json", "--data", place])
  expect(JSON.parse(restored.stdout)).toMatchObject({ directory: place, master_key: "restored" })
  expect((await run(["app", "list", "--data", place])).stdout).toContain("one")
})

test("a backup of nothing is an error, and makes nothing", async () => {
  await using directory = await temporaryDirectory()
  const copy = join(directory.path, "copy")
  const nowhere = await run(["backup", copy, "--data", join(directory.path, "nowhere")])
  expect(nowhere).toMatchObject({ status: 1, stdout: "" })
  expect(nowhere.stderr).toContain("holds no store")
  expect(existsSync(copy)).toBe(false)
})
