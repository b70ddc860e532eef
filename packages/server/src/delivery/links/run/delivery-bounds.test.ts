import { afterEach, beforeEach, expect, test } from "vitest"

import type { AppId, LinkId, PostId } from "../../../model/ids.ts"
import { createManualClock } from "../../../runtime/manual-clock.testing.ts"
import type { Store } from "../../../store/store.ts"
import { numbered, withMethods, type LinkHarness, type ScriptedOutbound } from "../link-harness.testing.ts"
import { breathe, eventually, makeRunningLinks, type RunningLinks } from "../running-links.testing.ts"

const url = "https://example.com/webhook"

let running: RunningLinks
let harness: LinkHarness
let outbound: ScriptedOutbound

beforeEach(async () => {
  running = await makeRunningLinks()
  ;({ harness, outbound } = running)
})

afterEach(async () => {
  await running[Symbol.asyncDispose]()
})

test("failing matches stop their link at 1,000 pending entries, and no more are read into memory", async () => {
  const clock = createManualClock()
  await harness.addLink("1", "100", url)
  outbound.respondToAll(({ postId }) => (Number(postId) % 2 === 1 ? 500 : 200))
  running.start({ concurrency: 8, clock, retryBaseMs: 60_000 })
  await harness.post("1", ...numbered(2_500))
  await eventually(() => outbound.received.length).toBe(1_999)
  await breathe()
  expect(outbound.received).toHaveLength(1_999)
  expect((await harness.progress("100"))?.retries).toHaveLength(1_000)
  outbound.respondToAll(() => 200)
  await clock.advance(60_000)
  await eventually(() => outbound.received.length).toBe(3_500)
  // The last outcome may be saved after the pause between two saves.
  const progress = async () => (await clock.advance(2), harness.progress("100"))
  await eventually(progress).toEqual({ position: 2_500, retries: [] })
})

