import fc from "fast-check"
import { afterAll, beforeAll, expect, test } from "vitest"
import { ClusterDatabase } from "./database.ts"
import { createTestDatabase, type TestDatabase } from "./postgres.testing.ts"
import { textArray } from "./text-array.ts"

let server: TestDatabase
let database: ClusterDatabase

beforeAll(async () => {
  server = await createTestDatabase()
  database = new ClusterDatabase({ url: server.url, poolMax: 1, statementMsMax: 30_000 }, () => undefined)
})

afterAll(async () => {
  await database[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

async function read(values: readonly (string | null)[]): Promise<readonly (string | null)[]> {
  const rows = await database.rows<{ text: string | null }>(
    `SELECT text FROM unnest($1::text[]) WITH ORDINALITY AS given (text, place) ORDER BY place`,
    textArray(values),
  )
  return rows.map(({ text }) => text)
}

test("PostgreSQL reads the texts unchanged, NULL and escape characters included", async () => {
  const texts = [`{"a":"b\\n"}`, "NULL", "", null, "{,}", "é 😀", "'"]
  expect(await read(texts)).toEqual(texts)
  expect(await read([])).toEqual([])
})

test("characters that PostgreSQL's texts cannot hold become U+FFFD", async () => {
  expect(await read(["a\0b", "\uD800"])).toEqual(["a\uFFFDb", "\uFFFD"])
})

test("any texts are read as they were given", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(fc.string({ unit: "binary" }))), async (texts) => {
      expect(await read(texts)).toEqual(texts.map((text) => text?.replaceAll("\0", "\uFFFD") ?? null))
    }),
  )
})
