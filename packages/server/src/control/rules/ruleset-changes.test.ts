import type { RulesChangedBody } from "@sluice/api"
import { ruleCost, parseRule } from "@sluice/rules"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { Static } from "typebox"
import { makeLinkHarness, withMethods, type LinkHarness } from "../../delivery/links/link-harness.testing.ts"
import { presentChange } from "../../http/present/rules.ts"
import type { AppId } from "../../model/ids.ts"
import { Problem } from "../../model/problem.ts"
import type { Clock } from "../../runtime/clock.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import { systemRandom } from "../../runtime/random.ts"
import { createSnowflakes } from "../../runtime/snowflakes.ts"
import { createRulesetChanges, type RulesetChanges, type RulesetChangesDeps } from "./ruleset-changes.ts"

const app = "1" as AppId
const add = { dryRun: false, deleteAll: false }
const dry = { dryRun: true, deleteAll: false }

let harness: LinkHarness
const clock = createManualClock()

beforeEach(async () => {
  harness = await makeLinkHarness()
  await harness.addLink("1", "100", "https://example.com/webhook")
})
afterEach(() => harness[Symbol.asyncDispose]())

/** Changes with what they did as the API shows it. */
interface PresentedChanges extends Pick<RulesetChanges, "costOf"> {
  change(...of: Parameters<RulesetChanges["change"]>): Promise<{ readonly body: ReturnType<typeof presentChange> }>
}

function changesWith(deps: Partial<RulesetChangesDeps> = {}): PresentedChanges {
  const changes = createRulesetChanges({
    store: harness.store,
    snowflakes: createSnowflakes(clock, systemRandom),
    clock,
    rulesPerAppMax: 2_000,
    ruleStepsPerAppMax: 1_000_000,
    ruleOptions: {},
    ...deps,
  })
  return {
    costOf: (appId) => changes.costOf(appId),
    change: async (...of) => ({ body: presentChange(await changes.change(...of), clock.nowMs()) }),
  }
}

function costOf(value: string): number {
  const parsed = parseRule(value)
  return parsed.ok ? ruleCost(parsed.rule) : Number.NaN
}

const words = (count: number, toValue = (at: number) => `word${at}`) =>
  Array.from({ length: count }, (_, at) => ({ value: toValue(at) }))

function valuesOf(body: Static<typeof RulesChangedBody>): readonly string[] {
  return (body.data ?? []).map(({ value }) => value)
}

test("a rule beyond an app's maximum cost is refused by itself, dry or not, and deletions make room", async () => {
  const near = (at: number): string => `"a${at} b${at}"~6`
  const ruleStepsPerAppMax = 2 * costOf(near(1)) + costOf("cat")
  const changes = changesWith({ ruleStepsPerAppMax })
  const asked = [near(1), near(2), near(3), "cat", "dog"].map((value) => ({ value }))
  for (const options of [dry, add]) {
    const { body } = await changes.change(app, { add: asked }, options)
    expect(valuesOf(body)).toEqual([near(1), near(2), "cat"])
    expect(body.errors).toMatchObject([
      {
        status: 403,
        title: "RuleCapExceeded",
        value: near(3),
        detail: expect.stringContaining(`costs ${costOf(near(3))} steps`) as string,
      },
      { value: "dog" },
    ])
  }
  expect(await changes.costOf(app)).toBe(ruleStepsPerAppMax)
  await changes.change(app, { delete: { values: [near(2)] } }, add)
  expect(await changes.costOf(app)).toBe(ruleStepsPerAppMax - costOf(near(2)))
  expect(valuesOf((await changes.change(app, { add: [{ value: near(4) }] }, add)).body)).toEqual([near(4)])
  // The cost that it keeps in memory equals the stored one.
  expect(await changesWith().costOf(app)).toBe(await changes.costOf(app))
  await changes.change(app, undefined, { dryRun: false, deleteAll: true })
  expect(await changes.costOf(app)).toBe(0)
})

test("a change by another process counts at once", async () => {
  const [one, two] = [changesWith({ isStoreShared: true }), changesWith({ isStoreShared: true })]
  const [cat, dog, fox] = ["cat", "dog OR bird", "fox OR cow OR hen"] as const
  await one.change(app, { add: [{ value: cat }] }, add)
  expect(await one.costOf(app)).toBe(costOf(cat))
  await two.change(app, { add: [{ value: dog }] }, add)
  expect(await one.costOf(app)).toBe(costOf(cat) + costOf(dog))
  await two.change(app, { delete: { values: [cat] } }, add)
  await two.change(app, { add: [{ value: fox }] }, add)
  expect(await one.costOf(app)).toBe(costOf(dog) + costOf(fox))
})

test("processes that add rules at the same time stay within the maximum cost together", async () => {
  const ruleStepsPerAppMax = 10 * costOf("word1")
  const processes = [1, 2, 3].map((process) => {
    const snowflakes = createSnowflakes(clock, systemRandom, { processNumber: process })
    return changesWith({ isStoreShared: true, ruleStepsPerAppMax, snowflakes })
  })
  for (const round of [0, 1]) {
    const added = processes.map((changes, at) =>
      changes.change(app, { add: words(3, (word) => `word${round}${at}${word}`) }, add),
    )
    await Promise.all(added)
  }
  expect(await harness.store.ruleCount(app)).toBe(10)
  expect(await processes[0]?.costOf(app)).toBe(ruleStepsPerAppMax)
})

