/**
 * For all events of a link, in any order: each match is delivered once, or dead-lettered and delivered when it is sent
 * again, or in a gap; and the numbers of the link add up to that.
 */
import fc from "fast-check"
import { expect, test } from "vitest"
import type { AppId, LinkId, WebhookId } from "../../model/ids.ts"
import { createManualClock } from "../../runtime/manual-clock.testing.ts"
import { numbered, withMethods, type ScriptedResponse } from "./link-harness.testing.ts"
import { makeRunningLinks } from "./running-links.testing.ts"

const app = "1" as AppId
const webhook = "100" as WebhookId
const link = "100" as LinkId

/** How the endpoint responds to the `n`th delivery; `undefined` is not at all, until its weather changes. */
const weathers: Readonly<Record<string, (n: number, postId: string) => ScriptedResponse | undefined>> = {
  fine: () => 200,
  away: () => ({ failure: "connect" }),
  changeable: (n) => [200, 500, 200, { status: 503, retryAfter: "20" }, 200, 410, 500][n % 7],
  choosy: (_, postId) => (Number(postId) % 2 === 0 ? 200 : 500),
  ours: () => ({ failure: "local_error" }),
  silent: () => undefined,
}

type Deed =
  | { readonly kind: "post"; readonly count: number }
  | { readonly kind: "weather"; readonly name: string }
  | { readonly kind: "valid" | "ordered" | "paused"; readonly is: boolean }
  | { readonly kind: "wait"; readonly seconds: number }
  | { readonly kind: "trim"; readonly limit: number }
  | { readonly kind: "redeliver" }
  /** The next read or save fails. */
  | { readonly kind: "fault"; readonly call: "matches" | "retries" | "allLinks" | "saveProgress" }

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("post"), count: fc.integer({ min: 1, max: 8 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("weather"),
      name: fc.constantFrom(...Object.keys(weathers)),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("wait"), seconds: fc.constantFrom(1, 5, 30, 120) }) },
  fc.record({ kind: fc.constantFrom("valid", "ordered", "paused"), is: fc.boolean() }),
  fc.record({ kind: fc.constant("trim"), limit: fc.integer({ min: 1, max: 10 }) }),
  fc.record({ kind: fc.constant("redeliver") }),
  fc.record({
    kind: fc.constant("fault"),
    call: fc.constantFrom("matches", "retries", "allLinks", "saveProgress"),
  }),
)

const cases = fc.record({
  concurrency: fc.constantFrom(1, 2, 4),
  attemptsMax: fc.constantFrom(2, 5, 100),
  perSecondMax: fc.constantFrom(0, 3),
  deeds: fc.array(deed, { minLength: 25, maxLength: 40 }),
})

/** Gives the store a turn to commit in, at any time of day. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

test("each match of a link is delivered once or counted in a gap, through all failures", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ deeds, ...options }) => {
      await using running = await makeRunningLinks()
      const { harness, outbound, events } = running
      const clock = createManualClock()
      const faults = new Set<string>()
      const orFault = <Args extends unknown[], Result>(
        name: string,
        call: (...args: Args) => Promise<Result>,
      ): ((...args: Args) => Promise<Result>) => {
        return async (...args) => {
          if (faults.delete(name)) throw new Error("a fault that was asked for")
          return call(...args)
        }
      }
      const store = withMethods(harness.store, {
        matches: orFault("matches", (range) => harness.store.matches(range)),
        retries: orFault("retries", (...of) => harness.store.retries(...of)),
        allLinks: orFault("allLinks", (...of) => harness.store.allLinks(...of)),
        saveProgress: orFault("saveProgress", (progress) => harness.store.saveProgress(progress)),
      })
      const taken = new Map<string, number>()
      let sends = 0
      const respondAs = (name: string): void =>
        outbound.respondToAll(({ postId, eventId }) => {
          const response = weathers[name]?.(sends++, postId)
          if (response === 200) taken.set(eventId, (taken.get(eventId) ?? 0) + 1)
          return response
        })
      const wait = async (seconds: number): Promise<void> => {
        for (let part = 0; part < 4; part++) {
          await clock.advance(seconds * 250)
          await settle()
        }
      }

      await harness.addLink("1", "100", "https://example.com/webhook")
      respondAs("fine")
      const { links } = running.start({ clock, store, ...options })
      let posts = 0
      for (const each of deeds) {
        if (each.kind === "post") {
          await harness.post("1", ...numbered(each.count).map((id) => String(posts + Number(id))))
          posts += each.count
        } else if (each.kind === "weather") respondAs(each.name)
        else if (each.kind === "wait") await wait(each.seconds)
        else if (each.kind === "trim") {
          await harness.store.trimMatches(app, { beforeMs: 1_800_000_000_000, limit: each.limit })
        } else if (each.kind === "redeliver") await harness.store.redeliver({ kind: "all" })
        else if (each.kind === "fault") faults.add(each.call)
        else if (each.kind === "ordered") await harness.store.setLinkOrdered(app, webhook, each.is)
        else if (each.kind === "paused") await harness.store.setLinkPaused(app, webhook, each.is ? 7 : undefined)
        else if (each.is) await harness.store.markWebhookValid(webhook, 1)
        else await harness.store.invalidateWebhook(webhook, "")
        await settle()
      }

      respondAs("fine")
      for (let round = 0; round < 20; round++) {
        await harness.store.markWebhookValid(webhook, 1)
        await harness.store.setLinkPaused(app, webhook, undefined)
        await harness.store.redeliver({ kind: "all" })
        await wait(120)
        const [state] = await links.states()
        if (state?.lag === 0 && state.total.retrying === 0 && state.total.dead_letters === 0) break
      }
      const gaps = await harness.store.gaps(link)
      const missed = gaps.flatMap(({ from, to }) => numbered(to - from + 1).map((id) => Number(id) + from - 1))
      const [state] = await links.states()
      expect(state).toMatchObject({
        position: posts,
        down: false,
        total: { delivered: posts - missed.length, retrying: 0, dead_letters: 0, missed: missed.length },
      })
      // A match that retention deleted before its delivery was saved is in a gap, and delivered all the same.
      const expected = numbered(posts).filter((seq) => !missed.includes(Number(seq)))
      expect([...taken.keys()]).toEqual(expect.arrayContaining(expected.map((seq) => `msg_100_${seq}`)))
      expect([...taken.values()].filter((count) => count > 1)).toEqual([])
      // Processes that are over leave no sleep running.
      expect(clock.sleepers).toBeLessThan(12)
      expect(events.failures.map(({ error }) => String(error))).toEqual(
        events.failures.map(() => "Error: a fault that was asked for"),
      )
    }),
    { numRuns: 10 },
  )
})
