import { expect, test } from "vitest"
import { readStoredRules, storedRules } from "./stored-rules.ts"

const hostileTag = '","id":"9"} {"id":"8"} \\'

test("the rules of a match are read as they were stored, whatever their tags hold", () => {
  const rules = [
    { id: "1", tag: hostileTag },
    { id: "2", tag: "" },
    { id: "3", tag: "", embedding_similarity: 0.5, embedding_threshold: 0.3 },
  ]
  expect(readStoredRules(storedRules({ rules }))).toEqual({ rulesJson: JSON.stringify(rules) })
  const withOmitted = readStoredRules(storedRules({ rules, omitted: 7 }))
  expect(withOmitted).toEqual({ rulesJson: JSON.stringify(rules), rulesOmitted: 7 })
})

test("a rule that an earlier version stored without a tag has an empty one", () => {
  const earlier = [{ id: "1" }, { id: "2", tag: hostileTag }, { id: "3", embedding_similarity: 0.5 }, { id: "44" }]
  const now = [
    { id: "1", tag: "" },
    { id: "2", tag: hostileTag },
    { id: "3", tag: "", embedding_similarity: 0.5 },
    { id: "44", tag: "" },
  ]
  const list = JSON.stringify(earlier)
  expect(readStoredRules(list)).toEqual({ rulesJson: JSON.stringify(now) })
  expect(readStoredRules(`{"omitted":7,"rules":${list}}`)).toEqual({ rulesJson: JSON.stringify(now), rulesOmitted: 7 })
})
