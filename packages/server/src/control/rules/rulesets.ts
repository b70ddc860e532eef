/** The ruleset of each app: changing, listing and counting its rules. */
import type { AppId, RuleId } from "../../model/ids.ts"
import type { RuleMatches, StoredRule } from "../../model/rule.ts"
import { withinKeyset } from "../../store/keyset-range.ts"
import type { KeysetRange } from "../../store/keyset-range.ts"
import { rulesInParts, rulesWithIds } from "./stored-rules.ts"
import { createRulesetChanges, type RulesetChanges, type RulesetChangesDeps } from "./ruleset-changes.ts"

/** The rulesets of all apps. */
export interface Rulesets extends Pick<RulesetChanges, "change"> {
  /** Steps of the matcher that the app's rules cost together, and may cost. */
  cost(appId: AppId): Promise<{ readonly cost: number; readonly costMax: number }>
  /** Newest first: of all rules, or of `among`. */
  list(appId: AppId, range: KeysetRange<RuleId>, among?: readonly StoredRule[]): Promise<readonly StoredRule[]>
  /** The app's rules among these ids, in any order. */
  named(appId: AppId, ids: readonly RuleId[]): Promise<readonly StoredRule[]>
  /** The rules of a range that contain the text, and where a long search stopped: after 5,000 rules. */
  search(
    appId: AppId,
    range: KeysetRange<RuleId>,
    text: string,
  ): Promise<{ readonly items: readonly StoredRule[]; readonly stoppedAt?: RuleId }>
  /** The statistics of these rules; rules that never matched are left out. */
  matches(appId: AppId, rules: readonly StoredRule[]): Promise<ReadonlyMap<RuleId, RuleMatches>>
  /** Gives a rule another tag, or none when it is empty, and returns the rule. Absent when the app has no such rule. */
  setTag(appId: AppId, id: RuleId, tag: string): Promise<StoredRule | undefined>
  /** The number of the app's rules. */
  count(appId: AppId): Promise<number>
}

/** The rulesets kept in a store. */
export function createRulesets(deps: RulesetChangesDeps): Rulesets {
  const { store, ruleStepsPerAppMax } = deps
  const changes = createRulesetChanges(deps)
  return {
    change: (appId, body, options) => changes.change(appId, body, options),
    cost: async (appId) => ({ cost: await changes.costOf(appId), costMax: ruleStepsPerAppMax }),
    list: async (appId, range, among) =>
      among === undefined ? listRules(store, appId, range) : withinKeyset(among, range),
    named: (appId, ids) => rulesWithIds(store, appId, ids),
    search: (appId, range, text) => searchRules(store, appId, range, text),
    async matches(appId, rules) {
      const ids = rules.map(({ id }) => id)
      return new Map((await store.ruleMatches(ids, appId)).map((one) => [one.ruleId, one]))
    },
    async setTag(appId, id, tag) {
      const isThere = await store.setRuleTag(appId, id, tag === "" ? undefined : tag)
      return isThere ? (await store.rules(appId, { direction: "older", limit: 1 }, [id]))[0] : undefined
    },
    count: (appId) => store.ruleCount(appId),
  }
}

/** Most rules that one search reads. Ours: some 10 ms. */
const searchedMax = 5_000

async function searchRules(
  store: Pick<RulesetChangesDeps["store"], "rules">,
  appId: AppId,
  { limit, ...range }: KeysetRange<RuleId>,
  text: string,
): ReturnType<Rulesets["search"]> {
  const wanted = text.toLowerCase()
  const isFound = ({ id, value, tag = "" }: StoredRule): boolean =>
    id === text || value.toLowerCase().includes(wanted) || tag.toLowerCase().includes(wanted)
  const found: StoredRule[] = []
  let searched = 0
  let last: RuleId | undefined
  for await (const part of rulesInParts(store, appId, { ...range, limit: searchedMax })) {
    found.push(...part.filter(isFound))
    searched += part.length
    last = part.at(-1)?.id
    if (found.length >= limit) return { items: newestFirst(found.slice(0, limit), range.direction) }
  }
  const items = newestFirst(found, range.direction)
  return { items, ...(searched === searchedMax && last !== undefined && { stoppedAt: last }) }
}

async function listRules(
  store: Pick<RulesetChangesDeps["store"], "rules">,
  appId: AppId,
  range: KeysetRange<RuleId>,
): Promise<readonly StoredRule[]> {
  const found: StoredRule[] = []
  for await (const part of rulesInParts(store, appId, range)) found.push(...part)
  return newestFirst(found, range.direction)
}

function newestFirst(rules: readonly StoredRule[], direction: KeysetRange<RuleId>["direction"]): readonly StoredRule[] {
  return direction === "newer" ? rules.toReversed() : rules
}