test("a process that changes rules alone reads them once to know their cost", async () => {
  let lists = 0
  const store = withMethods(harness.store, {
    rules: (...args: Parameters<typeof harness.store.rules>) => {
      lists += 1
      return harness.store.rules(...args)
    },
  })
  const changes = changesWith({ store, isStoreShared: true })
  for (const value of ["cat", "dog", "fox"]) await changes.change(app, { add: [{ value }] }, add)
  await changes.change(app, { delete: { values: ["cat"] } }, add)
  expect(await changes.costOf(app)).toBe(costOf("dog") + costOf("fox"))
  expect(lists).toBe(1)
})

test("an app whose stored rules cost more than the maximum keeps them, and adds none", async () => {
  await changesWith().change(app, { add: words(100) }, add)
  const changes = changesWith({ ruleStepsPerAppMax: 100 })
  expect(await changes.costOf(app)).toBe(500)
  const { body } = await changes.change(app, { add: [{ value: "cat" }] }, add)
  expect(body.meta.summary).toMatchObject({ created: 0, not_created: 1 })
  expect(await harness.store.ruleCount(app)).toBe(100)
})

test("a dry run returns the same as the change, and writes nothing", async () => {
  await changesWith({ rulesPerAppMax: 8 }).change(app, { add: words(5) }, add)
  const writes: string[] = []
  const store = withMethods(harness.store, {
    addRules: (...args: Parameters<typeof harness.store.addRules>) => {
      writes.push("addRules")
      return harness.store.addRules(...args)
    },
    deleteRules: (...args: Parameters<typeof harness.store.deleteRules>) => {
      writes.push("deleteRules")
      return harness.store.deleteRules(...args)
    },
  })
  const changes = changesWith({ store, rulesPerAppMax: 8 })
  const rules = await harness.store.rulesByValue(app, ["word3"])
  const bodies = [
    { add: [...words(7), { value: "word6" }, { value: "((" }, { value: "cat" }, { value: "dog" }] },
    { delete: { values: ["word1", "missing", "word1"] } },
    { delete: { ids: [rules[0]?.id ?? "", "404"] } },
  ]
  for (const body of bodies) {
    const tried = await changes.change(app, body, dry)
    expect(writes).toEqual([])
    const done = await changes.change(app, body, add)
    expect(writes.splice(0)).toHaveLength(1)
    expect(done.body.meta.summary).toEqual(tried.body.meta.summary)
    expect(done.body.errors).toEqual(tried.body.errors)
    expect(valuesOf(done.body)).toEqual(valuesOf(tried.body))
  }
  const all = { dryRun: true, deleteAll: true }
  expect((await changes.change(app, undefined, all)).body.meta.summary).toEqual({
    deleted: 6,
    not_deleted: 0,
  })
  expect(writes).toEqual([])
})

test("a delete of values that no rule has reads a hundred at a time, and writes nothing", async () => {
  const reads: number[] = []
  let writes = 0
  const store = withMethods(harness.store, {
    rulesByValue: (...args: Parameters<typeof harness.store.rulesByValue>) => {
      reads.push(args[1].length)
      return harness.store.rulesByValue(...args)
    },
    deleteRules: (...args: Parameters<typeof harness.store.deleteRules>) => {
      writes += 1
      return harness.store.deleteRules(...args)
    },
  })
  const values = Array.from({ length: 1_000 }, (_, at) => `${at} ${"v".repeat(1_000)}`)
  const { body } = await changesWith({ store }).change(app, { delete: { values } }, add)
  expect(body.meta.summary).toEqual({ deleted: 0, not_deleted: 1_000 })
  expect([reads.length, Math.max(...reads), writes]).toEqual([10, 100, 0])
})

test("changes of one app are made one after the other, and those beyond sixteen are refused", async () => {
  const changes = changesWith()
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, at) => changes.change(app, { add: [{ value: `word${at}` }] }, add)),
  )
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(16)
  for (const result of results.slice(16)) {
    expect(result).toMatchObject({ reason: expect.any(Problem) as Problem })
    expect(result).toMatchObject({ reason: { status: 429 } })
  }
  expect(await harness.store.ruleCount(app)).toBe(16)
  // The queue is empty again.
  await changes.change(app, { add: [{ value: "cat" }] }, add)
  expect(await harness.store.ruleCount(app)).toBe(17)
})

test("a batch is parsed in turns, and the event loop runs each time that a turn is over", async () => {
  let reads = 0
  // Each look at the clock finds a turn's time gone.
  const hasty: Clock = { ...clock, monotonicMs: () => (reads += 10) }
  let rounds = 0
  let isDone = false
  const round = (): void => {
    rounds += 1
    if (!isDone) setImmediate(round)
  }
  setImmediate(round)
  const { body } = await changesWith({ clock: hasty }).change(app, { add: words(300) }, dry)
  isDone = true
  expect(valuesOf(body)).toEqual(words(300).map(({ value }) => value))
  expect(rounds).toBeGreaterThanOrEqual(300)
})

test("the details of an invalid rule have about a thousand characters at most", async () => {
  const value = Array.from({ length: 200 }, (_, at) => `unknown${at}:x`).join(" ")
  const { body } = await changesWith({ ruleOptions: { lengthMax: 10_000 } }).change(app, { add: [{ value }] }, add)
  const [error] = (body.errors ?? []) as unknown as { detail: string; details: readonly string[] }[]
  expect(error?.details.join("").length).toBeLessThan(1_100)
  expect(error?.detail.length).toBeLessThan(1_200)
  expect(error?.details.at(-1)).toMatch(/^… and \d+ more$/)
})

test("a batch that the store refuses leaves the cost as it is stored", async () => {
  const full = withMethods(harness.store, { addRules: () => Promise.reject(new Error("full")) })
  const changes = changesWith({ store: full })
  await expect(changes.change(app, { add: words(3) }, add)).rejects.toThrow("full")
  expect(await changes.costOf(app)).toBe(0)
})
