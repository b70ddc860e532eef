import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { messagesOf } from "../testing/matches.testing.ts"
import type { Mode } from "../text/mode.ts"
import { operatorGuides, proximityModesOfX } from "./operator-guide.ts"
import { parseRule } from "./parse-rule.ts"

test("every example is a rule, alone when it is standalone, and otherwise only next to one", () => {
  for (const { name, example, isStandalone } of operatorGuides) {
    const beside = name === "embedding_threshold" ? 'embedding:"cats"' : "cat"
    expect(parseRule(`${beside} ${example}`, { embeddings: true }), example).toMatchObject({ ok: true })
    expect(parseRule(example, { embeddings: true }).ok, example).toBe(isStandalone)
  }
})

describe.each<Mode>(["stream", "search"])("in the mode %s", (mode) => {
  test("every operator is available, except for those that need embeddings", () => {
    for (const { name, example, needsEmbeddings } of operatorGuides) {
      const beside = name === "embedding_threshold" ? 'embedding:"cats"' : "cat"
      expect(parseRule(`${beside} ${example}`, { mode, embeddings: true }).ok, example).toBe(true)
      expect(parseRule(`${beside} ${example}`, { mode }).ok, example).toBe(!needsEmbeddings)
    }
  })

  test("the strict dialect refuses the operators that X does not have, in its words, and no other", () => {
    for (const { name, example, modesOfX } of operatorGuides) {
      const beside = name === "embedding_threshold" ? 'embedding:"cats"' : "cat"
      const messages = messagesOf(`${beside} ${example}`, { mode, embeddings: true, strict: true })
      if (modesOfX.includes(mode)) expect(messages, example).toEqual([])
      else
        expect(messages.at(-1), example).toContain(`Reference to invalid operator '${name}'. Operator is not available`)
    }
  })
})

test("the table of docs/rules.md says where X has each operator", () => {
  const page = readFileSync(new URL("../../../../docs/rules.md", import.meta.url), "utf8")
  const section = page.slice(page.indexOf("### Operators of one of the two"), page.indexOf("## Similarity"))
  const rows = Array.from(
    section.matchAll(/^\| (.+?) +\| (yes|no) +\| (yes|no) +\|$/gm),
    ([, cell = "", search, stream]) =>
      Array.from(cell.matchAll(/`(\w+:|"hot dog"~3)`/g), ([, name = ""]) => [name, search, stream].join(" ")),
  )
  const expected = operatorGuides.map(({ name, modesOfX }) => ({ name: `${name}:`, modesOfX }))
  expected.push({ name: '"hot dog"~3', modesOfX: proximityModesOfX })
  const isIn = (modes: readonly Mode[], mode: Mode) => (modes.includes(mode) ? "yes" : "no")
  const lines = expected.map(({ name, modesOfX }) =>
    [name, isIn(modesOfX, "search"), isIn(modesOfX, "stream")].join(" "),
  )
  expect(rows.flat().toSorted()).toEqual(lines.toSorted())
})

test("every listed value is accepted", () => {
  for (const { name, values = [] } of operatorGuides)
    for (const value of values) {
      expect(parseRule(`cat ${value === "nullcast" ? "-" : ""}${name}:${value}`).ok, `${name}:${value}`).toBe(true)
    }
})
