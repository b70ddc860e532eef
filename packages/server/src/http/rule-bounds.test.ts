/** Bounds on what one app's rules, and the requests that change them, cost other apps. */
import { paths, ruleChangesMax } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"

let at: TestServer

beforeAll(async () => {
  at = await startTestServer({ "rule-steps-per-app-max": "100000" })
})
afterAll(() => at[Symbol.asyncDispose]())

const many = ruleChangesMax + 1

test.each([
  ["add", { add: Array.from({ length: many }, (_, rule) => ({ value: `word${rule}` })) }],
  ["delete.ids", { delete: { ids: Array.from({ length: many }, (_, id) => String(id + 1)) } }],
  ["delete.values", { delete: { values: Array.from({ length: many }, (_, rule) => `word${rule}`) } }],
])("more than a thousand items in %s are refused by its name, and nothing is changed", async (name, body) => {
  for (const query of ["", "?dry_run=true"]) {
    const response = await at.send("POST", paths.rules + query, body)
    expect(response.status).toBe(400)
    expect(response.body).toMatchObject({
      title: "Invalid Request",
      errors: [{ parameters: { [name]: [] }, message: "JSON doesn't match expected schema" }],
    })
    expect(response.text).toContain(`must hold at most ${ruleChangesMax}`)
  }
  expect((await at.call(paths.rules)).body).toMatchObject({ meta: { result_count: 0 } })
})

test("the response to two hundred of the worst rules is at most eight times their size", async () => {
  const value = `(${"\u{1F600}:".repeat(100)} ${"unknown:x ".repeat(20)}`
  const body = JSON.stringify({ add: Array.from({ length: 200 }, () => ({ value })) })
  const response = await at.send("POST", `${paths.rules}?dry_run=true`, body)
  expect(response.body).toMatchObject({ meta: { summary: { invalid: 200 } } })
  expect(response.text.length).toBeLessThan(8 * body.length)
})

/** Words that stand often and never near each other. */
const common = Array.from({ length: 16 }, (_, word) => `w${word}`)
const longText = common
  .map((word) => `${word} x x x `)
  .join("")
  .repeat(160)

test("an app sees that its rules exhausted their steps for a post, and another app's rules still match", async () => {
  const pairs = common.flatMap((left, word) =>
    common.slice(word + 1).flatMap((right) => [`"${left} ${right}"~1`, `"${right} ${left}"~2`]),
  )
  const added = await at.send("POST", paths.rules, { add: pairs.map((value) => ({ value })) })
  expect(added.body).toMatchObject({ meta: { summary: { created: 240 } } })
  const token = (await at.newApp()).app.bearer_token
  await at.send("POST", paths.rules, { add: [{ value: `w3 -"w3 w4"~1` }] }, token)

  const lines = ["short w1 w2 text", longText].map((text, post) =>
    JSON.stringify({ data: { id: String(9_000 + post), text } }),
  )
  const headers = { "content-type": "application/x-ndjson" }
  const ingested = await at.call(paths.posts, { method: "POST", headers, body: lines.join("\n") })
  expect(ingested.body).toMatchObject({ accepted: 2 })

  const { body } = await at.call(paths.ruleCost)
  expect(body).toMatchObject({
    data: { cost: 240 * 389, cap_per_client_app: 100_000, skipped: { posts: 1, last_post_id: "9001" } },
  })
  const { rules } = (body as { data: { skipped: { rules: number } } }).data.skipped
  expect(rules).toBeGreaterThan(10)
  expect(rules).toBeLessThan(240)
  expect((await at.call(paths.ruleCost, { token })).body).toMatchObject({
    data: { skipped: { posts: 0, rules: 0 } },
  })
  const metrics = await at.call(paths.metrics)
  // The short post matches two rules of the first app, the long one the rule of the second.
  expect(metrics.text).toContain("sluice_matches_total 2\n")
  expect(metrics.text).toContain("sluice_posts_with_skipped_rules_total 1\n")
  expect(metrics.text).toContain(`sluice_rules_skipped_total ${rules}\n`)
})
