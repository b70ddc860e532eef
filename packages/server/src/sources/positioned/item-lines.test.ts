import fc from "fast-check"
import { expect, test } from "vitest"
import { ItemLines } from "./item-lines.ts"

/** The lines of a text in chunks, and the bytes that their faults kept. */
function read(chunks: readonly Buffer[], bytesMax: number): { readonly lines: string[]; readonly kept: number[] } {
  const reader = new ItemLines(bytesMax)
  const items = [...chunks.flatMap((chunk) => [...reader.read(chunk)]), ...reader.end()]
  return {
    lines: items.map(({ bytes, fault }) => fault?.title ?? Buffer.from(bytes).toString()),
    kept: items.flatMap(({ bytes, fault }) => (fault === undefined ? [] : [bytes.length])),
  }
}

test("however a text is cut into chunks, its lines are the same", () => {
  const anyText = fc.array(fc.constantFrom("a", "é", "\n", "\r\n", " ", '{"x":1}', "long line ".repeat(4)), {
    maxLength: 30,
  })
  fc.assert(
    fc.property(anyText, fc.array(fc.nat(12), { maxLength: 40 }), (parts, sizes) => {
      const text = Buffer.from(parts.join(""))
      const chunks: Buffer[] = []
      let at = 0
      for (const size of sizes) chunks.push(text.subarray(at, (at += size)))
      chunks.push(text.subarray(at))
      const expected = text
        .toString()
        .split("\n")
        .filter((line) => line.trim() !== "")
        .map((line) => (Buffer.byteLength(line) > 30 ? "Line Too Long" : line))
      expect(read(chunks, 30).lines).toEqual(expected)
    }),
  )
})

test("a line that is too long keeps its beginning, once, and takes no more memory", () => {
  const chunk = Buffer.alloc(100_000, "\r")
  const { lines, kept } = read([...Array.from({ length: 1_000 }, () => chunk), Buffer.from("\nnext\n")], 262_144)
  expect(lines).toEqual(["Line Too Long", "next"])
  expect(kept).toEqual([65_536])
})

test("a line without end is given up", () => {
  const reader = new ItemLines(1_000)
  const chunk = Buffer.alloc(16 * 1024 * 1024, "x")
  const readAll = (): void => {
    for (let at = 0; at < 17; at += 1) for (const _ of reader.read(chunk)) continue
  }
  expect(readAll).toThrow("A line goes on for more than 256 MiB.")
})
