/** Rulesets made the same as a list, on a real server. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { startTestServer, type TestApp, type TestServer } from "../../../test/support/test-server.testing.ts"
import { createClient, type Client } from "./client.ts"
import { RuleSyncError } from "./rules-sync.ts"

let server: TestServer
let client: Client
let app: TestApp["app"]
/** Bodies of the changes that were sent, by `METHOD query`. */
let changes: { readonly isDryRun: boolean; readonly body: { add?: object[]; delete?: { ids: string[] } } }[]
/** Called before each change that is no dry run, with its number. */
let beforeChange: (change: number) => Promise<unknown> | undefined

beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())
beforeEach(async () => {
  ;({ app } = await server.newApp())
  changes = []
  beforeChange = () => undefined
  client = createClient({
    url: server.url,
    token: app.bearer_token,
    async fetch(url, init) {
      if (init.method === "POST") {
        const isDryRun = url.includes("dry_run")
        changes.push({ isDryRun, body: JSON.parse(init.body as string) as object })
        if (!isDryRun) await beforeChange(changes.filter((one) => !one.isDryRun).length)
      }
      return fetch(url, init)
    },
  })
})

async function stored(): Promise<readonly { value: string; tag?: string }[]> {
  const { data = [] } = await client.request("GET", "rules")
  const rules = data.map(({ value, tag }) => (tag === undefined ? { value } : { value, tag }))
  return rules.toSorted((a, b) => a.value.localeCompare(b.value))
}

test("with a tag only its rules are changed, and those of others stay", async () => {
  const others = [{ value: "owl" }, { value: "fox", tag: "wild" }]
  await client.rules.add([...others, { value: "cat", tag: "pets" }, { value: "rat", tag: "pets" }])
  const { added, deleted, unchanged } = await client.rules.sync([{ value: "cat" }, { value: "dog", tag: "pets" }], {
    tag: "pets",
  })
  expect([added.map(({ value }) => value), deleted.map(({ value }) => value), unchanged]).toEqual([["dog"], ["rat"], 1])
  const before = [{ value: "cat", tag: "pets" }, { value: "dog", tag: "pets" }, ...others.toReversed()]
  expect(await stored()).toEqual(before)
  changes = []
  await expect(client.rules.sync([{ value: "fox" }], { tag: "pets" })).rejects.toMatchObject({
    name: "RuleSyncError",
    errors: [{ value: "fox", detail: "The app has the rule fox with the tag wild." }],
  })
  await expect(client.rules.sync([{ value: "cat", tag: "wild" }], { tag: "pets" })).rejects.toThrow(
    'The rule "cat" has the tag "wild", and only rules with the tag "pets" are synchronised.',
  )
  expect(changes).toEqual([])
  expect(await stored()).toEqual(before)
})

const numbered = (count: number) => Array.from({ length: count }, (_, at) => ({ value: `word${String(at + 1)}` }))

test("only rules that differ by value and tag are changed, and the difference is returned", async () => {
  await client.rules.sync([{ value: "cat", tag: "pets" }, { value: "dog" }, { value: "fox", tag: "wild" }])
  const before = (await client.request("GET", "rules")).data ?? []
  const idOf = (value: string) => before.find((rule) => rule.value === value)?.id
  changes = []
  const desired = [{ value: "cat", tag: "pets" }, { value: "dog", tag: "pets" }, { value: "owl" }]
  const difference = await client.rules.sync(desired)
  expect(difference.added).toEqual([
    { id: expect.stringMatching(/^\d+$/), value: "dog", tag: "pets" },
    { id: expect.stringMatching(/^\d+$/), value: "owl" },
  ])
  expect(difference.deleted).toEqual([
    { id: idOf("fox"), value: "fox", tag: "wild" },
    { id: idOf("dog"), value: "dog" },
  ])
  expect(difference.unchanged).toBe(1)
  expect(await stored()).toEqual(desired)
  expect((await client.request("GET", "rules")).data?.find(({ value }) => value === "cat")?.id).toBe(idOf("cat"))
})

test("a second time there is nothing to change, and nothing is sent", async () => {
  const desired = numbered(3)
  await client.rules.sync(desired)
  changes = []
  expect(await client.rules.sync(desired)).toEqual({ added: [], deleted: [], unchanged: 3 })
  expect(changes).toEqual([])
})

test("an empty tag is no tag: a second time there is nothing to change", async () => {
  const desired = [{ value: "cat", tag: "" }, { value: "dog" }]
  await client.rules.sync(desired)
  expect(await client.rules.sync(desired)).toEqual({ added: [], deleted: [], unchanged: 2 })
  await client.rules.add([{ value: "owl", tag: "wild" }])
  expect(await client.rules.sync(desired, { tag: "" })).toEqual({ added: [], deleted: [], unchanged: 2 })
  expect(await stored()).toEqual([{ value: "cat" }, { value: "dog" }, { value: "owl", tag: "wild" }])
})

