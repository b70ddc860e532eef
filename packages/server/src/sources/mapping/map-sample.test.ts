import { expect, test } from "vitest"
import { convertSample } from "../try-source.ts"

const sampled = (mapping: string | undefined, sample: unknown) =>
  convertSample(
    { converter: { type: mapping === undefined ? "envelopes" : "mapped" }, mapping },
    typeof sample === "string" ? sample : JSON.stringify(sample),
  )

test("a sample becomes the envelope that its post would have", async () => {
  const mapping = '{"uri": "a:" & id, "text": words, "created_at": "2026-01-02T03:04:05Z", "cursor": $string(id)}'
  const [record, ...others] = await sampled(mapping, { id: 5, words: "heron" })
  expect(others).toEqual([])
  expect(record).toMatchObject({ kind: "post" })
  const { envelope } = record as { readonly envelope: string }
  expect(JSON.parse(envelope)).toMatchObject({
    data: { id: "1000000000000000000", text: "heron", created_at: "2026-01-02T03:04:05.000Z", source_uri: "a:5" },
  })
  expect(await sampled(undefined, { data: { id: "20", text: "as it is" } })).toEqual([
    { kind: "post", envelope: '{"data":{"id":"20","text":"as it is"}}' },
  ])
})

test("a sample may be a deletion, or nothing, and have several items", async () => {
  const mapping = 'keep ? {"uri": "a:" & id, "deleted": true}'
  expect(await sampled(mapping, '{"id":1,"keep":true}\n{"id":2}\n')).toEqual([
    { kind: "deletion", name: "a:1" },
    { kind: "skipped", reason: "skipped by the mapping" },
  ])
})

test("an error says where it is: in the expression, in the sample, or in the result", async () => {
  await expect(sampled('{\n "uri": $x(\n}', {})).rejects.toThrow(/^line 3, column 1: /)
  expect(await sampled('{"uri": 1 + text}', { text: "a" })).toEqual([
    {
      kind: "rejected",
      title: "Mapping Failed",
      detail: expect.stringMatching(/^line 1, column \d+: The right side of the "\+" operator/),
    },
  ])
  expect(await sampled("{}", "not json")).toMatchObject([{ kind: "rejected", title: "Invalid JSON" }])
  expect(await sampled('{"text": "a"}', {})).toMatchObject([{ kind: "rejected", title: "Invalid Record" }])
})
