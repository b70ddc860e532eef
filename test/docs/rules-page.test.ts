/** The rules in docs/rules.md are valid, and match the texts that it says. */
import { readFileSync } from "node:fs"
import { evaluate, parseRule, readPost } from "@sluice/rules"
import { expect, test } from "vitest"

const page = readFileSync(new URL("../../docs/rules.md", import.meta.url), "utf8")

/** Code in the first cells of the tables of operators, but for bare names. */
const shown = page
  .slice(page.indexOf("## Operators"), page.indexOf("### Other names"))
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .flatMap((line) => Array.from((line.split("|")[1] ?? "").matchAll(/`([^`]+)`/g), ([, code = ""]) => code))
  .filter((code) => !code.endsWith(":"))

test.each(shown)("%s is valid next to a keyword", (code) => {
  expect(parseRule(`look ${code}`, { embeddings: true })).toMatchObject({ ok: true })
})

test("other names of an operator mean the same as the first one", () => {
  const table = page.slice(page.indexOf("### Other names"), page.indexOf("## Reposts"))
  const rows = Array.from(table.matchAll(/^\| `(\w+):` +\| `(\w+):` +\|$/gm), ([, other, name]) => [other, name])
  expect(rows.length).toBeGreaterThan(10)
  for (const [other, name] of rows) {
    const value = name === "bounding_box" ? "[13.2 52.4 13.5 52.5]" : "1"
    const parsed = parseRule(`look ${name}:${value}`)
    expect(parsed.ok).toBe(true)
    expect([other, parseRule(`look ${other}:${value}`)]).toEqual([other, parsed])
  }
})

test.each([
  ["STRASSE", "eine straße", true],
  ["cafe", "un café", false],
  ["cat", "a catalog", false],
  ["happy", "@happy_wren", true],
  ["猫", "黒猫が", true],
  ["👍", "good👍🏽", true],
  ["👍🏽", "good 👍", false],
  ['"the"', "the end", true],
  ['"dog hot"~3', "hot x dog", true],
  ['"dog hot"~3', "hot x x dog", false],
  ["#cat", "#cats", false],
  ["cat dog OR cow", "a cow", true],
  ["cat (dog OR cow)", "a cow", false],
  [String.raw`"say \"hi\""`, 'they say "hi"', true],
])("%s of %j: %s", (value, text, isFound) => {
  const parsed = parseRule(value)
  expect(parsed.ok && evaluate(parsed.rule, readPost({ data: { id: "1", text } }))).toBe(isFound)
})
