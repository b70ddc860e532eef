import type { Envelope } from "@sluice/api"
import { expect, test } from "vitest"
import type { AppId, RuleId } from "../model/ids.ts"
import type { RuleChange, StoredRule } from "../model/rule.ts"
import { RuleIndex, type RuleSource } from "./rule-index.ts"

function aRule(id: string, value: string, app = "100", tag?: string): StoredRule {
  return { id: id as RuleId, appId: app as AppId, value, ...(tag !== undefined && { tag }) }
}

function aPost(text: string): Envelope {
  return { data: { id: "1", text } }
}

/** A source with these rules, whose changes the test appends. */
function sourceOf(rules: readonly StoredRule[]) {
  const changes: RuleChange[] = []
  const source: RuleSource = {
    allRules: async () => ({ rules, seq: 0 }),
    ruleChanges: async (after, limit) => changes.filter(({ seq }) => seq > after).slice(0, limit),
  }
  return {
    source,
    add: (rule: StoredRule) => changes.push({ seq: changes.length + 1, kind: "added", rule }),
    remove: ({ id, appId }: StoredRule) =>
      changes.push({ seq: changes.length + 1, kind: "removed", appId, ruleId: id }),
  }
}

test("matches are grouped by app, oldest rule first, with their tags", async () => {
  const { source } = sourceOf([
    aRule("10", "cat"),
    aRule("9", "cat OR dog", "100", "pets"),
    aRule("11", "dog"),
    aRule("30", "cat", "200"),
  ])
  const index = await RuleIndex.load(source)
  expect(index.size).toBe(4)
  expect(index.match(aPost("a cat"))).toEqual([
    { appId: "100", rules: [{ id: "9", tag: "pets" }, { id: "10" }] },
    { appId: "200", rules: [{ id: "30" }] },
  ])
  expect(index.match(aPost("a bird"))).toEqual([])
})

test("it follows the changes of its source, however many", async () => {
  const changing = sourceOf([aRule("1", "cat")])
  const index = await RuleIndex.load(changing.source)
  changing.remove(aRule("1", "cat"))
  for (let id = 2; id <= 2_500; id++) changing.add(aRule(String(id), `word${id}`))
  expect(index.match(aPost("a cat"))).toHaveLength(1)
  await index.catchUp()
  expect(index.size).toBe(2_499)
  expect(index.seq).toBe(2_500)
  expect(index.match(aPost("a cat, word2 and word2500"))).toEqual([
    { appId: "100", rules: [{ id: "2" }, { id: "2500" }] },
  ])
})

test("two who catch up at once take each change in once", async () => {
  const changing = sourceOf([])
  const index = await RuleIndex.load(changing.source)
  const rule = aRule("1", "cat")
  changing.add(rule)
  const first = index.catchUp()
  changing.remove(rule)
  await Promise.all([first, index.catchUp(), index.catchUp()])
  expect(index.size).toBe(0)
  expect(index.seq).toBe(2)
})

test("a change that comes twice changes nothing", async () => {
  const changing = sourceOf([aRule("1", "cat")])
  const index = await RuleIndex.load(changing.source)
  changing.add(aRule("1", "cat"))
  await index.catchUp()
  expect(index.size).toBe(1)
})

test("a stored rule that does not parse is our fault, and named", async () => {
  const { source } = sourceOf([aRule("7", "cat (")])
  await expect(RuleIndex.load(source)).rejects.toThrow("Stored rule 7 does not parse")
})
