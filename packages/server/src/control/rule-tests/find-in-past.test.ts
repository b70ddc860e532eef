import { snowflakeEpochMs, type Envelope } from "@sluice/api"
import { beforeEach, expect, test } from "vitest"
import type { PostId, RuleId } from "../../model/ids.ts"
import { backfillGraceMs, type BackfillPart } from "../../model/replay.ts"
import { aPost, app, other } from "../../store/contract/fixtures.ts"
import { MemoryState, MemoryStore } from "../../store/memory/memory-store.testing.ts"
import { findInPast } from "./find-in-past.ts"

const addedAtMs = Date.UTC(2026, 2, 14, 12)
const idAt = (atMs: number, number = 0): string =>
  ((BigInt(atMs - snowflakeEpochMs) << 22n) + BigInt(number)).toString()
const before = (seconds: number): string => idAt(addedAtMs - seconds * 1_000)
const ruleId = (number: number): RuleId => idAt(addedAtMs, number) as RuleId

let store: MemoryStore

beforeEach(() => {
  store = new MemoryStore(new MemoryState())
})

async function append(id: string, text: string, matched: { appId?: typeof app; rules?: readonly string[] } = {}) {
  const { appId = app, rules } = matched
  const envelope = JSON.stringify({ data: { id, text } } satisfies Envelope)
  const matches = rules === undefined ? [] : [{ appId, rules: rules.map((rule) => ({ id: rule, tag: "" })) }]
  await store.append([{ post: aPost(id, "7", { envelope }), matches }], 0)
}

function find(values: readonly string[], part: Partial<BackfillPart> = {}) {
  const rules = values.map((value, index) => ({ id: ruleId(index), value, tag: index === 0 ? "" : `tag ${index}` }))
  const all: BackfillPart = {
    appId: app,
    rules,
    after: "0" as PostId,
    lastId: idAt(addedAtMs + 3_600_000) as PostId,
    limit: 100,
    ...part,
  }
  return findInPast(all, { store, pause: () => undefined })
}

test("the matches of several rules are found in the order of ids, each post with the rules that it matches", async () => {
  await append(before(1), "a cat and a dog")
  await append(before(3), "a cat")
  await append(before(2), "a bird")
  await append(before(4), "Dog!")
  const { matches, searchedId } = await find(["cat", "dog"])
  expect(matches).toEqual([
    { postId: before(4), rules: [{ id: ruleId(1), tag: "tag 1" }] },
    { postId: before(3), rules: [{ id: ruleId(0), tag: "" }] },
    {
      postId: before(1),
      rules: [
        { id: ruleId(0), tag: "" },
        { id: ruleId(1), tag: "tag 1" },
      ],
    },
  ])
  expect(searchedId).toBe(idAt(addedAtMs + 3_600_000))
})

test("a part ends at its limit, and the next one goes on after it", async () => {
  for (const seconds of [5, 4, 3, 2, 1]) await append(before(seconds), "a cat")
  const first = await find(["cat"], { limit: 2 })
  expect(first.matches.map(({ postId }) => postId)).toEqual([before(5), before(4)])
  expect(first.searchedId).toBe(before(4))
  const rest = await find(["cat"], { after: first.searchedId, lastId: before(2) as PostId })
  expect(rest.matches.map(({ postId }) => postId)).toEqual([before(3), before(2)])
  expect(rest.searchedId).toBe(before(2))
})

test("a part looks at a thousand posts, and the last part ends at the end of the search", async () => {
  for (let number = 0; number < 1_500; number += 1) await append(idAt(addedAtMs - 5_000, number), "a bird")
  const first = await find(["cat"])
  expect(first).toEqual({ matches: [], searchedId: idAt(addedAtMs - 5_000, 999) })
  expect(await find(["cat"], { after: first.searchedId })).toEqual({
    matches: [],
    searchedId: idAt(addedAtMs + 3_600_000),
  })
})

test("a post that the log has under the rule is left out, and one that another rule or app has matched is not", async () => {
  await append(before(4), "a cat", { rules: [ruleId(0)] })
  await append(before(3), "a cat", { rules: ["99"] })
  await append(before(2), "a cat and a dog", { rules: [ruleId(1)] })
  await append(before(1), "a cat", { appId: other, rules: [ruleId(0)] })
  const { matches } = await find(["cat", "dog"])
  expect(matches.map(({ postId, rules }) => [postId, rules.map(({ id }) => id)])).toEqual([
    [before(3), [ruleId(0)]],
    [before(2), [ruleId(0)]],
    [before(1), [ruleId(0)]],
  ])
})

test("a rule finds posts up to a few seconds after it was added", async () => {
  const last = idAt(addedAtMs + backfillGraceMs)
  await append(last, "a cat")
  await append(idAt(addedAtMs + backfillGraceMs + 1), "a cat")
  expect((await find(["cat"])).matches.map(({ postId }) => postId)).toEqual([last])
})

test("posts are read as the stream reads them: a word with a diacritic is another word", async () => {
  await append(before(2), "un café")
  await append(before(1), "a cafe")
  expect((await find(["cafe"])).matches.map(({ postId }) => postId)).toEqual([before(1)])
})
