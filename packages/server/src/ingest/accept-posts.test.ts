import { setImmediate as nextTurn } from "node:timers/promises"
import { WalkedPost } from "@sluice/rules/walk"
import { expect, test } from "vitest"
import { RuleIndex } from "../matching/rule-index.ts"
import type { AppId, RuleId } from "../model/ids.ts"
import { systemClock } from "../runtime/clock.ts"
import { anApp } from "../store/contract/fixtures.ts"
import type { Store } from "../store/store.ts"
import { openTestedStore } from "../store/tested-store.testing.ts"
import { PostAcceptor } from "./accept-posts.ts"
import type { IngestReport } from "./ingest-report.ts"
import { Turns } from "../runtime/turns.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

const ruleMatchCounts = { note: () => undefined }

test("a batch is matched against every rule that was stored before it, announced or not", async () => {
  await using directory = await temporaryDirectory()
  await using store = await openTestedStore(directory.path)
  const appId = "100" as AppId
  await store.createApp(anApp(appId), [])
  // This index hears of no changes.
  const rules = await RuleIndex.load(store)
  let matchesTotal = 0
  const listener = {
    appending: () => undefined,
    appended({ matches }: IngestReport): void {
      matchesTotal += matches
    },
    failed(error: unknown): void {
      throw error
    },
  }
  const acceptor = new PostAcceptor(
    { store, rules, ruleMatchCounts, clock: systemClock, postBytesMax: 262_144, turn: new Turns(systemClock).open() },
    listener,
  )
  const ingest = async (id: number): Promise<number> => {
    const before = matchesTotal
    await acceptor.write(Buffer.from(`{"data":{"id":"${id}","text":"a cat"}}\n`))
    await acceptor.stop()
    return matchesTotal - before
  }
  expect(await ingest(1)).toBe(0)
  await store.addRules(appId, [{ id: "1" as RuleId, appId, value: "cat" }], { rulesMax: 9 })
  expect(await ingest(2)).toBe(1)
  await store.deleteRules(appId, { kind: "all" })
  expect(await ingest(3)).toBe(0)
})

/** An acceptor of posts that match nothing, at once or as `match` says. The test settles each append. */
function pendingAcceptor(match?: RuleIndex["match"]) {
  const appends: (PromiseWithResolvers<readonly boolean[]> & { readonly ids: readonly string[] })[] = []
  const reported: unknown[] = []
  const reports: IngestReport[] = []
  const matched = { posts: 0 }
  const caughtUp = { times: 0 }
  const store: Pick<Store, "append" | "delete"> = {
    delete: async () => [],
    append(batch) {
      const pending = Promise.withResolvers<readonly boolean[]>()
      appends.push({ ...pending, ids: batch.map(({ post }) => post.id) })
      return pending.promise
    },
  }
  const rules: Pick<RuleIndex, "catchUp" | "match" | "matchNow" | "walked"> = {
    async catchUp() {
      caughtUp.times += 1
    },
    match: match ?? (async (envelopes) => envelopes.map(() => [])),
    matchNow() {
      matched.posts += 1
      return match === undefined ? [] : undefined
    },
    walked: new WalkedPost(),
  }
  const acceptor = new PostAcceptor(
    { store, rules, ruleMatchCounts, clock: systemClock, postBytesMax: 262_144, turn: new Turns(systemClock).open() },
    {
      appending: () => undefined,
      appended(report) {
        reports.push(report)
        reported.push(report.accepted)
      },
      failed: (error) => reported.push(error),
    },
  )
  const write = async (...ids: readonly number[]): Promise<void> => {
    await acceptor.write(linesOf(ids))
    await acceptor.flush()
  }
  return { acceptor, appends, reported, reports, matched, caughtUp, write }
}

function linesOf(ids: readonly number[]): Buffer {
  return Buffer.from(ids.map((id) => `{"data":{"id":"${id}","text":"a"}}\n`).join(""))
}

test("chunks that came before the rules were caught up share one catch-up, up to 512 lines", async () => {
  const { acceptor, caughtUp } = pendingAcceptor()
  const cameAtMs = systemClock.monotonicMs() - 1
  await acceptor.write(linesOf([1]), cameAtMs)
  await acceptor.write(linesOf([2]), cameAtMs)
  expect(caughtUp.times).toBe(1)
  await acceptor.write(linesOf([3]), systemClock.monotonicMs())
  expect(caughtUp.times).toBe(2)
  await acceptor.write(linesOf([4]))
  expect(caughtUp.times).toBe(3)
  await acceptor.write(linesOf(Array.from({ length: 512 }, (_, index) => index + 5)), cameAtMs)
  expect(caughtUp.times).toBe(4)
})

