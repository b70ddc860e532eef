/** The places that a match of a link can be at, over anything that may happen. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { AppId, LinkId, MatchSeq, WebhookId } from "../../model/ids.ts"
import type { LinkTally } from "../../model/link.ts"
import { allOlder, anApp, aPost, aRetry, aDeadMatch, addLink } from "./fixtures.ts"
import { accountedOf, passedOf, type StoreUnderTest, type MakeStore } from "./store-under-test.ts"

/** Every match of every link is at exactly one place. */
export function accountingContract(make: MakeStore): void {
  describe("accounting", () => {
    test("every match of every link is in exactly one state after any sequence of events", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyEvent, { minLength: 5, maxLength: 40 }), async (storeEvents) => {
          await using fresh = await make()
          expect(await compareWithModel(fresh, storeEvents)).toBe(storeEvents.length)
        }),
        { numRuns: 15 },
      )
    })
  })
}

/** Something that may happen to a store, at random. */
type StoreEvent =
  | { readonly kind: "append"; readonly posts: number; readonly both: boolean }
  | {
      readonly kind: "deliver"
      readonly link: number
      readonly fates: readonly Fate[]
      readonly overtaken: number
    }
  | { readonly kind: "retry"; readonly link: number; readonly fates: readonly Fate[] }
  | { readonly kind: "redeliver"; readonly link: number }
  | { readonly kind: "resend"; readonly link: number; readonly seqs: readonly number[] }
  | { readonly kind: "trim"; readonly limit: number; readonly keep: number }
  | { readonly kind: "expire"; readonly limit: number }

type Fate = "delivered" | "retry" | "dead"

const fates = fc.array(fc.constantFrom<Fate>("delivered", "retry", "dead"), { minLength: 1, maxLength: 6 })
const anyLink = fc.nat({ max: 2 })
const anyEvent: fc.Arbitrary<StoreEvent> = fc.oneof(
  fc.record({
    kind: fc.constant("append" as const),
    posts: fc.integer({ min: 1, max: 6 }),
    both: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("deliver" as const),
    link: anyLink,
    fates,
    overtaken: fc.constantFrom(0, 0, 3),
  }),
  fc.record({ kind: fc.constant("retry" as const), link: anyLink, fates }),
  fc.record({ kind: fc.constant("redeliver" as const), link: anyLink }),
  fc.record({
    kind: fc.constant("resend" as const),
    link: anyLink,
    seqs: fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 6 }),
  }),
  fc.record({
    kind: fc.constant("trim" as const),
    limit: fc.integer({ min: 1, max: 8 }),
    keep: fc.nat({ max: 6 }),
  }),
  fc.record({ kind: fc.constant("expire" as const), limit: fc.integer({ min: 1, max: 3 }) }),
)

/**
 * Applies events to a store, models what becomes of each match, and compares the two after each event. Returns how
 * often they agreed.
 */
