import { Readable } from "node:stream"
import fc from "fast-check"
import { expect, test } from "vitest"
import { valuesOf } from "./json-values.ts"

async function read(chunks: readonly Buffer[]): Promise<(readonly [line: number, text: string])[]> {
  const lines = await Array.fromAsync(valuesOf(Readable.from(chunks)))
  return lines.map((line) => [
    line.number,
    line.kind === "line" ? line.bytes.toString("utf8") : `${String(line.byteCount)} bytes`,
  ])
}

const texts = (...parts: readonly string[]) => read(parts.map((part) => Buffer.from(part)))

test("objects and the items of arrays come one by one, under the line in which each begins", async () => {
  expect(await texts('{\n "a": [1,\n 2]\n}\n{"b":1}\n\n[\n {"c":1}, {"d":\n 1}\n,{}]')).toEqual([
    [1, '{\n "a": [1,\n 2]\n}'],
    [5, '{"b":1}'],
    [8, '{"c":1}'],
    [8, '{"d":\n 1}'],
    [10, "{}"],
  ])
})

test("brackets in strings are text, and a string that is not closed ends with its line", async () => {
  expect(await texts('[{"a":"}]\\"{"},{"b":"\\\\"}]')).toEqual([
    [1, '{"a":"}]\\"{"}'],
    [1, '{"b":"\\\\"}'],
  ])
  expect(await texts('[{"a":"b\n},\n{"c":1}]')).toEqual([
    [1, '{"a":"b\n}'],
    [3, '{"c":1}'],
  ])
})

test("an unfinished value is returned as it is", async () => {
  expect(await texts('[{"a":1},\n{"b":[1')).toEqual([
    [1, '{"a":1}'],
    [2, '{"b":[1'],
  ])
  expect(await texts("[", "]", "")).toEqual([])
})

test("any values come back, however they are laid out and cut", async () => {
  const laidOut = fc.record({ value: fc.oneof(fc.object(), fc.array(fc.object())), indent: fc.nat(2) })
  const property = fc.asyncProperty(
    fc.array(laidOut, { maxLength: 4 }),
    fc.integer({ min: 1, max: 20 }),
    async (all, size) => {
      const bytes = Buffer.from(all.map(({ value, indent }) => JSON.stringify(value, undefined, indent)).join("\n"))
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      )
      const found = (await read(chunks)).map(([, text]) => JSON.parse(text) as unknown)
      const expected = all.flatMap(({ value }) => (Array.isArray(value) ? (value as unknown[]) : [value]))
      expect(found).toEqual(JSON.parse(JSON.stringify(expected)))
    },
  )
  await fc.assert(property, { numRuns: 100 })
})

test("the items of an array come as soon as they are read, so an array of any length costs no memory", async () => {
  let itemsRead = 0
  async function* endless(): AsyncGenerator<Buffer, void, void> {
    yield Buffer.from("[")
    for (; ; itemsRead++) yield Buffer.from(`{"number":${String(itemsRead)}},`)
  }
  let found = 0
  for await (const line of valuesOf(endless())) {
    expect(line.kind === "line" && line.bytes.toString("utf8")).toBe(`{"number":${String(found)}}`)
    expect(itemsRead).toBe(found)
    found += 1
    if (found === 1_000) break
  }
})

test("a value beyond the bound is measured and not kept, and the next one comes", async () => {
  const long = `{"a":"${"x".repeat(16 * 1024 * 1024)}"}`
  expect(await texts(`[${long},\n`, '{"b":1}]')).toEqual([
    [1, `${String(long.length)} bytes`],
    [2, '{"b":1}'],
  ])
})
