import { paths } from "@sluice/api"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { run, type Run } from "../command.testing.ts"

let at: TestServer

beforeAll(async () => {
  at = await startTestServer()
})

afterAll(() => at[Symbol.asyncDispose]())

beforeEach(async () => {
  const rules = ((await at.call(paths.rules)).body.data ?? []) as { id: string }[]
  if (rules.length > 0) await at.send("POST", paths.rules, { delete: { ids: rules.map(({ id }) => id) } })
})

const trigger = (...args: readonly string[]): Promise<Run> =>
  run(["trigger", ...args], { env: { SLUICE_URL: at.url, SLUICE_TOKEN: at.app.bearer_token } })

async function addRules(...values: readonly string[]): Promise<readonly string[]> {
  const { body } = await at.send("POST", paths.rules, { add: values.map((value) => ({ value })) })
  return (body.data as { id: string }[]).map(({ id }) => id)
}

/** The ids of the posts that the server says match the rule. */
async function matched(value: string): Promise<readonly string[]> {
  const { body } = await at.send("POST", paths.ruleTest, { value, recent: 100 })
  return (body.data as { id: string }[]).map(({ id }) => id)
}

test("a post is made for the named rule, and the server finds that it matches", async () => {
  const value = '(kingfisher OR heron) has:images from:ann lang:en -is:retweet sample:50 "by the sluice"'
  const [id = ""] = await addRules(value, "otter")
  const outcome = await trigger("--rule", id, "--json")
  expect(outcome).toMatchObject({ status: 0 })
  const { post, matching_rules } = JSON.parse(outcome.stdout) as {
    post: { data: { id: string; text: string } }
    matching_rules: { id: string }[]
  }
  expect(post.data.text).toContain("by the sluice")
  expect(matching_rules.map((rule) => rule.id)).toEqual([id])
  expect(await matched(value)).toContain(post.data.id)
})

test("without a rule, trigger uses the newest one for which a post can be made", async () => {
  await addRules("wren -wren")
  const none = await trigger()
  expect(none).toMatchObject({ status: 1, stdout: "" })
  expect(none.stderr).toContain("The rule requires wren and excludes it")
  const [id = ""] = await addRules("willow")
  await addRules("from:a from:b")
  const outcome = await trigger()
  expect(outcome).toMatchObject({ status: 0 })
  expect(outcome.stdout).toMatch(/^Sent post \d+: willow$/m)
  expect(outcome.stderr).toContain(`Matches rule ${id}: willow`)
})

test("a given text is sent, and the rules that match it are named", async () => {
  const [id = ""] = await addRules("heron")
  expect((await trigger("--text", "a heron stands")).stderr).toContain(`Matches rule ${id}: heron`)
  expect((await trigger("--text", "nothing of the kind")).stderr).toContain("No rule of the app matches it")
  const refused = await trigger("--text", "nothing of the kind", "--rule", id)
  expect(refused).toMatchObject({ status: 1, stdout: "" })
  expect(refused.stderr).toContain("The rule does not match a post with this text.")
  expect((await trigger("--text", "one heron", "--rule", id)).status).toBe(0)
})

test("with no rules, or an unknown one, trigger reports the cause", async () => {
  expect((await trigger()).stderr).toContain("Add one: sluice rules add")
  expect((await trigger("--rule", "7")).stderr).toContain("The app has no rule 7.")
})
