import { expect, test } from "vitest"
import { chainOf, chainsShown } from "./edit-chain.ts"
import type { PostId } from "./ids.ts"

const chain = (id: string, ...history: string[]) => chainOf(id as PostId, history)

test("a post of one version has no chain", () => {
  expect([chain("1"), chain("1", "1"), chain("1", "1", "1"), chain("1", "01")]).toEqual(Array(4).fill(undefined))
})

test("a chain has each id once, its own included, the least first", () => {
  expect(chain("10", "9", "10")).toEqual(["9", "10"])
  expect(chain("10", "10", "9", "010", "9")).toEqual(["9", "10"])
  expect(chain("10", "9")).toEqual(["9", "10"])
  expect(chain("9223372036854775807", "9223372036854775806")).toEqual(["9223372036854775806", "9223372036854775807"])
})

test("a history of many ids counts as its first and its newest", () => {
  const ids = Array.from({ length: 5_000 }, (_, at) => String(at + 1))
  expect(chain("5000", ...ids)).toEqual(["1", ...ids.slice(-99)])
})

const ids = ["1", "2", "3"] as PostId[]

test("a core gets the whole chain, and all else of it stays letter for letter", () => {
  const json = '{"id":"1","text":"a\\u00e9 ","edit_history_tweet_ids":["1"]}'
  const shown = chainsShown({ id: "1" as PostId, json }, { chain: ids, shape: "core", versions: new Map() })
  expect(shown).toBe('{"id":"1","text":"a\\u00e9 ","edit_history_tweet_ids":["1","2","3"]}')
})

test("an envelope gets the chain, the edits that are left, and the versions that did not come with it", () => {
  const controls = (left: unknown) => ({ edits_remaining: left, is_edit_eligible: true })
  const json = JSON.stringify({
    data: { id: "2", text: "b", edit_controls: controls("4") },
    includes: {
      tweets: [
        { id: "1", text: "a" },
        { id: "9", text: "other" },
      ],
      users: [{ id: "7" }],
    },
  })
  const version = (id: string, text: string) => JSON.stringify({ data: { id, text, edit_controls: controls(1) } })
  const versions = new Map([
    ["1" as PostId, version("1", "stored")],
    ["2" as PostId, version("2", "own")],
    ["3" as PostId, version("3", "c")],
  ])
  const shown = chainsShown({ id: "2" as PostId, json }, { chain: ids, shape: "envelope", versions })
  const history = { edit_history_tweet_ids: ids }
  expect(JSON.parse(shown)).toEqual({
    data: { id: "2", text: "b", edit_controls: controls("3"), ...history },
    includes: {
      tweets: [
        { id: "1", text: "a", ...history },
        { id: "9", text: "other" },
        { id: "3", text: "c", edit_controls: controls(1), ...history },
      ],
      users: [{ id: "7" }],
    },
  })
})
