import fc from "fast-check"
import { expect, test } from "vitest"
import { LineReader, type Line } from "./lines.ts"

const encoder = new TextEncoder()

function readAll(chunks: readonly Uint8Array[]): readonly Line[] {
  const reader = new LineReader()
  return [...chunks.flatMap((chunk) => [...reader.read(chunk)]), ...reader.end()]
}

function texts(...chunks: readonly string[]): readonly (readonly [number, string])[] {
  return readAll(chunks.map((chunk) => encoder.encode(chunk))).map((line) => [
    line.number,
    "text" in line ? line.text : line.fault.title,
  ])
}

test("lines end at LF, with or without a CR, and the last one where the body ends", () => {
  expect(texts("a\nb\r\nc")).toEqual([
    [1, "a"],
    [2, "b"],
    [3, "c"],
  ])
})

test("blank lines are passed over and counted", () => {
  expect(texts("\n\n a \n \t\r\nb\n\n")).toEqual([
    [3, "a"],
    [5, "b"],
  ])
})

test("a byte order mark is passed over", () => {
  expect(texts("\uFEFFa\n")).toEqual([[1, "a"]])
})

test("a line that is too long is refused by its number, and its neighbours are kept", () => {
  const long = "x".repeat(1_048_577)
  expect(texts(`a\n${long}`, `${long}\nb`)).toEqual([
    [1, "a"],
    [2, "Line Too Long"],
    [3, "b"],
  ])
  expect(texts("x".repeat(1_048_576))).toHaveLength(1)
})

test("a line that is not UTF-8 is refused by its number", () => {
  const lines = readAll([Uint8Array.from([0x61, 0x0a, 0xff, 0xfe, 0x0a, 0x62])])
  expect(lines).toMatchObject([{ text: "a" }, { number: 2, fault: { title: "Invalid Text" } }, { text: "b" }])
})

test("an endless line costs no memory", () => {
  const reader = new LineReader()
  const chunk = new Uint8Array(1_000_000).fill(0x61)
  const before = process.memoryUsage().arrayBuffers
  for (let count = 0; count < 500; count++) expect([...reader.read(chunk)]).toEqual([])
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000)
  expect([...reader.end()]).toMatchObject([{ fault: { title: "Line Too Long" } }])
})

test("how the bytes are cut makes no difference", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.array(fc.integer({ min: 1, max: 7 })), (body, cuts) => {
      const bytes = encoder.encode(body.replaceAll("a", "\n").replaceAll("b", "\r\n"))
      const chunks: Uint8Array[] = []
      let start = 0
      for (const cut of cuts) {
        chunks.push(bytes.slice(start, start + cut))
        start += cut
      }
      chunks.push(bytes.slice(start))
      expect(readAll(chunks)).toEqual(readAll([bytes]))
    }),
  )
})
