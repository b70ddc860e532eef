import { expect, test } from "vitest"
import type { AppId, RuleId } from "../../model/ids.ts"
import { MemoryState, MemoryStore } from "../../store/memory/memory-store.testing.ts"
import { rulesInParts, rulesWithIds } from "./stored-rules.ts"

const appId = "1" as AppId

/** A store with so many rules, and the most that one read of it returned. */
async function storeWith(count: number) {
  const store = new MemoryStore(new MemoryState())
  const added = Array.from({ length: count }, (_, at) => ({ id: String(at + 1) as RuleId, appId, value: `r${at}` }))
  await store.addRules(appId, added, { rulesMax: count })
  const sizes: number[] = []
  const rules: MemoryStore["rules"] = async (...args) => {
    const read = await store.rules(...args)
    sizes.push(read.length)
    return read
  }
  return { ids: added.map(({ id }) => id), sizes, store: { rules } }
}

test("a list of a thousand rules is read at most a hundred at a time, either way", async () => {
  for (const direction of ["older", "newer"] as const) {
    const { ids, sizes, store } = await storeWith(1_050)
    const found = (await Array.fromAsync(rulesInParts(store, appId, { direction, limit: 1_001 }))).flat()
    const inOrder = direction === "older" ? ids.toReversed() : ids
    expect(found.map(({ id }) => id)).toEqual(inOrder.slice(0, 1_001))
    expect(Math.max(...sizes)).toBe(100)
  }
})

test("a list ends where its rules end, and reads no more than its limit", async () => {
  const { sizes, store } = await storeWith(250)
  const parts = await Array.fromAsync(rulesInParts(store, appId, { direction: "older", limit: Infinity }))
  expect(parts.map(({ length }) => length)).toEqual([100, 100, 50])
  await Array.fromAsync(rulesInParts(store, appId, { direction: "older", limit: 101, from: "201" as RuleId }))
  expect(sizes.slice(3)).toEqual([100, 1])
})

test("rules by ids are read at most a hundred at a time, and missing ones are left out", async () => {
  const { ids, sizes, store } = await storeWith(250)
  const found = await rulesWithIds(store, appId, [...ids, "9999" as RuleId])
  expect(found.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
  expect(Math.max(...sizes)).toBe(100)
})
