import fc from "fast-check"
import { expect, test } from "vitest"
import { ChunkJoiner } from "./joined-chunks.ts"

/** The bytes that the parser gets of a body that arrives in these reads. */
function joined(reads: readonly string[]): { readonly text: string; readonly pieces: number } {
  const joiner = new ChunkJoiner()
  const received: string[] = []
  let isPassedOn = false
  for (const read of reads) {
    const bytes = Buffer.from(read, "latin1")
    let end = 0
    while (!isPassedOn && end < bytes.length) {
      const taken = joiner.take(bytes, end)
      end = taken.end
      isPassedOn = taken.kind !== "more"
      received.push(...taken.pieces.map((piece) => Buffer.from(piece).toString("latin1")))
    }
    if (isPassedOn) received.push(bytes.subarray(end).toString("latin1"))
  }
  return { text: received.join(""), pieces: received.length }
}

/** The body that a chunked text means, by the slow and obvious way; undefined when it does not end. */
function decoded(text: string): string | undefined {
  let body = ""
  let rest = text
  for (;;) {
    const match = /^([0-9a-f]+)(?:;[^\r\n]*)?\r\n/i.exec(rest)
    if (match === null) return undefined
    const size = Number.parseInt(match[1] ?? "", 16)
    const data = match[0].length
    if (size === 0) return rest.slice(data) === "\r\n" ? body : undefined
    body += rest.slice(data, data + size)
    if (rest.slice(data + size, data + size + 2) !== "\r\n") return undefined
    rest = rest.slice(data + size + 2)
  }
}

const extension = fc.constantFrom("", "", "", ";a", ';a="b\tc"', "; x = 1")
const chunk = fc.record({ data: fc.string({ minLength: 1, maxLength: 40, unit: "binary-ascii" }), extension })
const cuts = fc.array(fc.nat(2_000), { maxLength: 12 })

function textOf(chunks: readonly { readonly data: string; readonly extension: string }[]): string {
  const framed = chunks.map(({ data, extension: text }) => `${data.length.toString(16)}${text}\r\n${data}\r\n`)
  return `${framed.join("")}0\r\n\r\n`
}

function cutAt(text: string, positions: readonly number[]): readonly string[] {
  const ends = [...positions.map((at) => at % text.length).toSorted((a, b) => a - b), text.length]
  return ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end))
}

test("for any chunks and reads, the parser gets the same body, in one chunk per read", () => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 60 }), cuts, (chunks, positions) => {
      const text = textOf(chunks)
      const reads = cutAt(text, positions)
      const result = joined(reads)
      expect(decoded(result.text)).toBe(chunks.map(({ data }) => data).join(""))
      expect(result.pieces).toBeLessThanOrEqual(2 * reads.length + 3 + positions.length)
    }),
  )
})

test("two hundred chunks of one byte become one", () => {
  const { text, pieces } = joined(["1\r\nx\r\n".repeat(10_000), "0\r\n\r\n"])
  expect(decoded(text) === "x".repeat(10_000)).toBe(true)
  // A size and data for each two hundred, and the end.
  expect(pieces).toBeLessThan(110)
})

test.each([
  ["a size that is none", "2\r\nab\r\nzz\r\n", "2\r\nab\r\nzz\r\n"],
  ["no size", "\r\n", "\r\n"],
  ["a size with a space", "2 \r\nab", "2 \r\nab"],
  ["a line feed alone after the size", "2\nab", "2\nab"],
  ["a carriage return alone after the size", "2\rab", "2\rab"],
  ["data that is longer than its size", "2\r\nabc\r\n", "2\r\nabc\r\n"],
  ["data without its line feed", "2\r\nab\rc", "2\r\nab\rc"],
  ["a control character in an extension", "2;a\0b\r\nab", "2;\0b\r\nab"],
  ["a line feed alone in an extension", "2;a\nab\r\n", "2;\nab\r\n"],
  ["a size beyond all numbers", "1\r\na\r\nffffffffffffffffff\r\n", `1\r\na\r\n${"f".repeat(17)}ffffff\r\n`],
])("the parser gets %s at its original position, and everything after it unchanged", (_name, text, expected) => {
  expect(joined([text]).text).toBe(expected)
  // Read byte by byte, each chunk is one of its own, and the malformed byte comes after the same text.
  const byBytes = joined(Array.from(text)).text
  expect(byBytes.endsWith(expected.slice(-3))).toBe(true)
})

test("an extension that is too long is passed on as one that Node refuses", () => {
  const { text } = joined(["1;", "x".repeat(10_000), "x".repeat(10_000)])
  expect(text.length).toBeGreaterThan(16_384)
  expect(text.startsWith("1;aaa")).toBe(true)
})

test("a trailer is passed on unchanged", () => {
  expect(joined(["1\r\nx\r\n0;last\r\nA: b\r\n", "\r\n"]).text).toBe("1\r\nx\r\n0\r\nA: b\r\n\r\n")
})
