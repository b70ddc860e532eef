/** The rule indexes of two processes that share a store. */
import { afterEach, beforeEach, expect, test } from "vitest"
import { RuleIndex } from "../matching/rule-index.ts"
import type { RuleId } from "../model/ids.ts"
import { systemClock as clock } from "../runtime/clock.ts"
import { Turns } from "../runtime/turns.ts"
import { openClusterStore, type ClusterStore } from "../store/cluster/serving/cluster-store.ts"
import type { ClusterSettings } from "../store/cluster/connection/connections.ts"
import { ClusterDatabase } from "../store/cluster/connection/database.ts"
import { listenForHints } from "../store/cluster/serving/hints.ts"
import { createTestDatabase, type TestDatabase } from "../store/cluster/connection/postgres.testing.ts"
import { anApp, app, aRule } from "../store/contract/fixtures.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { PostAcceptor } from "./accept-posts.ts"
import { forgetRuleChanges } from "./forget-rule-changes.ts"

interface Process {
  readonly store: ClusterStore
  readonly rules: RuleIndex
  /** Takes in posts with these ids, in one body. */
  readonly ingest: (ids: readonly number[]) => Promise<void>
}

let server: TestDatabase
let settings: ClusterSettings
let database: ClusterDatabase
let resources: AsyncDisposableStack

beforeEach(async () => {
  server = await createTestDatabase()
  settings = { url: server.url, poolMax: 2, statementMsMax: 30_000 }
  resources = new AsyncDisposableStack()
  database = resources.use(new ClusterDatabase(settings, () => undefined))
  const store = resources.use(await openClusterStore(settings, { sender: "test" }))
  await store.createApp(anApp(app), [])
})

afterEach(async () => {
  await resources.disposeAsync()
  await server[Symbol.asyncDispose]()
})

async function begin(sender: string, hints: { readonly arrive: boolean }): Promise<Process> {
  const store = resources.use(await openClusterStore(settings, { sender }))
  const rules = await RuleIndex.load(store)
  if (hints.arrive) {
    store.onChange((change) => {
      if (change.kind === "control") void rules.catchUp()
    })
    const closing = new AbortController()
    const listening = listenForHints(
      { settings, clock, sender, heard: (change) => store.announce(change) },
      closing.signal,
    )
    resources.defer(async () => {
      closing.abort()
      await listening
    })
  }
  const turns = new Turns(clock)
  const ruleMatchCounts = { note: () => undefined }
  return {
    store,
    rules,
    async ingest(ids) {
      const listener = { appending: () => undefined, appended: () => undefined, failed: () => undefined }
      const acceptor = new PostAcceptor(
        { store, rules, ruleMatchCounts, clock, postBytesMax: 262_144, turn: turns.open() },
        listener,
      )
      for (const id of ids) {
        await acceptor.write(Buffer.from(`{"data":{"id":"${id}","text":"a cat ${"and more ".repeat(100)}"}}\n`))
        await acceptor.flush()
      }
      await acceptor.end()
    },
  }
}

const rulesMax = 10_000

test("a change of rules by one process reaches the index of another within a second", async () => {
  const [one, two] = [await begin("one", { arrive: true }), await begin("two", { arrive: true })]
  await one.store.addRules(app, [aRule(app, "1", "cat")], { rulesMax })
  await expect.poll(() => two.rules.size, { timeout: 1_000 }).toBe(1)
  await two.store.deleteRules(app, { kind: "all" })
  await expect.poll(() => one.rules.size, { timeout: 1_000 }).toBe(0)
})

test("a post that comes after a change of rules is matched by it, though no hint arrives", async () => {
  const [one, two] = [await begin("one", { arrive: false }), await begin("two", { arrive: false })]
  await one.store.addRules(app, [aRule(app, "1", "cat")], { rulesMax })
  await two.ingest([1])
  await one.store.deleteRules(app, { kind: "all" })
  await two.ingest([2])
  const matches = await database.rows<{ id: string; seq: number }>(
    "SELECT post_id AS id, rules_seq AS seq FROM matches",
  )
  expect(matches).toEqual([{ id: "1", seq: 1 }])
})

