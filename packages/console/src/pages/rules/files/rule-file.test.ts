import { expect, test } from "vitest"
import { fileFormats, readRuleFile, ruleFileText, type FileRule } from "./rule-file.ts"

async function rulesOf(text: string): Promise<readonly FileRule[]> {
  const file = await readRuleFile(text)
  if (file.kind !== "rules") throw new Error(file.problem)
  return file.rules
}

const rules = [
  { value: '(heron OR "night market") -is:retweet', tag: 'birds: "at" night' },
  { value: "cat  dog" },
  { value: "#鷺", tag: "#tag" },
]

test("exported rules are imported again, in each format that has room for them", async () => {
  for (const format of fileFormats) {
    const read = (await rulesOf(ruleFileText(format, rules))).map(({ value, tag }) => ({ value, ...(tag && { tag }) }))
    const expected = format === "txt" ? rules.map(({ value }) => ({ value: value.replace("  ", " ") })) : rules
    expect(read, format).toEqual(expected)
  }
  expect(await rulesOf("rules:\n  - cat\n  - value: dog\n    tag: pets\n")).toMatchObject([
    { at: 1, value: "cat" },
    { at: 2, value: "dog", tag: "pets" },
  ])
  expect(await rulesOf('{"add":[{"value":"cat"}]}')).toMatchObject([{ value: "cat" }])
})

test("each problem has the line that it is on", async () => {
  const read = await rulesOf("# birds\nheron\n\nform:me\nheron\n#heron\n")
  expect(read).toMatchObject([
    { at: 2, value: "heron", problems: [] },
    { at: 4, value: "form:me" },
    { at: 5, value: "heron", problems: ["The same as line 2"] },
    { at: 6, value: "#heron", problems: [] },
  ])
  expect(read[1]?.problems[0]).toContain("Did you mean 'from'?")
  expect(await rulesOf('{"value":"cat"}\n{"valu":"dog"}\n{broken\n')).toMatchObject([
    { at: 1, problems: [] },
    { at: 2, problems: ["Must be a string, or an object with `value`"] },
    { at: 3, problems: [expect.any(String) as string] },
  ])
  expect(await rulesOf('[{"value":"cat","tag":5}]')).toMatchObject([{ at: 1, problems: ["`tag` must be a string"] }])
})

test("a text that cannot be read at all is refused with the reason", async () => {
  expect(await readRuleFile("[1,")).toMatchObject({ kind: "unreadable" })
  expect(await readRuleFile('{"pages":\n1}')).toMatchObject({ kind: "unreadable" })
  expect(await readRuleFile("- a: [")).toMatchObject({ kind: "unreadable" })
  const many = Array.from({ length: 25_001 }, (_, at) => `a${at}`).join("\n")
  expect(await readRuleFile(many)).toMatchObject({ kind: "unreadable" })
})
