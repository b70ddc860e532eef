/**
 * Reads of an app's rules, a hundred at a time: a list of a thousand long ones would else keep its thread for tens of
 * milliseconds, on either store.
 */
import type { AppId, RuleId } from "../../model/ids.ts"
import type { StoredRule } from "../../model/rule.ts"
import type { KeysetRange } from "../../store/keyset-range.ts"
import type { RuleReads } from "../../store/port/rule-store.ts"

/** Rules that one read returns at most. Ours: a hundred of the longest take some 3 ms. */
const rulesPerRead = 100

/** The rules of an app from the edge of a range on, in parts: the newest first, or with `newer` the oldest. */
export async function* rulesInParts(
  store: Pick<RuleReads, "rules">,
  appId: AppId,
  { direction, from, limit }: KeysetRange<RuleId>,
): AsyncGenerator<readonly StoredRule[], void, void> {
  let edge = from
  for (let left = limit; left > 0;) {
    const wanted = Math.min(rulesPerRead, left)
    const page = await store.rules(appId, { direction, ...(edge !== undefined && { from: edge }), limit: wanted })
    const part = direction === "newer" ? page.toReversed() : page
    if (part.length > 0) yield part
    if (part.length < wanted) return
    edge = part.at(-1)?.id
    left -= part.length
  }
}

/** The app's rules with these ids, in any order. */
export function rulesWithIds(
  store: Pick<RuleReads, "rules">,
  appId: AppId,
  ids: readonly RuleId[],
): Promise<readonly StoredRule[]> {
  return readInParts(ids, (some) => store.rules(appId, { direction: "older", limit: some.length }, some))
}

/** The app's rules with these values, in any order. */
export function rulesWithValues(
  store: Pick<RuleReads, "rulesByValue">,
  appId: AppId,
  values: readonly string[],
): Promise<readonly StoredRule[]> {
  return readInParts(values, (some) => store.rulesByValue(appId, some))
}

async function readInParts<Name>(
  names: readonly Name[],
  read: (some: readonly Name[]) => Promise<readonly StoredRule[]>,
): Promise<readonly StoredRule[]> {
  const found: StoredRule[] = []
  for (let at = 0; at < names.length; at += rulesPerRead)
    found.push(...(await read(names.slice(at, at + rulesPerRead))))
  return found
}
