import { describe, expect, test } from "vitest"
import { nothingKnown } from "./converted.testing.ts"
import type { Converted } from "./converter.ts"
import { envelopeItemConverter } from "./envelope-item.ts"
import type { PostId } from "../model/ids.ts"

const converter = envelopeItemConverter()
const finish = (line: string): Converted => converter.begin(line).finish(nothingKnown)

/** Digits that a parsed number would lose. */
const envelope = '{"data": {"id": "7", "text": "A cat", "score": 1.00000000000000000001}, "includes": {}}'

function textOf(line: string, id = "7"): string | undefined {
  const converted = finish(line)
  return converted.kind === "post" ? converted.envelopeWith(id as PostId) : undefined
}

describe("an envelope", () => {
  test.each([
    ["by itself", envelope, undefined],
    ["with a cursor", `{"cursor": "a", "envelope": ${envelope}}`, "a"],
    ["with a number as cursor", `{"envelope":${envelope},"cursor":42}`, "42"],
    ["as text", JSON.stringify({ envelope, cursor: "a" }), "a"],
    ["without a cursor in its wrapper", `{"envelope":${envelope}}`, undefined],
    ["with a cursor of another type", `{"envelope":${envelope},"cursor":{}}`, undefined],
  ])("%s goes on letter for letter", (_what, line, position) => {
    expect(converter.begin(line).position).toBe(position)
    expect(converter.begin(line)).toMatchObject({ posts: [], users: [] })
    expect(finish(line)).toMatchObject({ kind: "post", name: undefined, id: "7", isOld: false })
    expect(textOf(line)).toBe(envelope)
  })

  test("as text is the record that a dead letter keeps, whatever is wrong with it", () => {
    for (const text of [envelope, '{"data": 1}', "not json"]) {
      expect(converter.begin(JSON.stringify({ envelope: text, cursor: "a" }))).toMatchObject({
        record: text,
        position: "a",
      })
    }
    expect(converter.begin(envelope).record).toBeUndefined()
  })

  test("is one line, also when its text is several", () => {
    expect(textOf(JSON.stringify({ envelope: '{\n"data":\r\n{"id":"7","text":""}}' }))).not.toMatch(/[\r\n]/)
  })

  test("may nest 10,000 levels deep, for ingest to refuse", () => {
    const deep = `{"data":{"id":"7","text":"","x":${"[".repeat(10_000)}${"]".repeat(10_000)}}}`
    expect(textOf(`{"envelope":${deep},"cursor":1}`)).toBe(deep)
  })

  test("has the name that it gives", () => {
    expect(finish('{"data":{"id":"7","text":"","source_uri":"at://x"}}')).toMatchObject({ name: "at://x", id: "7" })
  })

  test("takes another id when its own is taken", () => {
    expect(textOf('{"data":{"id":"7","text":"7"}}', "8")).toBe('{"data":{"id":"8","text":"7"}}')
  })
})

describe("a deletion", () => {
  test.each([
    ['{"delete":{"status":{"id_str":"7"}}}', { kind: "post deleted", name: "7", id: "7" }],
    ['{"data":{"delete":{"tweet":{"id":"7"}}}}', { kind: "post deleted", name: "7", id: "7" }],
    ['{"data":{"user_delete":{"user":{"id":"7"}}}}', { kind: "user deleted", id: "7" }],
  ])("%s", (line, outcome) => {
    expect(finish(line)).toEqual(outcome)
    expect(finish(`{"envelope":${line},"cursor":1}`)).toEqual(outcome)
  })

  test("is no post with a member of that name", () => {
    expect(finish('{"data":{"id":"7","text":"","delete":{}}}')).toMatchObject({ kind: "post" })
  })
})