test("a link has no more deliveries in flight than it may", async () => {
  await harness.addLink("1", "100", url)
  running.start({ concurrency: 3 })
  await harness.post("1", ...numbered(30))
  await eventually(() => outbound.open.length).toBe(3)
  await breathe()
  expect(outbound.received).toHaveLength(3)
  while (outbound.received.length < 30 || outbound.open.length > 0) {
    outbound.open.at(-1)?.respond(200)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(outbound.openMax).toBe(3)
  expect(running.receivedIds().toSorted((a, b) => Number(a) - Number(b))).toEqual(numbered(30))
  await eventually(() => harness.deliveredUpTo("100")).toBe(30)
})

test("with 64 slots, 32 attempts are in flight, and the other slots are for results that wait to be saved", async () => {
  await harness.addLink("1", "100", url)
  const release = Promise.withResolvers<void>()
  const store = withMethods(harness.store, {
    saveProgress: async (all) => {
      await release.promise
      return harness.store.saveProgress(all)
    },
  })
  running.start({ concurrency: 64, store })
  await harness.post("1", ...numbered(150))
  await eventually(() => outbound.open.length).toBe(32)
  outbound.open[0]?.respond(200)
  await eventually(() => outbound.received.length).toBe(33)
  outbound.respondToAll(() => 200)
  await eventually(() => outbound.received.length).toBe(64)
  await breathe()
  expect(outbound.received).toHaveLength(64)
  expect(outbound.openMax).toBe(32)
  release.resolve()
  await eventually(() => harness.progress("100")).toEqual({ position: 150, retries: [] })
})

test("outcomes are saved when half of the slots have one, or when nothing is in flight", async () => {
  const clock = createManualClock()
  await harness.addLink("1", "100", url)
  const saved: number[] = []
  const store = withMethods(harness.store, {
    saveProgress: (all) => {
      saved.push(...all.map(({ delivered }) => delivered))
      return harness.store.saveProgress(all)
    },
  })
  running.start({ concurrency: 8, clock, store })
  await harness.post("1", ...numbered(9))
  await eventually(() => outbound.open.length).toBe(8)
  const deliver = (): void => outbound.open[0]?.respond(200)
  deliver()
  // The first save has none before it to wait for.
  await eventually(() => saved).toEqual([1])
  await eventually(() => outbound.received.length).toBe(9)
  for (let count = 0; count < 3; count++) deliver()
  await breathe()
  expect(saved).toEqual([1])
  deliver()
  await eventually(() => saved).toEqual([1, 4])
  outbound.respondToAll(() => 200)
  await eventually(() => saved).toEqual([1, 4, 4])
  await eventually(() => harness.progress("100")).toEqual({ position: 9, retries: [] })
})

test("a link moves its cursor over matches in flight only together with a retry", async () => {
  await harness.addLink("1", "100", url)
  running.start({ concurrency: 8 })
  await harness.post("1", ...numbered(5))
  await eventually(() => outbound.open.length).toBe(5)
  const deliver = (id: string): void => outbound.open.find((one) => one.postId === id)?.respond(200)
  const underWay = (seq: number) => ({ seq, failures: 0, dueAtMs: 0 })
  deliver("2")
  deliver("3")
  await eventually(() => harness.progress("100")).toEqual({ position: 3, retries: [underWay(1)] })
  deliver("5")
  await eventually(() => harness.progress("100")).toEqual({
    position: 5,
    retries: [underWay(1), underWay(4)],
  })
  deliver("1")
  await eventually(() => harness.progress("100")).toEqual({ position: 5, retries: [underWay(4)] })
  deliver("4")
  await eventually(() => harness.progress("100")).toEqual({ position: 5, retries: [] })
  expect(outbound.received).toHaveLength(5)
})

test("a link has no more deliveries unsaved than it may have in flight", async () => {
  await harness.addLink("1", "100", url)
  const saves = Promise.withResolvers<void>()
  const saveProgress: Store["saveProgress"] = async (progress) => {
    await saves.promise
    return harness.store.saveProgress(progress)
  }
  outbound.respondToAll(({ postId }) => (postId === "2" ? 500 : 200))
  running.start({ concurrency: 3, store: withMethods(harness.store, { saveProgress }), retryBaseMs: 1 })
  await harness.post("1", ...numbered(10))
  await eventually(() => outbound.received.length).toBe(3)
  await breathe()
  expect(running.receivedIds()).toEqual(["1", "2", "3"])
  outbound.respondToAll(() => 200)
  saves.resolve()
  await eventually(() => harness.progress("100")).toEqual({ position: 10, retries: [] })
  expect(outbound.received).toHaveLength(11)
})

test("the links of an app have at most 64 MiB of bodies pending together, apart from those of other apps", async () => {
  await harness.addApp("2")
  const ids = ["100", "101", "102", "103", "104"]
  for (const id of ids) await harness.addLink("1", id, `${url}${id}`)
  await harness.addLink("2", "200", `${url}200`)
  running.start({ concurrency: 64 })
  for (const id of numbered(20)) await harness.postLarge("1", id, 1_048_576)
  const openOfApp = () => outbound.open.filter(({ request }) => !request.url.endsWith("200")).length
  await eventually(openOfApp).toBeGreaterThanOrEqual(64)
  await breathe()
  // A link that comes late has one all the same.
  expect(openOfApp()).toBeLessThanOrEqual(64 + ids.length)
  await harness.postLarge("2", "1000", 1_048_576)
  await eventually(() => outbound.open.length - openOfApp()).toBe(1)
  outbound.respondToAll(() => 200)
  for (const id of ids) await eventually(() => harness.deliveredUpTo(id)).toBe(20)
})

test("a link has at most 16 MiB of bodies pending, however many deliveries may be in flight", async () => {
  await harness.addLink("1", "100", url)
  running.start({ concurrency: 64 })
  for (const id of numbered(20)) await harness.postLarge("1", id, 1_048_576)
  await eventually(() => outbound.open.length).toBe(16)
  await breathe()
  expect(outbound.open).toHaveLength(16)
  outbound.open.at(-1)?.respond(200)
  await eventually(() => outbound.open.length).toBe(16)
  outbound.respondToAll(() => 200)
  await eventually(() => harness.deliveredUpTo("100")).toBe(20)
})

test("a match that was read and had to wait is sent as its post is stored then, and withdrawn when it is deleted", async () => {
  const clock = createManualClock()
  await harness.addLink("1", "100", url, "expansions=referenced_tweets.id")
  const showing = (text: string) => ({
    id: "4" as PostId,
    createdAtMs: 0,
    core: Buffer.from('{"id":"4"}'),
    envelope: Buffer.from(
      JSON.stringify({
        data: { id: "4", text: "a quote", referenced_tweets: [{ type: "quoted", id: "9" }] },
        includes: { tweets: [{ id: "9", text }] },
      }),
    ),
    isReply: false,
    isRepost: false,
    userIds: [],
    users: [],
    includedIds: ["9"] as PostId[],
  })
  await harness.post("1", "1", "2", "3")
  const matches = [{ appId: "1" as AppId, rules: [{ id: "5", tag: "t" }] }]
  await harness.store.append([{ post: showing("the marker"), matches }], 1)
  running.start({ concurrency: 1, clock })
  await eventually(() => outbound.open.length).toBe(1)
  const deleted = ["2", "9"].map((id) => ({ kind: "post", id: id as PostId }) as const)
  await harness.store.delete(deleted, 5)
  await clock.advance(1_000)
  outbound.respondToAll(() => 200)
  outbound.open[0]?.respond(200)
  await eventually(() => harness.progress("100")).toEqual({ position: 4, retries: [] })
  expect(running.receivedIds()).toEqual(["1", "3", "4"])
  expect(outbound.received.map(({ request }) => String(request.body)).join("")).not.toContain("marker")
  expect(await harness.store.linkTally("100" as LinkId)).toMatchObject({ delivered: 3, withdrawn: 1 })
})
