import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run } from "../command.testing.ts"

test("tokens are listed without their secrets, and a revoked one is gone from the list", async () => {
  await using directory = await temporaryDirectory()
  const data = ["--data", directory.path]
  const made = await run(["token", "create", "--kind", "operator", ...data])
  await run(["app", "create", "birds", ...data])
  const list = async () => {
    const { stdout } = await run(["token", "list", "--json", ...data])
    expect(stdout).not.toContain(made.stdout.trim())
    return JSON.parse(stdout) as { id: string; kind: string }[]
  }
  const before = await list()
  expect(before.map(({ kind }) => kind).toSorted()).toEqual(["app", "operator"])
  const [app, operator] = ["app", "operator"].map((kind) => before.find((one) => one.kind === kind)?.id ?? "")
  expect((await run(["token", "list", ...data])).stdout).toMatch(new RegExp(`^${operator} +operator `, "m"))
  const refused = await run(["token", "revoke", app ?? "", ...data])
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining("sluice app rotate")])
  const revoked = await run(["token", "revoke", operator ?? "", ...data])
  expect([revoked.status, revoked.stdout]).toEqual([0, `Revoked token ${operator}.\n`])
  expect((await list()).map(({ kind }) => kind)).toEqual(["app"])
  expect((await run(["token", "revoke", operator ?? "", ...data])).stderr).toContain("There is no token")
})

test("a token has a name, which the list shows, and was last used when a program used it", async () => {
  await using directory = await temporaryDirectory()
  const data = ["--data", directory.path]
  const create = (name: string) => run(["token", "create", "--kind", "ingest", "--name", name, ...data])
  expect((await create(" CI of the zoo ")).status).toBe(0)
  const { stdout } = await run(["token", "list", ...data])
  expect(stdout).toMatch(/^ID +KIND +NAME +APP +USER +CREATED \(UTC\) +LAST USED \(UTC\)$/m)
  expect(stdout).toMatch(/ ingest +CI of the zoo +\d{4}-\d\d-\d\dT[\d:]{8} *$/m)
  const listed = JSON.parse((await run(["token", "list", "--json", ...data])).stdout) as readonly object[]
  expect(listed).toEqual([expect.objectContaining({ kind: "ingest", name: "CI of the zoo" })])
  expect(listed[0]).not.toHaveProperty("last_used_at")
  for (const name of [" ", "n".repeat(101)]) {
    expect((await create(name)).stderr).toContain("A name must have 1 to 100 characters.")
  }
})

test("a token of a user is made for an active app, and listed with its app and its user", async () => {
  await using directory = await temporaryDirectory()
  const data = ["--data", directory.path]
  const app = JSON.parse((await run(["app", "create", "birds", "--json", ...data])).stdout) as {
    application_id: string
  }
  const create = (...options: readonly string[]) => run(["token", "create", "--kind", "user", ...options, ...data])
  const made = await create("--app", app.application_id, "--user", "2244994945")
  expect([made.status, made.stdout]).toEqual([0, expect.stringMatching(/^sluice_user_[A-Za-z0-9_-]{43}\n$/)])
  const { stdout } = await run(["token", "list", "--json", ...data])
  const ofUser = (JSON.parse(stdout) as { id: string; kind: string }[]).find(({ kind }) => kind === "user")
  expect(ofUser).toMatchObject({ application_id: app.application_id, user_id: "2244994945" })

  expect((await create("--app", "1", "--user", "2")).stderr).toContain("There is no active app 1.")
  const half = await create("--app", app.application_id)
  expect([half.status, half.stderr]).toEqual([2, expect.stringContaining("needs --app and --user")])
  expect((await create("--app", app.application_id, "--user", "@wren")).stderr).toContain("Expected the id of a user")
  const other = await run(["token", "create", "--kind", "ingest", "--user", "2", ...data])
  expect([other.status, other.stderr]).toEqual([2, expect.stringContaining("are for --kind user")])

  expect((await run(["token", "revoke", ofUser?.id ?? "", ...data])).status).toBe(0)
  expect((await run(["token", "list", ...data])).stdout).not.toContain("2244994945")
})
