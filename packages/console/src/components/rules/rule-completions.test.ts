import { CompletionContext, type CompletionResult } from "@codemirror/autocomplete"
import { EditorState } from "@codemirror/state"
import { expect, test } from "vitest"
import { completeIn } from "./rule-completions.ts"

/** Completions at the end of the text, and what of the text they replace. */
function completed(text: string, explicit = false): { readonly replaced: string; readonly labels: string[] } | null {
  const context = new CompletionContext(EditorState.create({ doc: text }), text.length, explicit)
  const result = completeIn("stream")(context) as CompletionResult | null
  return result && { replaced: text.slice(result.from), labels: result.options.map(({ label }) => label) }
}

test.each([
  ["fr", "fr"],
  ["cat -fr", "fr"],
  ["cat (dog OR url_", "url_"],
  ['"hot dog"fr', "fr"],
])("operators complete the word at the end of %s", (text, replaced) => {
  expect(completed(text)).toMatchObject({
    replaced,
    labels: expect.arrayContaining(["from:", "url_title:"]) as string[],
  })
})

test("values complete what follows an operator that has few", () => {
  expect(completed("cat -has:im")).toMatchObject({
    replaced: "im",
    labels: expect.arrayContaining(["images"]) as string[],
  })
  expect(completed("cat is:")).toMatchObject({ replaced: "", labels: expect.arrayContaining(["retweet"]) as string[] })
})

test.each([
  "from:ali",
  "from:alice.bsky",
  "-to:@alice.bs",
  "retweets_of:alice-b",
  "from:alice@social.ex",
  "@ali",
  "cat @alice.bs",
  "(@alice@social",
  "#li",
  "url:https://exam",
])("nothing completes the name or link at the end of %s", (text) => {
  expect(completed(text)).toBeNull()
  expect(completed(text, true)).toBeNull()
})

test("an empty clause is completed only when the writer asks", () => {
  expect(completed("cat ")).toBeNull()
  expect(completed("cat ", true)).toMatchObject({ replaced: "" })
})
