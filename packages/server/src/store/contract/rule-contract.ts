import { describe, expect, test } from "vitest"
import type { RuleId } from "../../model/ids.ts"
import type { StoredRule } from "../../model/rule.ts"
import { AppRevoked } from "../store-faults.ts"
import { turnsOf } from "../../runtime/turns.testing.ts"
import { allOlder, app, aRule, cap, large, liveRules, other } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

/** Every store's behaviour for rules and the changes of rulesets. */
export function ruleContract(make: MakeStore): void {
  describe("rules", () => {
    const { store, reopen } = useStore(make)

    test("rules are listed newest first, with their tags, within their app", async () => {
      const added = await store.addRules(app, [aRule("100", "1", "cat"), aRule("100", large[0], "dog", "pets")], cap)
      await store.addRules(other, [aRule("200", "3", "cat")], cap)
      await reopen()
      expect(added).toEqual([{ kind: "created" }, { kind: "created" }])
      expect(await store.rules(app, allOlder)).toEqual([
        aRule("100", large[0], "dog", "pets"),
        aRule("100", "1", "cat"),
      ])
      expect(await store.ruleCount(app)).toBe(2)
    })

    test("a revoked app gets no rules and no tags, so that none of them is matched again", async () => {
      await store.addRules(app, [aRule("100", "1", "cat")], cap)
      await store.revokeApp(app)
      const before = await store.ruleChanges(0, 100)
      await expect(store.addRules(app, [aRule("100", large[0], "dog")], cap)).rejects.toThrow(AppRevoked)
      await expect(store.setRuleTag(app, "1" as RuleId, "pets")).rejects.toThrow(AppRevoked)
      expect(await store.ruleChanges(0, 100)).toEqual(before)
      expect(await liveRules(store)).toEqual([])
    })

    test("the match counts of a rule add up, survive a reopening and are deleted with the rule", async () => {
      await store.addRules(app, [aRule("100", "1", "cat"), aRule("100", large[0], "dog")], cap)
      const counted = (id: string, matched: number, lastMatchedAtMs: number) => ({
        ruleId: id as RuleId,
        matched,
        lastMatchedAtMs,
      })
      await store.countRuleMatches([counted("1", 2, 50), counted(large[0], 1, 60), counted("404", 9, 70)])
      await store.countRuleMatches([counted("1", 3, 40)])
      await reopen()
      const ids = ["1", large[0], "404"] as RuleId[]
      expect(await store.ruleMatches(ids)).toEqual([counted("1", 5, 50), counted(large[0], 1, 60)])
      await store.deleteRules(app, { kind: "ids", ids: ["1" as RuleId] })
      await store.addRules(app, [aRule("100", "1", "cat")], cap)
      expect(await store.ruleMatches(ids)).toEqual([counted(large[0], 1, 60)])
    })

    test("a rule gets another tag and keeps its id, matches and place, and the matcher is notified", async () => {
      await store.addRules(app, [aRule("100", "1", "cat", "old"), aRule("100", "2", "dog")], cap)
      await store.countRuleMatches([{ ruleId: "1" as RuleId, matched: 4, lastMatchedAtMs: 9 }])
      const { seq } = await store.allRules()
      expect(await store.setRuleTag(app, "1" as RuleId, "new")).toBe(true)
      expect(await store.setRuleTag(other, "1" as RuleId, "theirs")).toBe(false)
      expect(await store.setRuleTag(app, "404" as RuleId, "none")).toBe(false)
      await reopen()
      expect(await store.rules(app, allOlder)).toEqual([aRule("100", "2", "dog"), aRule("100", "1", "cat", "new")])
      expect(await store.ruleMatches(["1" as RuleId])).toMatchObject([{ matched: 4 }])
      // One change: between two, posts would be matched without the rule.
      expect(await store.ruleChanges(seq, 10)).toEqual([
        { seq: seq + 1, kind: "added", rule: aRule("100", "1", "cat", "new") },
      ])
      expect(await store.setRuleTag(app, "1" as RuleId, undefined)).toBe(true)
      expect(await store.rules(app, allOlder, ["1" as RuleId])).toEqual([aRule("100", "1", "cat")])
    })

    test("a page of rules starts after the id it is given, either way", async () => {
      const rules = ["1", "9", "10", "11", large[1]].map((id) => aRule("100", id, `rule ${id}`))
      await store.addRules(app, rules, cap)
      const page = async (direction: "older" | "newer", from: string, ids?: string[]) =>
        (await store.rules(app, { direction, from: from as RuleId, limit: 2 }, ids as RuleId[])).map((rule) => rule.id)
      expect(await page("older", "10")).toEqual(["9", "1"])
      expect(await page("newer", "9")).toEqual(["11", "10"])
      expect(await page("newer", "1", ["9", large[1], "11"])).toEqual(["11", "9"])
      expect(await page("older", "11", ["9", "10", "404"])).toEqual(["10", "9"])
    })

    test("a value that the app has already is a duplicate, within a batch too", async () => {
      await store.addRules(app, [aRule("100", "1", "cat")], cap)
      const outcome = await store.addRules(
        app,
        [aRule("100", "2", "cat"), aRule("100", "3", "dog"), aRule("100", "4", "dog")],
        cap,
      )
      expect(outcome).toEqual([{ kind: "duplicate", id: "1" }, { kind: "created" }, { kind: "duplicate", id: "3" }])
    })

    test("rules over the cap are not added, and those before it are", async () => {
      const rules = ["a", "b", "c"].map((value, index) => aRule("100", String(index + 1), value))
      const outcome = await store.addRules(app, rules, { rulesMax: 2 })
      expect(outcome.map((added) => added.kind)).toEqual(["created", "created", "over-cap"])
      expect(await store.ruleCount(app)).toBe(2)
    })

    test("no rule is added when the app's rules, not those of another, have changed since they were read", async () => {
      await store.addRules(app, [aRule("100", "1", "a")], cap)
      const { seq } = await store.allRules()
      const options = { ...cap, unchangedSince: seq }
      await store.addRules(other, [aRule("200", "9", "theirs")], cap)
      expect(await store.addRules(app, [aRule("100", "2", "b")], options)).toEqual([{ kind: "created" }])
      expect(await store.addRules(app, [aRule("100", "3", "c"), aRule("100", "4", "d")], options)).toEqual([
        { kind: "ruleset-changed" },
        { kind: "ruleset-changed" },
      ])
      expect(await store.ruleCount(app)).toBe(2)
    })

    test("rules are found by their values, never another app's", async () => {
      await store.addRules(app, [aRule("100", "1", "a", "t"), aRule("100", "2", "b")], cap)
      await store.addRules(other, [aRule("200", "9", "c")], cap)
      expect(await store.rulesByValue(app, ["c", "b", "missing", "a"])).toEqual([
        aRule("100", "2", "b"),
        aRule("100", "1", "a", "t"),
      ])
      expect(await store.rulesByValue(app, [])).toEqual([])
    })

    test("rules are deleted by id, by value or all, never another app's", async () => {
      await store.addRules(
        app,
        ["a", "b", "c", "d"].map((value, i) => aRule("100", String(i + 1), value)),
        cap,
      )
      await store.addRules(other, [aRule("200", "9", "a")], cap)
      const ids = ["1", "9", "404"] as RuleId[]
      expect(await store.deleteRules(app, { kind: "ids", ids })).toEqual([aRule("100", "1", "a")])
      const values = ["a", "b"]
      expect(await store.deleteRules(app, { kind: "values", values })).toEqual([aRule("100", "2", "b")])
      expect(await store.deleteRules(app, { kind: "all" })).toHaveLength(2)
      expect(await store.ruleCount(other)).toBe(1)
    })

    test("all rules are read in turns, however many and long they are", async () => {
      const value = "x".repeat(2_000)
      const rules = Array.from({ length: 1_200 }, (_, at) => aRule("100", String(at + 1), `${value}${at}`))
      await store.addRules(app, rules, { rulesMax: 2_000 })
      await store.addRules(other, [aRule("200", large[0], "last")], cap)
      let found: readonly StoredRule[] = []
      const turns = await turnsOf(async () => {
        found = await liveRules(store)
      })
      expect(found).toEqual([...rules, aRule("200", large[0], "last")])
      expect(turns).toBeGreaterThanOrEqual(2)
    })

    test("the changes of rulesets lead from any state to the present one", async () => {
      await store.addRules(app, [aRule("100", "1", "cat", "t")], cap)
      const { seq } = await store.allRules()
      expect(await liveRules(store)).toEqual([aRule("100", "1", "cat", "t")])
      await store.deleteRules(app, { kind: "all" })
      await store.addRules(other, [aRule("200", "2", "dog")], cap)
      const changes = (await store.ruleChanges(seq, 10)) ?? []
      expect(changes).toMatchObject([
        { kind: "removed", appId: "100", ruleId: "1" },
        { kind: "added", rule: aRule("200", "2", "dog") },
      ])
      expect(await store.ruleChanges(changes.at(-1)?.seq ?? 0, 10)).toEqual([])
    })

    test("after changes of rulesets are forgotten, later ones are read as before", async () => {
      await store.addRules(app, [aRule("100", "1", "cat"), aRule("100", "2", "dog")], cap)
      const { seq } = await store.allRules()
      await store.forgetRuleChanges(seq)
      await reopen()
      await store.addRules(app, [aRule("100", "3", "bird")], cap)
      const [change] = (await store.ruleChanges(seq, 10)) ?? []
      expect(change).toMatchObject({ kind: "added", rule: { id: "3" } })
      expect(change?.seq).toBeGreaterThan(seq)
      expect(await liveRules(store)).toHaveLength(3)
    })

    test("a reader that is behind the forgotten changes gets all changes after its position, or none at all", async () => {
      await store.addRules(app, [aRule("100", "1", "cat"), aRule("100", "2", "dog")], cap)
      await store.forgetRuleChanges((await store.allRules()).seq)
      await reopen()
      expect([undefined, ["1", "2"]]).toContainEqual(await addedAfter(0))
      expect([undefined, ["2"]]).toContainEqual(await addedAfter(1))
      expect(await addedAfter((await store.allRules()).seq)).toEqual([])
      await store.addRules(app, [aRule("100", "3", "bird")], cap)
      expect([undefined, ["1", "2", "3"]]).toContainEqual(await addedAfter(0))
      expect(await addedAfter(2)).toEqual(["3"])
      // A store that was set back: the reader is ahead of it.
      expect(await addedAfter(9)).toBeUndefined()
    })

    /** The ids of the rules that the changes after a position add; `undefined` when some of them are forgotten. */
    async function addedAfter(seq: number): Promise<readonly RuleId[] | undefined> {
      const changes = await store.ruleChanges(seq, 10)
      return changes?.flatMap((change) => (change.kind === "added" ? [change.rule.id] : []))
    }
  })
}