test("posts are read while a batch is appended, and appended together after it", async () => {
  const { acceptor, appends, reported, write } = pendingAcceptor()
  await write(1, 2)
  await write(3)
  await write(4)
  expect(appends.map(({ ids }) => ids)).toEqual([["1", "2"]])
  expect(reported).toEqual([])
  appends[0]?.resolve([true, false])
  await nextTurn()
  expect(appends.map(({ ids }) => ids)).toEqual([
    ["1", "2"],
    ["3", "4"],
  ])
  const stopped = acceptor.stop()
  appends[1]?.resolve([true, true])
  await stopped
  expect(reported).toEqual([1, 2])
})

test("posts that were read while a batch could not be appended are not appended either", async () => {
  const { acceptor, appends, reported, write } = pendingAcceptor()
  const full = new Error("full")
  await write(1)
  await write(2)
  appends[0]?.reject(full)
  await acceptor.settled()
  await nextTurn()
  expect(appends).toHaveLength(1)
  expect(reported).toEqual([full])
})

test("posts are read during the append of a batch that became full during the previous append", async () => {
  const { acceptor, appends, matched, write } = pendingAcceptor()
  await write(1)
  await write(2)
  const lines = Array.from({ length: 1_200 }, (_, index) => `{"data":{"id":"${index + 3}","text":"a"}}\n`)
  const written = acceptor.write(Buffer.from(lines.join(""))).then(() => acceptor.end())
  await expect.poll(() => matched.posts).toBe(501)
  appends[0]?.resolve([true])
  await expect.poll(() => matched.posts).toBe(1_001)
  expect(appends.map(({ ids }) => ids.length)).toEqual([1, 500])
  for (let batch = 1; batch < 4; batch++) {
    await expect.poll(() => appends.length).toBe(batch + 1)
    const { ids = [], resolve } = appends[batch] ?? {}
    resolve?.(ids.map(() => true))
  }
  await written
})

test("a batch that cannot be appended is reported at once, and no batch after it is appended", async () => {
  const { acceptor, appends, reported, write } = pendingAcceptor()
  const full = new Error("full")
  await write(1)
  appends[0]?.reject(full)
  await nextTurn()
  expect(reported).toEqual([full])
  await write(2)
  await expect(acceptor.stop()).rejects.toBe(full)
  expect(appends).toHaveLength(1)
  expect(reported).toEqual([full])
})

test("a body of many posts is appended in batches, each durable before the next", async () => {
  const { acceptor, appends, reported } = pendingAcceptor()
  const lines = Array.from({ length: 1_200 }, (_, index) => `{"data":{"id":"${index + 1}","text":"a"}}\n`)
  const written = acceptor.write(Buffer.from(lines.join(""))).then(() => acceptor.end())
  for (let batch = 0; batch < 3; batch++) {
    await expect.poll(() => appends.length).toBe(batch + 1)
    const { ids = [], resolve } = appends[batch] ?? {}
    resolve?.(ids.map(() => true))
  }
  await written
  expect(appends.flatMap(({ ids }) => ids)).toEqual(lines.map((_, index) => String(index + 1)))
  expect(reported).toEqual([500, 500, 200])
})

test("a line that is rejected after a post that waits for its matches is reported after that post", async () => {
  const matches: PromiseWithResolvers<Awaited<ReturnType<RuleIndex["match"]>>>[] = []
  const { acceptor, appends, reports } = pendingAcceptor(() => {
    const pending = Promise.withResolvers<Awaited<ReturnType<RuleIndex["match"]>>>()
    matches.push(pending)
    return pending.promise
  })
  const matched = async (writing: Promise<unknown>): Promise<void> => {
    matches.at(-1)?.resolve([[]])
    await writing
  }
  await acceptor.write(linesOf([1]))
  await matched(acceptor.flush())
  await acceptor.write(linesOf([2]))
  await matched(acceptor.flush())
  await acceptor.write(Buffer.concat([linesOf([3]), Buffer.from("no JSON\n")]))
  const flushing = acceptor.flush()
  appends[0]?.resolve([true])
  await nextTurn()
  expect(appends).toHaveLength(1)
  await matched(flushing)
  appends[1]?.resolve([true, true])
  await acceptor.settled()
  expect(appends.map(({ ids }) => ids)).toEqual([["1"], ["2", "3"]])
  expect(reports.map(({ lines, rejected }) => [lines, rejected.map(({ line }) => line)])).toEqual([
    [1, []],
    [3, [4]],
  ])
})