test("an index continues when changes that it has not read are forgotten", async () => {
  const idle = await begin("idle", { arrive: false })
  await idle.store.addRules(app, [aRule(app, "1", "cat"), aRule(app, "2", "dog")], { rulesMax })
  await idle.rules.catchUp()
  const busy = await begin("busy", { arrive: false })
  await busy.store.deleteRules(app, { kind: "ids", ids: ["1" as RuleId] })
  await busy.store.addRules(app, [aRule(app, "3", "cat more")], { rulesMax })
  await database.run("UPDATE rule_changes SET changed_at = now() - interval '1 day'")
  await busy.store.forgetRuleChanges((await busy.store.allRules()).seq)
  await idle.ingest([1])
  expect(await database.rows("SELECT rules_seq AS seq, rules FROM matches")).toEqual([
    { seq: 4, rules: '[{"id":"3","tag":""}]' },
  ])
  expect(idle.rules.size).toBe(2)
})

test("changes that the index has applied are forgotten, at its start and every hour", async () => {
  const { store, rules } = await begin("one", { arrive: true })
  const history = async () => (await database.rows("SELECT seq FROM rule_changes")).length
  const change = async (id: string): Promise<void> => {
    await store.addRules(app, [aRule(app, id, `cat ${id}`)], { rulesMax })
    await rules.catchUp()
    await database.run("UPDATE rule_changes SET changed_at = now() - interval '61 minutes'")
  }
  await change("1")
  const manualClock = createManualClock()
  const closing = new AbortController()
  const forgetting = forgetRuleChanges({ store, rules, clock: manualClock }, closing.signal)
  await expect.poll(history).toBe(0)
  await change("2")
  expect(await history()).toBe(1)
  await manualClock.advance(3_600_000)
  await expect.poll(history).toBe(0)
  closing.abort()
  await forgetting
})

/** Rules after each change, oldest first. */
async function versions(): Promise<ReadonlyMap<number, readonly string[]>> {
  const changes = await database.rows<{ seq: number; id: string; value: string | null }>(
    "SELECT seq, rule_id AS id, value FROM rule_changes ORDER BY seq",
  )
  const ids = new Set<string>()
  return new Map(
    changes.map(({ seq, id, value }) => {
      if (value === null) ids.delete(id)
      else ids.add(id)
      return [seq, [...ids].toSorted((a, b) => Number(a) - Number(b))]
    }),
  )
}

test("while rules change, each post is matched by exactly the version that its match names, in every process", async () => {
  const [one, two] = [await begin("one", { arrive: true }), await begin("two", { arrive: true })]
  const range = (first: number): number[] => Array.from({ length: 150 }, (_, at) => first + at)
  const over = new AbortController()
  const changeRules = async (): Promise<void> => {
    for (let id = 1; !over.signal.aborted; id += 3) {
      // Several changes in one transaction: any version between them is one, too.
      const added = [0, 1, 2].map((more) => aRule(app, String(id + more), `cat -word${id + more}`))
      await one.store.addRules(app, added, { rulesMax })
      if (id > 12) await two.store.deleteRules(app, { kind: "ids", ids: [String(id - 12) as RuleId] })
    }
  }
  const changing = changeRules()
  await Promise.all([one.ingest(range(1_000)), one.ingest(range(2_000)), two.ingest(range(3_000))]).finally(() =>
    over.abort(),
  )
  await changing
  const known = await versions()
  const matches = await database.rows<{ seq: number; rules: string }>("SELECT rules_seq AS seq, rules FROM matches")
  const seen = new Set(matches.map(({ seq }) => seq))
  expect(matches.length).toBeGreaterThan(400)
  expect(seen.size).toBeGreaterThan(20)
  for (const { seq, rules } of matches) {
    expect((JSON.parse(rules) as { id: string }[]).map(({ id }) => id)).toEqual(known.get(seq))
  }
})
