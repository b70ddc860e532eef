/** The rule indexes of two threads that share an embedded store. */
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { RuleIndex } from "../matching/rule-index.ts"
import type { RuleId } from "../model/ids.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { anApp, app, aRule, cap } from "../store/contract/fixtures.ts"
import { openEmbeddedStore } from "../store/embedded/serving/embedded-store.ts"
import { forgetRuleChanges } from "./forget-rule-changes.ts"

test("an index takes in the changes that another one has had forgotten before it read them", async () => {
  await using directory = await temporaryDirectory()
  await using store = await openEmbeddedStore({ file: join(directory.path, "sluice.db") })
  await store.createApp(anApp(app), [])
  await store.addRules(app, [aRule(app, "1", "cat"), aRule(app, "2", "dog")], cap)
  const [fast, slow] = [await RuleIndex.load(store), await RuleIndex.load(store)]
  await store.deleteRules(app, { kind: "ids", ids: ["1" as RuleId] })
  await store.addRules(app, [aRule(app, "3", "bird"), aRule(app, "4", "fish")], cap)
  await fast.catchUp()
  const forgotten = new AbortController()
  const rules = {
    get seq() {
      forgotten.abort()
      return fast.seq
    },
  }
  await forgetRuleChanges({ store, rules, clock: createManualClock() }, forgotten.signal)
  await store.addRules(app, [aRule(app, "5", "horse")], cap)
  for (const index of [slow, fast]) {
    await index.catchUp()
    expect([index.size, index.seq]).toEqual([4, 6])
  }
})

test("an index that is loaded when all changes are forgotten follows the next one", async () => {
  await using directory = await temporaryDirectory()
  await using store = await openEmbeddedStore({ file: join(directory.path, "sluice.db") })
  await store.createApp(anApp(app), [])
  await store.addRules(app, [aRule(app, "1", "cat")], cap)
  await store.forgetRuleChanges((await store.allRules()).seq)
  const index = await RuleIndex.load(store)
  expect([index.size, index.seq]).toEqual([1, 1])
  await store.addRules(app, [aRule(app, "2", "dog")], cap)
  await index.catchUp()
  expect([index.size, index.seq]).toEqual([2, 2])
})
