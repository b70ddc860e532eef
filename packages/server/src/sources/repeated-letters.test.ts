/** Dead letters of feeds: what is kept of an item, and what becomes of it when it is repeated. */
import { expect, test } from "vitest"
import { pathOf, paths } from "@sluice/api/paths"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import type { TestServer } from "../../../../test/support/test-server.testing.ts"
import { startFeed, type TestFeed } from "./positioned/reading.testing.ts"
import { startServerWith, type TestEntry } from "./server-with-sources.testing.ts"

interface Letter {
  readonly id: string
  readonly title: string
  readonly detail: string
  readonly record: string
}

/** A feed that gives these items once. */
const feedOf = (...items: readonly string[]): Promise<TestFeed> => {
  let isGiven = false
  return startFeed((_request, response) => {
    response.end(isGiven ? "" : items.join("\n"))
    isGiven = true
  })
}

const birds = ({ port }: TestFeed, members: Readonly<Record<string, unknown>>): TestEntry => ({
  name: "birds",
  type: "http",
  url: `http://127.0.0.1:${port}/`,
  pollSeconds: 1,
  ...members,
})

async function lettersOf(server: TestServer): Promise<readonly Letter[]> {
  const token = await server.running.apps.createToken("operator")
  const { body } = await server.call(pathOf(paths.sourceDeadLetters, { name: "birds" }), { token })
  return (body as { readonly data: readonly Letter[] }).data
}

async function repeat(server: TestServer): Promise<unknown> {
  const token = await server.running.apps.createToken("operator")
  const ids = (await lettersOf(server)).map(({ id }) => id)
  const { body } = await server.send("POST", pathOf(paths.repeatSourceDeadLetters, { name: "birds" }), { ids }, token)
  return (body as { readonly data: unknown }).data
}

async function storedTexts(server: TestServer): Promise<readonly string[]> {
  const { body } = await server.call(`${paths.posts}?max_results=100`)
  const { data = [] } = body as { data?: readonly { data: { text: string } }[] }
  return data.map(({ data: { text } }) => text).toSorted()
}

test("dead letters of a mapping are kept as they came, and repeated through the mapping that holds by then", async () => {
  await using directory = await temporaryDirectory()
  const store = { data: directory.path }
  const items = [
    // The mapping fails.
    '{"id": "7", "text": "raw", "words": "a wren", "by": {"username": "ann"}}',
    // The mapping makes no post of it.
    '{"id": "8", "text": 1, "words": "a heron", "by": "ann"}',
  ]
  await using feed = await feedOf(...items)
  const wrong = '{"uri": "birds:" & id, "text": (1 + text; words), "author": by}'
  {
    await using server = await startServerWith([birds(feed, { mapping: wrong })], store)
    await expect.poll(async () => (await lettersOf(server)).length).toBe(2)
    const letters = await lettersOf(server)
    expect(letters.map(({ record }) => record).toSorted()).toEqual(items)
    expect(await repeat(server)).toEqual({ repeated: 2, rejected: 2 })
    const reasons = (all: readonly Letter[]) => all.map(({ title, detail }) => `${title}: ${detail}`).toSorted()
    expect(reasons(await lettersOf(server))).toEqual(reasons(letters))
    expect((await lettersOf(server)).map(({ record }) => record).toSorted()).toEqual(items)
    expect(await storedTexts(server)).toEqual([])
  }
  const mapping = '{"uri": "birds:" & id, "text": words, "author": by.username ? by : {"username": by}}'
  await using server = await startServerWith([birds(feed, { mapping })], store)
  expect(await repeat(server)).toEqual({ repeated: 2, rejected: 0 })
  expect(await storedTexts(server)).toEqual(["a heron", "a wren"])
  expect(await lettersOf(server)).toEqual([])
})
