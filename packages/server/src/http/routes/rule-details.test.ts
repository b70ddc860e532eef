import { paths, type RuleDetail } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  envelope,
  startTestServer,
  type TestApp,
  type TestServer,
} from "../../../../../test/support/test-server.testing.ts"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"

let server: TestServer
let other: TestApp

beforeAll(async () => {
  server = await startTestServer()
  other = await server.newApp()
})

afterAll(() => server[Symbol.asyncDispose]())

async function statesOf(app: TestApp, query = ""): Promise<readonly RuleDetail[]> {
  const response = await app.call(paths.ruleDetails + query)
  expect(response).toMatchObject({ status: 200 })
  return response.body.data as RuleDetail[]
}

test("a rule's matches are counted over restarts, repeated posts once, until the rule is deleted", async () => {
  await using directory = await temporaryDirectory()
  const started = Date.now()
  let token = ""
  {
    await using first = await startTestServer({ data: directory.path })
    await first.send("POST", paths.rules, { add: [{ value: "heron", tag: "birds" }, { value: "zebra" }] })
    await first.ingest(envelope(1, "a heron"), envelope(2, "a heron and a heron"), envelope(3, "a dog"))
    await first.ingest(envelope(2, "a heron and a heron"))
    await expect.poll(() => statesOf(first), { timeout: 5_000 }).toMatchObject([{}, { value: "heron", matched: 2 }])
    const [zebra, heron] = await statesOf(first)
    expect(zebra).toMatchObject({ value: "zebra", matched: 0 })
    expect(zebra).not.toHaveProperty("last_matched_at")
    expect(heron).toMatchObject({ tag: "birds" })
    expect(Date.parse(heron?.last_matched_at ?? "")).toBeGreaterThanOrEqual(started)
    expect(Math.abs(Date.parse(heron?.created_at ?? "") - started)).toBeLessThan(600_000)
    token = first.app.bearer_token
    // Not saved yet: the stop saves it.
    await first.ingest(envelope(4, "the last heron"))
  }
  await using second = await startTestServer({ data: directory.path })
  const states = async (): Promise<unknown> => (await second.call(paths.ruleDetails, { token })).body.data
  expect(await states()).toMatchObject([{ matched: 0 }, { value: "heron", matched: 3 }])
  await second.send("POST", paths.rules, { delete: { values: ["heron"] } }, token)
  await second.send("POST", paths.rules, { add: [{ value: "heron" }] }, token)
  expect(await states()).toMatchObject([{ value: "heron", matched: 0 }, { matched: 0 }])
})

test("a change of the tag keeps the rule, and matches name the new one", async () => {
  await server.send("POST", paths.rules, { add: [{ value: "kestrel", tag: "old" }] })
  const id = (await statesOf(server, "?query=kestrel"))[0]?.id ?? ""
  const path = paths.ruleDetail.replace(":rule_id", id)
  expect(await other.send("PATCH", path, { tag: "theirs" })).toMatchObject({ status: 404 })
  expect(await server.send("PATCH", path, { tag: "x".repeat(300) })).toMatchObject({ status: 400 })
  expect(await server.send("PATCH", path, { tag: "new" })).toMatchObject({
    status: 200,
    body: { data: { id, value: "kestrel", tag: "new" } },
  })
  await server.ingest(envelope(50, "a kestrel"))
  const post = await server.call(paths.post.replace(":post_id", "50"))
  expect(post.body).toMatchObject({ matches: [{ matching_rules: [{ id, tag: "new" }] }] })
  expect(await server.send("PATCH", path, { tag: "" })).toMatchObject({ status: 200, body: { data: { id } } })
  expect((await statesOf(server, "?query=kestrel"))[0]).not.toHaveProperty("tag")
})

test("rules are paged and searched by text, tag and id, and another app's are never among them", async () => {
  const add = Array.from({ length: 12 }, (_, at) => ({ value: `egret${at}`, tag: at % 2 === 0 ? "Even ones" : "odd" }))
  await other.send("POST", paths.rules, { add })
  const newest = [...add].toReversed()
  expect((await statesOf(other)).map(({ value }) => value)).toEqual(newest.map(({ value }) => value))
  expect(await statesOf(server, "?query=egret")).toEqual([])

  const read = async (query: string, most: number): Promise<readonly string[]> => {
    const values: string[] = []
    let token = ""
    do {
      const { body } = await other.call(`${paths.ruleDetails}?max_results=${most}${query}${token}`)
      values.push(...(body.data as RuleDetail[]).map(({ value }) => value))
      token = body.meta.next_token === undefined ? "" : `&pagination_token=${body.meta.next_token}`
    } while (token !== "")
    return values
  }
  expect(await read("&query=even", 4)).toEqual(
    newest.filter(({ tag }) => tag === "Even ones").map(({ value }) => value),
  )
  expect(await read("&query=EGRET1", 2)).toEqual(["egret11", "egret10", "egret1"])
  const id = (await statesOf(other))[0]?.id ?? ""
  expect(await read(`&query=${id}`, 5)).toEqual(["egret11"])
  expect(await read("&query=nothing", 5)).toEqual([])
})
