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
