/** Rules of an app: adding, deleting and refusing them. Each test bears the id of its row of docs/compatibility.md. */
import { paths } from "@sluice/api"
import { expect } from "vitest"
import { loadConfig } from "../../packages/server/src/index.ts"
import { envelope } from "../support/test-server.testing.ts"
import { addRules, idsIn, test } from "./support.testing.ts"

test("rules-status: a change of rules gets 201 when a rule was created, also in a dry run, and otherwise 200", async ({
  server,
}) => {
  const app = await server.newApp()
  const post = async (body: object | undefined, query = ""): Promise<readonly [number, unknown]> => {
    const { status, body: response } = await app.send("POST", paths.rules + query, body)
    return [status, response.meta.summary]
  }
  const created = (made: number, not: number): object => ({
    created: made,
    not_created: not,
    valid: made,
    invalid: not,
  })
  expect(await post({ add: [{ value: "cat" }] }, "?dry_run=true")).toEqual([201, created(1, 0)])
  expect((await app.call(paths.rules)).body.meta.result_count).toBe(0)
  expect(await post({ add: [{ value: "cat" }, { value: "a AND b" }] })).toEqual([201, created(1, 1)])
  expect(await post({ add: [{ value: "cat" }] })).toEqual([200, created(0, 1)])
  expect(await post({ add: [{ value: "cat" }] }, "?dry_run=true")).toEqual([200, created(0, 1)])
  expect(await post({ add: [{ value: "(" }] })).toEqual([200, created(0, 1)])
  const gone = { deleted: 1, not_deleted: 0 }
  expect(await post({ delete: { values: ["cat"] } }, "?dry_run=true")).toEqual([200, gone])
  expect(await post({ delete: { values: ["cat"] } })).toEqual([200, gone])
  expect(await post(undefined, "?delete_all=true")).toEqual([200, { deleted: 0, not_deleted: 0 }])
})

test("rule-ids-as-numbers: the server reads integers in delete.ids digit for digit, and refuses them elsewhere", async ({
  server,
}) => {
  const app = await server.newApp()
  const ids = await addRules(app, { value: "cat" }, { value: "dog" }, { value: "bird" })
  // The ids differ in digits that a double does not hold.
  expect(Number(ids[0])).toBeGreaterThan(Number.MAX_SAFE_INTEGER)
  const deleted = await app.send("POST", paths.rules, `{"delete":{"ids":[${ids[0]}, "${ids[2]}"]}}`)
  expect([deleted.status, deleted.body.meta.summary]).toEqual([200, { deleted: 2, not_deleted: 0 }])
  expect(idsIn((await app.call(paths.rules)).body.data)).toEqual([ids[1]])
  const missing = await app.send("POST", paths.rules, '{"delete":{"ids":[9007199254740993]}}')
  expect(missing.body.errors).toMatchObject([{ value: "9007199254740993" }])

  const refused = await app.send("POST", paths.redeliver, `{"ids":[${ids[1]}]}`)
  expect(refused.status).toBe(400)
  expect(refused.body.errors[0].message).toContain(
    `the number ${ids[1]} loses digits (ids are strings, in double quotes)`,
  )
})

test("rule-bounds: a request holds at most 1,000 rules, and the API shows the cost of rules", async ({ server }) => {
  const app = await server.newApp()
  const values = Array.from({ length: 1001 }, (_, index) => `word${index}`)
  const refused = await app.send("POST", paths.rules, { delete: { values } })
  expect([refused.status, refused.body.errors[0].parameters]).toEqual([400, { "delete.values": [] }])
  await addRules(app, { value: "cat" }, { value: '"hot dog"' })
  const { body } = await app.call(paths.ruleCost)
  expect(body.data).toEqual({ cost: 46, cap_per_client_app: 10_000_000, skipped: { posts: 0, rules: 0 } })
})

test("ambiguous-and-or: the parser refuses bare AND, and and or in X's words, with the position", async ({
  server,
}) => {
  const app = await server.newApp()
  const detailsOf = async (value: string): Promise<unknown> => {
    const { status, body } = await app.send("POST", paths.rules, { add: [{ value }] })
    expect([status, body.errors.length, body.errors[0].value]).toEqual([200, 1, value])
    return body.errors[0].details
  }
  const and = (position: number): string =>
    "Ambiguous use of and as a keyword. Use a space to logically join two clauses, " +
    `or "and" to find occurrences of and in text (at position ${position})`
  const or = (position: number): string =>
    "Ambiguous use of or as a keyword. Use OR to logically join two clauses, " +
    `or "or" to find occurrences of or in text (at position ${position})`
  expect(await detailsOf("cat AND dog")).toEqual([and(5)])
  expect(await detailsOf("snow and ice")).toEqual([and(6)])
  expect(await detailsOf("cat dog or bird")).toEqual([or(9)])
  expect(await addRules(app, { value: 'cat "and" dog' }, { value: "cat OR dog" })).toHaveLength(2)
})

test("negated-groups: the parser accepts negated groups with one meaning, and the strict dialect refuses them", async ({
  server,
  otherServer,
}) => {
  const value = "cat -(dog OR bird)"
  const posts = ["a cat", "a cat and a dog", "a bird and a cat", "nothing"].map((words, index) =>
    envelope(index + 1, words),
  )
  expect(await addRules(await server.newApp(), { value })).toHaveLength(1)
  const tried = await server.send("POST", paths.ruleTest, { value, posts })
  expect(idsIn(tried.body.data)).toEqual(["1"])
  const both = await server.send("POST", paths.ruleTest, { value: "cat -(dog bird)", posts })
  expect(idsIn(both.body.data)).toEqual(["1", "2", "3"])

  const env = { SLUICE_RULE_DIALECT: "strict" }
  expect(loadConfig({ posture: "dev", env }).ruleDialect).toBe("strict")
  const refused = await otherServer.send("POST", paths.rules, { add: [{ value }, { value: "cat -dog" }] })
  expect(refused.status).toBe(201)
  expect(refused.body.data).toMatchObject([{ value: "cat -dog" }])
  expect(refused.body.errors).toMatchObject([
    {
      value,
      details: [
        "Do not negate a set of operators grouped together in parentheses (at position 5). " +
          "Negate each operator on its own",
      ],
    },
  ])
})
