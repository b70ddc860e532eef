import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Readable } from "node:stream"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { gzipSync } from "node:zlib"
import fc from "fast-check"
import { expect, test } from "vitest"
import { inputBytesMax as lineBytesMax } from "./input-line.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { linesOf, openPostFile } from "./input-lines.ts"
import type { InputLine } from "./input-line.ts"

async function read(lines: AsyncIterable<InputLine>): Promise<(readonly [number: number, text: string])[]> {
  return (await Array.fromAsync(lines)).map((line) => [
    line.number,
    line.kind === "line" ? line.bytes.toString("utf8") : `${String(line.byteCount)} bytes`,
  ])
}

async function* chunks(...parts: readonly (string | Buffer)[]): AsyncGenerator<Buffer, void, void> {
  for (const part of parts) yield Buffer.from(part)
}

test.each([
  [
    "a last line without an end",
    "a\nb",
    [
      [1, "a"],
      [2, "b"],
    ],
  ],
  [
    "a last line with one",
    "a\nb\n",
    [
      [1, "a"],
      [2, "b"],
    ],
  ],
  [
    "blank lines count but do not come",
    "\n \na\n\t\r\n\u00A0\nb\n\n",
    [
      [3, "a"],
      [6, "b"],
    ],
  ],
  [
    "line ends of Windows stay",
    "a\r\nb\r\n",
    [
      [1, "a\r"],
      [2, "b\r"],
    ],
  ],
  ["nothing", "", []],
  ["only line ends", "\n\n\n", []],
] as const)("lines are numbered as an editor numbers them: %s", async (_, text, expected) => {
  expect(await read(linesOf(chunks(text)))).toEqual(expected)
})

test("lines are the same however the bytes are cut", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("{", "é", "\n", "\n\n", " ", "x"), { maxLength: 30 }),
      fc.integer({ min: 1, max: 7 }),
      async (parts, size) => {
        const bytes = Buffer.from(parts.join(""))
        const cut = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        )
        const obvious = parts
          .join("")
          .split("\n")
          .map((text, at) => [at + 1, text] as const)
        expect(await read(linesOf(chunks(...cut)))).toEqual(obvious.filter(([, text]) => text.trim() !== ""))
      },
    ),
  )
})

test("a line of exactly the most bytes is kept, one more is only measured", async () => {
  const half = Buffer.alloc(lineBytesMax / 2, "{")
  expect(await read(linesOf(chunks(half, half, "\n", half, half, "x\nb")))).toEqual([
    [1, Buffer.concat([half, half]).toString()],
    [2, `${String(lineBytesMax + 1)} bytes`],
    [3, "b"],
  ])
})

test("a gigabyte without a line end costs no memory", async () => {
  // Measure after a collection: the amount of garbage is the collector's choice.
  setFlagsFromString("--expose-gc")
  const collectGarbage = runInNewContext("gc") as () => void
  const bytesHeld = (): number => {
    collectGarbage()
    return process.memoryUsage().arrayBuffers
  }
  // Test files that ran before it in this process may have left some.
  const before = bytesHeld()
  let mostBytes = 0
  async function* endless(): AsyncGenerator<Buffer, void, void> {
    for (let count = 0; count < 1024; count++) {
      yield Buffer.alloc(1 << 20, "x")
      if (count % 32 === 0) mostBytes = Math.max(mostBytes, bytesHeld())
    }
  }
  expect(await read(linesOf(endless()))).toEqual([[1, `${String(1 << 30)} bytes`]])
  // Another thread frees collected memory a little later.
  expect(mostBytes - before).toBeLessThan(16 * lineBytesMax)
})

test("gzip is recognised by the name and by the first bytes, from a file and from standard input", async () => {
  await using directory = await temporaryDirectory()
  const packed = gzipSync("a\nb\n")
  const expected = [
    [1, "a"],
    [2, "b"],
  ]
  for (const name of ["posts.ndjson.gz", "posts.ndjson"]) {
    const path = join(directory.path, name)
    await writeFile(path, packed)
    const file = await openPostFile(path)
    expect(await read(file.lines)).toEqual(expected)
    expect(file.byteCount).toBe(packed.length)
    expect(file.bytesRead()).toBe(packed.length)
  }
  const byteByByte = Readable.from([...packed].map((byte) => Buffer.from([byte])))
  expect(await read((await openPostFile("-", { stdin: byteByByte })).lines)).toEqual(expected)
  expect(await read((await openPostFile("-", { stdin: Readable.from([Buffer.from("a\nb")]) })).lines)).toEqual(expected)
})

test("a file that cannot be read is an error with the reason", async () => {
  await using directory = await temporaryDirectory()
  await expect(openPostFile(join(directory.path, "none"))).rejects.toThrow(/^There is no file .*none\.$/)
  await expect(openPostFile(directory.path)).rejects.toThrow("is a directory, not a file of posts.")
  const path = join(directory.path, "cut.gz")
  await writeFile(path, gzipSync("a\n".repeat(10_000)).subarray(0, 40))
  await expect(read((await openPostFile(path)).lines)).rejects.toThrow(/cut\.gz cannot be read: /)
})
