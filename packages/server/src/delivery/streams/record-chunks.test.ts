import fc from "fast-check"
import { expect, test } from "vitest"
import { defaultSelection, parseSelection } from "../../model/field-selection.ts"
import type { MatchSeq, PostId } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import { deliveryFormat, matchFormat } from "./line-format.ts"
import { contentOf, joined, recordChunk, type Chunk } from "./record-chunks.ts"

const formats = [
  deliveryFormat(defaultSelection),
  deliveryFormat(parseSelection({ "tweet.fields": "lang" })),
  matchFormat,
]

/** Entries of a log; a text that is `undefined` makes a damaged one. */
function entriesOf(texts: readonly (string | undefined)[]): readonly MatchEntry[] {
  return texts.map((text, index) => {
    const entry = {
      seq: (index + 1) as MatchSeq,
      postId: String(index) as PostId,
      atMs: index,
      rulesJson: '[{"id":"7"}]',
    }
    const data = JSON.stringify({ id: String(index), text, lang: "en" })
    return text === undefined ? entry : { ...entry, postJson: `{"data":${data}}` }
  })
}

const bytesOf = ({ buffer, start, end }: Chunk): Buffer => buffer.subarray(start, end)

test("a record's chunk is the same, whatever else was rendered before it and with it", () => {
  const anyText = fc.option(fc.string({ unit: "grapheme", maxLength: 40 }), { nil: undefined })
  const ask = fc.record({
    at: fc.nat(20),
    format: fc.constantFrom(...formats),
    bytes: fc.integer({ min: 1, max: 2_000 }),
  })
  fc.assert(
    fc.property(
      fc.array(anyText, { maxLength: 20, size: "max" }),
      fc.array(ask, { maxLength: 40, size: "max" }),
      (texts, asks) => {
        const entries = entriesOf(texts)
        for (const { at, format, bytes } of asks) {
          const chunk = recordChunk(entries, at, format, bytes)
          const { postJson, ...entry } = entries[at] ?? {}
          if (postJson === undefined) {
            expect(chunk).toBeUndefined()
            continue
          }
          const content = contentOf(chunk!).toString("latin1")
          expect(JSON.parse(content)).toEqual(JSON.parse(format.render({ ...(entry as MatchEntry), postJson })))
          expect(content).toMatch(/^[\x20-\x7e]*\r\n$/)
          expect(bytesOf(chunk!).toString("latin1")).toBe(`${content.length.toString(16)}\r\n${content}\r\n`)
        }
      },
    ),
  )
})

test("records that are rendered together are written at once, and others are not", () => {
  const [format] = formats
  const entries = entriesOf(["a", "b", undefined, "c", "d"])
  const chunkAt = (at: number, bytes: number): Chunk => recordChunk(entries, at, format!, bytes)!
  const all = [chunkAt(0, 10_000), chunkAt(1, 1), chunkAt(3, 1), chunkAt(4, 1)]
  const run = all.slice(1).reduce((before, next) => joined(before, next)!, all[0]!)
  expect(bytesOf(run)).toEqual(Buffer.concat(all.map(bytesOf)))
  expect(joined(all[0]!, all[2]!)).toBeUndefined()
  const others = entriesOf(["a", "b"])
  const apart = [recordChunk(others, 0, format!, 1)!, recordChunk(others, 1, format!, 1)!]
  expect(joined(apart[0]!, apart[1]!)).toBeUndefined()
})
