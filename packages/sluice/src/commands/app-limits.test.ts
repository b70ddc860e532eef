import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { run } from "../command.testing.ts"

test("limits of an app are set one by one, shown, and removed", async () => {
  await using directory = await temporaryDirectory()
  const data = ["--data", directory.path]
  const made = await run(["app", "create", "birds", "--json", ...data])
  const { application_id: id } = JSON.parse(made.stdout) as { application_id: string }
  const limits = (...options: readonly string[]) => run(["app", "limits", id, ...options, ...data])
  const set = async (...options: readonly string[]): Promise<unknown> =>
    JSON.parse((await limits(...options, "--json")).stdout)
  expect((await limits()).stderr).toContain("it has the server's limits")
  expect(await set("--rules", "5", "--posts-per-month", "0", "--no-credits")).toEqual({
    rules: 5,
    posts_per_month: 0,
    has_credits: false,
  })
  expect(await set("--credits", "--requests", "GET /2/tweets app 7, GET /2/tweets user 0")).toEqual({
    rules: 5,
    posts_per_month: 0,
    has_credits: true,
    requests: { "GET /2/tweets": { app: 7, user: 0 } },
  })
  expect((await limits()).stdout).toContain('requests  {"GET /2/tweets":{"app":7,"user":0}}\n')
  expect(await set("--reset", "--connections", "2")).toEqual({ connections: 2 })
  expect(await set("--reset")).toEqual({})
  await run(["app", "revoke", id, ...data])
  expect((await limits("--rules", "5")).stderr).toContain("is revoked")
  expect((await run(["app", "limits", "1", ...data])).stderr).toContain("There is no app 1.")
})