async function compareWithModel(fresh: StoreUnderTest, storeEvents: readonly StoreEvent[]): Promise<number> {
  await using store = await fresh.open()
  const links = [
    { id: "41" as LinkId, appId: "300" as AppId, webhookId: "11" as WebhookId },
    { id: "42" as LinkId, appId: "300" as AppId, webhookId: "12" as WebhookId },
    { id: "43" as LinkId, appId: "400" as AppId, webhookId: "13" as WebhookId },
  ]
  const arrived = new Map(links.map(({ id }) => [id, new Set<number>()]))
  const expired = new Map(links.map(({ id }) => [id, new Set<number>()]))
  for (const appId of ["300", "400"]) await store.createApp(anApp(appId), [])
  for (const { id, appId, webhookId } of links) {
    await addLink(store, appId, { linkId: id, webhookId })
  }
  let nowMs = 0
  let agreed = 0
  for (const event of storeEvents) {
    nowMs += 1
    await apply(event)
    await compare()
    agreed += 1
  }
  return agreed

  async function apply(event: StoreEvent): Promise<void> {
    switch (event.kind) {
      case "append":
        for (let post = 0; post < event.posts; post += 1) {
          nowMs += 1
          const matches = (event.both ? ["300", "400"] : ["300"]).map((appId) => ({
            appId: appId as AppId,
            rules: [{ id: "1", tag: "" }],
          }))
          await store.append([{ post: aPost(String(nowMs)), matches }], nowMs)
        }
        return
      case "deliver":
        return deliver(event)
      case "retry":
        return retry(event)
      case "redeliver":
        await store.redeliver({ kind: "all", webhookId: linkAt(event.link).webhookId })
        return
      case "resend":
        return resend(event)
      case "trim":
        for (const appId of ["300", "400"]) {
          await store.trimMatches(appId as AppId, { beforeMs: nowMs - event.keep, limit: event.limit })
        }
        await store.trimPosts({ after: undefined, beforeMs: nowMs, limit: 1_000 })
        return
      case "expire":
        return expire(event.limit)
    }
  }

  function linkAt(index: number) {
    const found = links[index]
    if (found === undefined) throw new Error("no such link")
    return found
  }

  async function deliver(event: Extract<StoreEvent, { kind: "deliver" }>): Promise<void> {
    const { id, appId } = linkAt(event.link)
    const after = (await store.linkTally(id))?.position ?? (0 as MatchSeq)
    const entries = await store.matches({
      appId,
      after,
      limit: event.fates.length,
      bytesMax: 1_000_000,
      shape: "core",
    })
    const last = entries.at(-1)
    if (last === undefined) return
    // While they are on their way, retention may come by.
    if (event.overtaken > 0) await store.trimMatches(appId, { beforeMs: nowMs, limit: event.overtaken })
    const fated = entries.map((entry, index) => ({ seq: entry.seq, fate: event.fates[index] ?? "delivered" }))
    const of = (fate: Fate) => fated.filter((one) => one.fate === fate)
    for (const { seq } of of("delivered")) arrived.get(id)?.add(seq)
    await store.saveProgress([
      {
        linkId: id,
        position: last.seq,
        retries: of("retry").map(({ seq }) => aRetry(seq)),
        settled: [],
        dead: of("dead").map(({ seq }) => aDeadMatch(seq, nowMs)),
        delivered: of("delivered").length,
      },
    ])
  }

  async function retry(event: Extract<StoreEvent, { kind: "retry" }>): Promise<void> {
    const { id } = linkAt(event.link)
    const position = (await store.linkTally(id))?.position ?? (0 as MatchSeq)
    const due = (await store.retries(id, "core")).slice(0, event.fates.length)
    const fated = due.map((one, index) => ({ ...one, fate: event.fates[index] ?? "delivered" }))
    const of = (fate: Fate) => fated.filter((one) => one.fate === fate)
    for (const { seq } of of("delivered")) arrived.get(id)?.add(seq)
    await store.saveProgress([
      {
        linkId: id,
        position,
        retries: of("retry").map(({ seq, failures }) => aRetry(seq, failures + 1)),
        settled: [...of("delivered"), ...of("dead")].map(({ seq }) => seq),
        dead: of("dead").map(({ seq }) => aDeadMatch(seq, nowMs)),
        delivered: of("delivered").length,
      },
    ])
  }

  async function resend({ link, seqs }: Extract<StoreEvent, { kind: "resend" }>): Promise<void> {
    const { id } = linkAt(link)
    const outcomes = await store.redeliverMatches(seqs.map((seq) => ({ linkId: id, seq: seq as MatchSeq })))
    for (const [index, outcome] of outcomes.entries())
      if (outcome === "redelivered") arrived.get(id)?.delete(seqs[index] ?? 0)
  }

  async function expire(limit: number): Promise<void> {
    const before = await store.deadLetters({}, allOlder)
    await store.trimDeadLetters({ beforeMs: nowMs, limit })
    const left = new Set((await store.deadLetters({}, allOlder)).map(({ id }) => id))
    for (const { id, linkId, seq } of before) if (!left.has(id)) expired.get(linkId)?.add(seq)
  }

  async function compare(): Promise<void> {
    const { damage, logs, links: tallies, posts } = await fresh.audit()
    expect(damage).toEqual([])
    expect(posts.accepted - posts.trimmed).toBe(posts.stored)
    for (const { head, trimmedTo, entries } of logs) expect(entries).toBe(head - trimmedTo)
    for (const tally of tallies) {
      const passed = passedOf(tally)
      expect(accountedOf(tally)).toBe(passed)
      expect(await placesOf(tally)).toEqual(
        new Map(Array.from({ length: passed }, (_, index) => [tally.firstPosition + index + 1, 1])),
      )
    }
  }

  /**
   * At how many places each match is that the cursor has passed. A match that arrived although it is marked missed
   * counts once.
   */
  async function placesOf({ linkId, position }: LinkTally): Promise<ReadonlyMap<number, number>> {
    const [owed, dead, gaps] = await Promise.all([
      store.retries(linkId, "core"),
      store.deadLetters({}, allOlder),
      store.gaps(linkId),
    ])
    for (const { entry } of owed) expect(entry.postJson).toBeDefined()
    const places = new Map<number, number>()
    const note = (seq: number): void => void places.set(seq, (places.get(seq) ?? 0) + 1)
    const missed = (seq: number): boolean => gaps.some(({ from, to }) => from <= seq && seq <= to)
    for (let seq = 1; seq <= position; seq += 1) if (missed(seq)) note(seq)
    for (const { seq } of owed) note(seq)
    for (const one of dead) if (one.linkId === linkId) note(one.seq)
    for (const seq of expired.get(linkId) ?? []) note(seq)
    for (const seq of arrived.get(linkId) ?? []) if (!missed(seq)) note(seq)
    return new Map([...places].toSorted(([a], [b]) => a - b))
  }
}
