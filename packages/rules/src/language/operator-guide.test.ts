import { expect, test } from "vitest"
import { operatorGuides } from "./operator-guide.ts"
import { parseRule } from "./parse-rule.ts"

test("every example is a rule, alone when it is standalone, and otherwise only next to one", () => {
  for (const { name, example, isStandalone } of operatorGuides) {
    const beside = name === "embedding_threshold" ? 'embedding:"cats"' : "cat"
    expect(parseRule(`${beside} ${example}`, { embeddings: true }), example).toMatchObject({ ok: true })
    expect(parseRule(example, { embeddings: true }).ok, example).toBe(isStandalone)
  }
})

test("operators of streams only, and those that need embeddings, are refused without", () => {
  for (const { example, isStreamOnly, needsEmbeddings } of operatorGuides) {
    if (needsEmbeddings) expect(parseRule(`cat ${example}`).ok, example).toBe(false)
    else expect(parseRule(`cat ${example}`, { mode: "search" }).ok, example).toBe(!isStreamOnly)
  }
})

test("every listed value is accepted", () => {
  for (const { name, values = [] } of operatorGuides)
    for (const value of values) {
      expect(parseRule(`cat ${value === "nullcast" ? "-" : ""}${name}:${value}`).ok, `${name}:${value}`).toBe(true)
    }
})
