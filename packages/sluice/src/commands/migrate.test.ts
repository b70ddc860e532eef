import { expect, test } from "vitest"
import { createTestDatabase } from "../../../server/src/store/cluster/connection/postgres.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run } from "../command.testing.ts"

test("prints the numbers of both stores, the place of the key, and the next step", async () => {
  await using directory = await temporaryDirectory()
  const { path } = directory
  await using database = await createTestDatabase()
  expect(await run(["app", "create", "one", "--data", path])).toMatchObject({ status: 0 })
  const moved = await run(["migrate", "--from", path, "--to", database.url])
  expect(moved).toMatchObject({ status: 0 })
  expect(moved.stderr.split("\n").slice(0, 3)).toEqual([
    "Examining the store …",
    "Copying 2 rows …",
    "Comparing the copy with the store …",
  ])
  const lines = moved.stdout.trimEnd().split("\n")
  expect(lines[0]).toMatch(/^ +directory +database$/)
  expect(lines).toContainEqual(expect.stringMatching(/^apps +1 +1$/))
  expect(lines.slice(-3)).toEqual([
    expect.stringMatching(/^Moved to the database 127\.0\.0\.1:5432\/sluice_test_.+; all counts are equal\. Whole: /),
    `The servers on the database need the master key of this store: set SLUICE_MASTER_KEY to the content of ${path}/master.key.`,
    `Do not start a server on ${path} again: it would repeat the deliveries of the servers on the database.`,
  ])
  const again = await run(["migrate", "--from", path, "--to", database.url])
  expect(again).toMatchObject({ status: 1, stdout: "" })
  expect(again.stderr).toContain("has a store that is not empty (apps). Name another database.")
})

test("without --from is wrong usage", async () => {
  expect(await run(["migrate", "--to", "postgres://db.example/sluice"])).toMatchObject({ status: 2 })
})
