import { afterEach, beforeEach, expect } from "vitest"
import type { AppId, LinkId, MatchSeq, ReplayId, WebhookId } from "../../model/ids.ts"
import type { Replay } from "../../model/replay.ts"
import { createManualClock, type ManualClock } from "../../runtime/manual-clock.testing.ts"
import { systemRandom } from "../../runtime/random.ts"
import { soleLeases } from "../../store/leases.ts"
import type { Store } from "../../store/store.ts"
import {
  createRecordedEvents,
  createScriptedOutbound,
  harnessSecretBox,
  makeLinkHarness,
  numbered,
  withMethods,
  type LinkHarness,
  type RecordedEvents,
  type ScriptedOutbound,
} from "../links/link-harness.testing.ts"
import type { SendingDeps } from "../sending/sending-deps.ts"
import { createReplays } from "./replays.ts"

/** The app whose matches are replayed. */
export const app = "1" as AppId

/** The webhook that they are sent to, whose link has the same id. */
export const webhook = "100" as WebhookId

/** Replays over a real store and a scripted endpoint, anew for each test of a file. */
class ReplayHarness {
  links!: LinkHarness
  clock!: ManualClock
  outbound!: ScriptedOutbound
  events!: RecordedEvents
  /** Results of the replays, oldest first. */
  ended: { state: string; delivered: number; failed: number }[] = []
  readonly #stops: (() => Promise<void>)[] = []

  /** Begins anew, with a store of its own. */
  async open(): Promise<void> {
    this.links = await makeLinkHarness()
    this.clock = createManualClock()
    this.outbound = createScriptedOutbound()
    this.ended = []
    this.events = {
      ...createRecordedEvents(),
      replayEnded: ({ state, delivered, failed }) => void this.ended.push({ state, delivered, failed }),
    }
  }

  /** Stops everything that was started. */
  async close(): Promise<void> {
    this.outbound.respondToAll(() => 200)
    for (const stop of this.#stops.splice(0)) await stop()
    await this.links[Symbol.asyncDispose]()
  }

  depsOver(store: Store): SendingDeps {
    const { outbound, clock, events } = this
    return {
      store,
      leases: soleLeases,
      outbound,
      secretBox: harnessSecretBox,
      clock,
      random: systemRandom,
      events,
      attemptMsMax: 10_000,
      attemptsKeptPerLink: 100,
      attemptResponseBytesMax: 1_024,
      deliveriesPerLinkPerSecondMax: 0,
      drainMsMax: 1_000,
    }
  }

  /** Starts sending replays; the function stops it, as an orderly end does. */
  start(store: Store = this.links.store, more: { deliveriesPerLinkPerSecondMax?: number } = {}): () => Promise<void> {
    return this.run(createReplays({ ...this.depsOver(store), ...more }))
  }

  /** Runs work until the test ends, or until the function is called. */
  run(work: { run(signal: AbortSignal): Promise<void> }): () => Promise<void> {
    const stopping = new AbortController()
    const end = work.run(stopping.signal)
    const stop = async (): Promise<void> => {
      stopping.abort()
      await this.clock.advance(2_000)
      await end
    }
    this.#stops.push(stop)
    return stop
  }

  /** Time goes on until the condition holds. */
  async until(condition: () => unknown, stepMs = 500): Promise<void> {
    for (let step = 0; step < 2_000; step++) {
      if ((await condition()) === true) return
      await this.clock.advance(stepMs)
      await new Promise((resolve) => setImmediate(resolve))
    }
    throw new Error("that never came to be")
  }

  async create(id: string, position: number, endSeq: number, more: Partial<Replay> = {}): Promise<void> {
    const outcome = await this.links.store.createReplay({
      id: id as ReplayId,
      appId: app,
      webhookId: webhook,
      linkId: webhook as string as LinkId,
      fromMs: 0,
      toMs: 0,
      position: position as MatchSeq,
      endSeq: endSeq as MatchSeq,
      delivered: 0,
      failed: 0,
      createdAtMs: 0,
      state: "running",
      ...more,
    })
    expect(outcome).toBe("created")
  }

  async replay(id: string): Promise<Replay | undefined> {
    return (await this.links.store.replays({ appId: app })).find((one) => one.id === id)
  }

  isEnded(id: string): () => Promise<boolean> {
    return async () => (await this.replay(id))?.state !== "running"
  }

  /** Positions of the matches that were sent, in order, as often as they were. */
  sentSeqs(): number[] {
    return this.outbound.received
      .filter(({ eventId }) => eventId.startsWith("msg_"))
      .map(({ eventId }) => Number(eventId.split("_")[2]))
  }

  /** The completion events that were sent. */
  completions(): ScriptedOutbound["received"] {
    return this.outbound.received.filter(({ eventId }) => eventId.startsWith("replay_"))
  }

  /** The store, with matches whose posts are damaged. */
  damagedWhere(isDamaged: (seq: number) => boolean): Store {
    const { store } = this.links
    return withMethods(store, {
      matches: async (range) =>
        (await store.matches(range)).map((entry) => {
          const { postJson: _, ...damaged } = entry
          return isDamaged(entry.seq) ? damaged : entry
        }),
    })
  }

  async linkWithPosts(count: number): Promise<void> {
    await this.links.addLink("1", "100", "https://example.com/webhook")
    await this.links.post("1", ...numbered(count))
  }
}

/** A harness that is new in each test of the file. */
export function replayHarness(): ReplayHarness {
  const harness = new ReplayHarness()
  beforeEach(() => harness.open())
  afterEach(() => harness.close())
  return harness
}