test("a dry run finds the same difference, has the new rules checked, and changes nothing", async () => {
  await client.rules.sync([{ value: "dog" }])
  changes = []
  const found = await client.rules.sync([{ value: "cat" }], { dryRun: true })
  expect(found).toMatchObject({ added: [{ value: "cat" }], deleted: [{ value: "dog" }], unchanged: 0 })
  expect(changes.every(({ isDryRun }) => isDryRun)).toBe(true)
  expect(await stored()).toEqual([{ value: "dog" }])
  const refused = client.rules.sync([{ value: "cat OR" }], { dryRun: true })
  await expect(refused).rejects.toBeInstanceOf(RuleSyncError)
})

test("a wrong rule is refused before anything is changed", async () => {
  await client.rules.sync([{ value: "dog" }])
  const refused = client.rules.sync([{ value: "cat" }, { value: "(cat" }])
  await expect(refused).rejects.toMatchObject({
    name: "RuleSyncError",
    kind: "problem",
    type: expect.stringMatching(/invalid-rules$/),
    errors: [{ value: "(cat" }],
    done: { added: [], deleted: [], unchanged: 0 },
  })
  expect(await stored()).toEqual([{ value: "dog" }])
})

test("a rule that could not be added again is not deleted for its tag", async () => {
  await client.rules.sync([{ value: "dog", tag: "old" }])
  const refusing = createClient({
    url: server.url,
    token: app.bearer_token,
    async fetch(url, init) {
      if (!url.includes("dry_run")) return fetch(url, init)
      // As an `embedding:` rule whose endpoint is away.
      const errors = [{ type: "https://sluice.test/problems/unavailable", title: "Unavailable", value: "dog" }]
      return Response.json({ errors, meta: { sent: "now", summary: {} } })
    },
  })
  await expect(refusing.rules.sync([{ value: "dog", tag: "new" }])).rejects.toMatchObject({
    name: "RuleSyncError",
    done: { added: [], deleted: [] },
  })
  expect(await stored()).toEqual([{ value: "dog", tag: "old" }])
})

test("changes are sent in batches, each of a size that the server accepts", async () => {
  await client.rules.sync(numbered(250))
  const sizes = changes.filter(({ isDryRun }) => !isDryRun).map(({ body }) => body.add?.length)
  expect(sizes).toEqual([100, 100, 50])
  changes = []
  await client.rules.sync([])
  expect(changes.map(({ body }) => body.delete?.ids.length)).toEqual([100, 100, 50])
  expect(await stored()).toEqual([])
})

test("a failure half-way reports the completed changes, and a repetition makes the others", async () => {
  const desired = numbered(250)
  beforeChange = (change) => (change === 3 ? Promise.reject(new Error("the cable was pulled")) : undefined)
  const failed = await client.rules.sync(desired).catch((error: unknown) => error as RuleSyncError)
  expect(failed).toMatchObject({ name: "RuleSyncError", kind: "connection", isTransient: true })
  expect((failed as RuleSyncError).done.added).toHaveLength(200)
  expect(await stored()).toHaveLength(200)
  beforeChange = () => undefined
  expect(await client.rules.sync(desired)).toMatchObject({ added: desired.slice(200), unchanged: 200 })
})

test("rules that find no room are reported, with those that found some", async () => {
  await using small = await startTestServer({ "rules-per-app-max": "2" })
  const owner = createClient({ url: small.url, token: small.app.bearer_token })
  await owner.rules.sync([{ value: "old" }, { value: "cat" }])
  // The room of what goes is there for what comes.
  await owner.rules.sync([{ value: "new" }, { value: "cat" }])
  const failed = owner.rules.sync([{ value: "new" }, { value: "cat" }, { value: "third" }])
  await expect(failed).rejects.toMatchObject({ type: expect.stringMatching(/rule-cap$/), done: { unchanged: 2 } })
})

test("an aborted change ends between two requests, and reports the completed changes", async () => {
  const stop = new AbortController()
  const reason = new Error("no longer wanted")
  beforeChange = async (change) => void (change === 2 && stop.abort(reason))
  const failed = client.rules.sync(numbered(250), { signal: stop.signal })
  await expect(failed).rejects.toMatchObject({ name: "RuleSyncError", cause: { cause: reason } })
  await expect(failed).rejects.toMatchObject({ done: { added: numbered(100) } })
  await expect(client.rules.sync([], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
})

test("a list with a value twice is refused", async () => {
  const refused = client.rules.sync([{ value: "cat" }, { value: "cat", tag: "pets" }])
  await expect(refused).rejects.toThrow('The rule "cat" is in the list twice.')
  expect(changes).toEqual([])
})
