import fc from "fast-check"
import { expect, test } from "vitest"
import { lineOf } from "./message-line.ts"

const text = (line: Uint8Array | undefined) => line && Buffer.from(line).toString()

test("the line of a message ends with a line break, has none within, and means the same", () => {
  expect(text(lineOf(Buffer.from('{"a":1}')))).toBe('{"a":1}\n')
  expect(text(lineOf(Buffer.from('\n{\r\n  "a":\n 1\n}\n')))).toBe('\r{\r\r  "a":\r 1\r}\r\n')
})

test("any JSON over any number of lines is one line of the same value", () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 1, "\n", "\r\n\t"), (json, space) => {
      const value: unknown = JSON.parse(json)
      const line = text(lineOf(Buffer.from(`\n${JSON.stringify(value, null, space)}\n`))) ?? ""
      expect(line.indexOf("\n")).toBe(line.length - 1)
      expect(JSON.parse(line)).toEqual(value)
    }),
  )
})

test("JSON with a line break within a string is invalid, and stays invalid", () => {
  const line = text(lineOf(Buffer.from('{"a":"b\nc"}'))) ?? ""
  expect(() => JSON.parse(line) as unknown).toThrow("Bad control character")
})

test("a message of white space in any alphabet gives no line; bytes that are not text give one", () => {
  for (const blank of ["", " ", "\r\n\n\t", "\u00a0\u2028\ufeff"]) expect(lineOf(Buffer.from(blank))).toBeUndefined()
  expect(lineOf(Uint8Array.of(0xff))).toEqual(Buffer.from([0xff, 0x0a]))
})

test("the message itself is not changed, and a large line has memory of its own", () => {
  const message = Buffer.from(`{"a":\n"${"b".repeat(100_000)}"}`)
  const copy = Buffer.from(message)
  const line = lineOf(message)
  expect(message.equals(copy)).toBe(true)
  expect(line?.byteLength).toBe(line?.buffer.byteLength)
})
