import fc from "fast-check"
import { expect, test } from "vitest"
import { LineReader, textOfLine, type Line } from "./lines.ts"

const encoder = new TextEncoder()
const bytesMax = 262_144

function readAll(chunks: readonly Uint8Array[]): readonly Line[] {
  const reader = new LineReader(bytesMax)
  return [...chunks.flatMap((chunk) => [...reader.read(chunk)]), ...reader.end()]
}

function textOrTitle(line: Line): string {
  const text = "fault" in line ? line : textOfLine(line.bytes)
  return typeof text === "string" ? text : text.fault.title
}

function texts(...chunks: readonly string[]): readonly (readonly [number, string])[] {
  return readAll(chunks.map((chunk) => encoder.encode(chunk)))
    .map((line) => [line.number, textOrTitle(line)] as const)
    .filter(([, text]) => text !== "")
}

test("lines end at LF, with or without a CR, and the last one where the body ends", () => {
  expect(texts("a\nb\r\nc")).toEqual([
    [1, "a"],
    [2, "b"],
    [3, "c"],
  ])
})

test("blank lines are counted and have no text", () => {
  expect(texts("\n\n a \n \t\r\nb\n\n")).toEqual([
    [3, "a"],
    [5, "b"],
  ])
})

test("every byte belongs to one line, but for its end", () => {
  const body = encoder.encode("a\n\n b\r\n".repeat(3) + "c")
  const lines = readAll([body.subarray(0, 4), body.subarray(4)])
  expect(lines.map(({ byteCount }) => byteCount)).toEqual([1, 0, 3, 1, 0, 3, 1, 0, 3, 1])
})

test("a line that arrives byte by byte takes at most twice its bytes, and nothing once it is read", () => {
  const reader = new LineReader(bytesMax)
  const unexpected: number[] = []
  for (let count = 1; count <= 100_000; count++) {
    for (const line of reader.read(Uint8Array.of(0x61))) unexpected.push(line.number)
    if (reader.partialLineBytes > Math.max(1_024, 2 * count)) unexpected.push(reader.partialLineBytes)
  }
  expect(unexpected).toEqual([])
  expect(reader.partialLineBytes).toBeGreaterThanOrEqual(100_000)
  expect(Array.from(reader.read(encoder.encode("\n")), textOrTitle)).toEqual(["a".repeat(100_000)])
  expect(reader.partialLineBytes).toBe(0)
})

test("a byte order mark is ignored", () => {
  expect(texts("\uFEFFa\n")).toEqual([[1, "a"]])
})

test("a line that is too long is rejected by its number, and its neighbours are kept", () => {
  const long = "x".repeat(bytesMax + 1)
  expect(texts(`a\n${long}`, `${long}\nb`)).toEqual([
    [1, "a"],
    [2, "Line Too Long"],
    [3, "b"],
  ])
  expect(texts("x".repeat(bytesMax))).toHaveLength(1)
})

test("a line that is not UTF-8 is rejected by its number", () => {
  const lines = readAll([Uint8Array.from([0x61, 0x0a, 0xff, 0xfe, 0x0a, 0x62])])
  expect(lines.map(textOrTitle)).toEqual(["a", "Invalid Text", "b"])
})

test("an endless line takes no memory", () => {
  const reader = new LineReader(bytesMax)
  const chunk = new Uint8Array(1_000_000).fill(0x61)
  const before = process.memoryUsage().arrayBuffers
  for (let count = 0; count < 500; count++) expect([...reader.read(chunk)]).toEqual([])
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000)
  expect([...reader.end()]).toMatchObject([{ fault: { title: "Line Too Long" } }])
})

test("the size of the chunks makes no difference", () => {
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
