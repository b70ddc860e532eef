import fc from "fast-check"
import { expect, test } from "vitest"
import { defaultSelection, parseSelection } from "../../model/field-selection.ts"
import type { MatchSeq, PostId } from "../../model/ids.ts"
import type { MatchEntry } from "../../model/match.ts"
import { deliveryFormat, matchFormat } from "./line-format.ts"
import { contentOf, recordRun, type Chunk } from "./record-chunks.ts"

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

test("a run has the records that follow each other in memory, whatever was rendered before and with them", () => {
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
          const run = recordRun(entries, at, format, bytes)
          if (entries[at]?.postJson === undefined) {
            expect(run).toBeUndefined()
            continue
          }
          const { chunks, count } = run!
          const contents = entries.slice(at, at + count).map((entry) => {
            const content = contentOf(recordRun(entries, entries.indexOf(entry), format, 1)!.chunks).toString("latin1")
            expect(JSON.parse(content)).toEqual(JSON.parse(format.render(entry as Required<MatchEntry>)))
            expect(content).toMatch(/^[\x20-\x7e]*\r\n$/)
            return `${content.length.toString(16)}\r\n${content}\r\n`
          })
          expect(bytesOf(chunks).toString("latin1")).toBe(contents.join(""))
          // Only the last one may go over the bytes.
          expect(contents.slice(0, -1).join("").length).toBeLessThan(bytes)
        }
      },
    ),
  )
})

test("records that are rendered together are one run, and a damaged one or another rendering ends it", () => {
  const [format] = formats
  const entries = entriesOf(["a", "b", undefined, "c", "d"])
  const countAt = (at: number, bytes: number): number | undefined => recordRun(entries, at, format!, bytes)?.count
  expect([0, 1, 2, 3, 4].map((at) => countAt(at, 10_000))).toEqual([2, 1, undefined, 2, 1])
  expect([0, 3].map((at) => countAt(at, 1))).toEqual([1, 1])
  const whole = entriesOf(["a", "b", "c", "d"])
  const first = recordRun(whole, 0, format!, 10_000)!
  expect(first.count).toBe(4)
  const { length } = bytesOf(recordRun(whole, 0, format!, 1)!.chunks)
  expect([length, length + 1, 2 * length + 1].map((bytes) => recordRun(whole, 0, format!, bytes)?.count)).toEqual([
    1, 2, 3,
  ])
  expect(recordRun(whole.slice(1, 3), 0, format!, 10_000)?.count).toBe(2)
  const others = entriesOf(["a", "b"])
  for (const at of [0, 1]) recordRun(others, at, format!, 1)
  expect(recordRun(others, 0, format!, 10_000)?.count).toBe(1)
})
