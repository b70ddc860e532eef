import { afterEach, beforeEach, expect, test } from "vitest"
import type { RuleId } from "../../../model/ids.ts"
import type { RuleChange, StoredRule } from "../../../model/rule.ts"
import { anApp, app, aRule, other } from "../../contract/fixtures.ts"
import { createAppWrites } from "./apps.ts"
import { ClusterDatabase } from "../connection/database.ts"
import { migrate } from "../connection/migrations.ts"
import { createTestDatabase, type TestDatabase } from "../connection/postgres.testing.ts"
import { createRuleReads, createRuleWrites } from "./rules.ts"

let server: TestDatabase
let database: ClusterDatabase
let apps: ReturnType<typeof createAppWrites>
let rules: ReturnType<typeof createRuleReads> & ReturnType<typeof createRuleWrites>

beforeEach(async () => {
  server = await createTestDatabase()
  const settings = { url: server.url, poolMax: 4, statementMsMax: 30_000 }
  database = new ClusterDatabase(settings, () => undefined)
  await migrate(database, settings)
  apps = createAppWrites(database, { clock: { nowMs: () => 1 } })
  rules = { ...createRuleReads(database), ...createRuleWrites(database) }
  for (const id of [app, other]) await apps.createApp(anApp(id), [])
})

afterEach(async () => {
  await database[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const rulesMax = 1_000_000

/** Rules of `app` with these numbers as ids. */
function rulesFrom(first: number, count: number, value = "rule"): StoredRule[] {
  return Array.from({ length: count }, (_, at) => aRule(app, String(first + at), `${value} ${first + at}`))
}

test("a matcher that follows the changes of several writers misses no change", async () => {
  const followed = new Set<RuleId>()
  let seq = 0
  let isOver = false
  const follow = async (): Promise<void> => {
    for (let isLast = false; !isLast;) {
      const wasOver = isOver
      const changes = (await rules.ruleChanges(seq, 7)) ?? []
      for (const change of changes) if (change.kind === "added") followed.add(change.rule.id)
      seq = changes.at(-1)?.seq ?? seq
      isLast = wasOver && changes.length === 0
    }
  }
  const following = follow()
  const writers = Array.from({ length: 20 }, (_, at) => rules.addRules(app, rulesFrom(at * 5, 5), { rulesMax }))
  await Promise.all(writers).finally(() => (isOver = true))
  await following
  expect(followed.size).toBe(100)
  expect(seq).toBe(100)
})

test("several concurrent writers never exceed the maximum number of rules, or add a value twice", async () => {
  const outcomes = await Promise.all(
    [1, 101, 201, 301].map((first) =>
      rules.addRules(app, [aRule(app, String(first), "the same"), ...rulesFrom(first + 1, 9)], { rulesMax: 20 }),
    ),
  )
  const kinds = outcomes.flat().map(({ kind }) => kind)
  expect(kinds.filter((kind) => kind === "created")).toHaveLength(20)
  expect(kinds.filter((kind) => kind === "duplicate")).toHaveLength(3)
  expect(await rules.ruleCount(app)).toBe(20)
})

test("changes are forgotten after an hour, and a reader that has not read them by then is notified", async () => {
  await rules.addRules(app, rulesFrom(1, 3), { rulesMax })
  await rules.forgetRuleChanges(3)
  expect(await rules.ruleChanges(0, 10)).toHaveLength(3)
  await database.run("UPDATE rule_changes SET changed_at = now() - interval '61 minutes' WHERE seq <= 2")
  await rules.forgetRuleChanges(3)
  expect(await rules.ruleChanges(0, 10)).toBeUndefined()
  expect(await rules.ruleChanges(1, 10)).toBeUndefined()
  const third: RuleChange = { seq: 3, kind: "added", rule: aRule(app, "3", "rule 3") }
  expect(await rules.ruleChanges(2, 10)).toEqual([third])
  await database.run("UPDATE rule_changes SET changed_at = now() - interval '61 minutes'")
  await rules.forgetRuleChanges(3)
  expect(await rules.ruleChanges(3, 10)).toEqual([])
  expect(await rules.ruleChanges(2, 10)).toBeUndefined()
})

test("a reader that is ahead of a store that was set back is notified", async () => {
  await rules.addRules(app, rulesFrom(1, 3), { rulesMax })
  expect(await rules.ruleChanges(4, 10)).toBeUndefined()
})

test("many rules are deleted in several statements, and a revoked app's rules are no longer matched", async () => {
  const many = rulesFrom(1, 10_001)
  await rules.addRules(app, many, { rulesMax })
  await rules.addRules(other, [aRule(other, "20000", "theirs")], { rulesMax })
  expect(await rules.deleteRules(app, { kind: "all" })).toEqual(many)
  expect(await rules.ruleCount(app)).toBe(0)
  const before = 20_003
  expect((await rules.allRules()).seq).toBe(before)
  await rules.addRules(app, many, { rulesMax })
  await apps.revokeApp(app)
  const removed = (await rules.ruleChanges(before + many.length, 20_000)) ?? []
  expect(removed.map((change) => change.kind === "removed" && change.ruleId)).toEqual(many.map(({ id }) => id))
  expect((await Array.fromAsync((await rules.allRules()).rules)).map(({ id }) => id)).toEqual(["20000"])
})

test("while a great many rules are deleted, others change theirs", async () => {
  await rules.addRules(app, rulesFrom(1, 50_000), { rulesMax })
  const deletion = { isOver: false }
  const deleting = rules.deleteRules(app, { kind: "all" }).finally(() => (deletion.isOver = true))
  let addedMeanwhile = 0
  for (let id = 100_000; !deletion.isOver; id += 1) {
    await rules.addRules(other, [aRule(other, String(id), `theirs ${id}`)], { rulesMax })
    if (!deletion.isOver) addedMeanwhile += 1
  }
  expect(await deleting).toHaveLength(50_000)
  expect(addedMeanwhile).toBeGreaterThanOrEqual(2)
})

test("all rules are read in chunks of bounded rows and bytes, with one rule at least", async () => {
  const long = rulesFrom(1, 5, "x".repeat(3_000_000))
  const short = rulesFrom(10, 4_001)
  await rules.addRules(app, long, { rulesMax })
  await rules.addRules(app, short, { rulesMax })
  expect(await Array.fromAsync((await rules.allRules()).rules)).toEqual([...long, ...short])
})

test("a text that PostgreSQL does not accept is a value that no rule has, and is replaced in a tag", async () => {
  await rules.addRules(app, [aRule(app, "1", "cat", "a\0b")], { rulesMax })
  expect(await rules.rulesByValue(app, ["c\0t", "cat"])).toEqual([aRule(app, "1", "cat", "a\uFFFDb")])
  expect(await rules.deleteRules(app, { kind: "values", values: ["c\0t"] })).toEqual([])
  expect(await rules.setRuleTag(app, "1" as RuleId, "\0")).toBe(true)
  expect(await rules.rulesByValue(app, ["cat"])).toEqual([aRule(app, "1", "cat", "\uFFFD")])
})
