/** Webhook links at work on a harness, for tests. */
import type { LinkDetail } from "@sluice/api"
import { expect } from "vitest"
import { presentLinkDetail } from "../../http/present/deliveries.ts"
import { systemClock, type Clock } from "../../runtime/clock.ts"
import type { Outbound } from "../../runtime/outbound/outbound.ts"
import { waitedForOutside } from "../../runtime/outside-work.testing.ts"
import type { Random } from "../../runtime/random.ts"
import { soleLeases, type Leases } from "../../store/leases.ts"
import type { Store } from "../../store/store.ts"
import {
  createRecordedEvents,
  createScriptedOutbound,
  harnessSecretBox,
  makeLinkHarness,
  type LinkHarness,
  type RecordedEvents,
  type ScriptedOutbound,
} from "./link-harness.testing.ts"
import { createWebhookLinks, type WebhookLinks } from "./webhook-links.ts"

/** No chance: every delay is the whole of its ceiling. */
const noChance: Random = { fraction: () => 1, bytes: (count) => new Uint8Array(count) }

/** Options of a test. */
interface RunOptions {
  readonly concurrency?: number
  readonly clock?: Clock
  readonly random?: Random
  readonly store?: Store
  readonly leases?: Leases
  readonly outbound?: Outbound
  readonly retryBaseMs?: number
  readonly retryMaxMs?: number
  readonly perSecondMax?: number
  readonly attemptsMax?: number
}

/** Links whose states are as the API shows them. */
interface PresentedLinks extends Omit<WebhookLinks, "states" | "state"> {
  states(...of: Parameters<WebhookLinks["states"]>): Promise<readonly LinkDetail[]>
  state(...of: Parameters<WebhookLinks["state"]>): Promise<LinkDetail | undefined>
}

/** Links that were started. */
interface StartedLinks {
  readonly links: PresentedLinks
  /** Aborts and waits. */
  readonly stop: () => Promise<void>
}

/** A harness, an endpoint and the links between them. */
export interface RunningLinks extends AsyncDisposable {
  readonly harness: LinkHarness
  readonly outbound: ScriptedOutbound
  readonly events: RecordedEvents
  create(options?: RunOptions): PresentedLinks
  start(options?: RunOptions): StartedLinks
  /** Posts that were sent, in order. */
  receivedIds(): string[]
}

/** Makes a harness with an app "1" whose endpoints do not respond until the test lets them. */
export async function makeRunningLinks(): Promise<RunningLinks> {
  const harness = await makeLinkHarness()
  const outbound = createScriptedOutbound()
  const events = createRecordedEvents()
  const stops: (() => Promise<void>)[] = []
  const create = (options: RunOptions = {}): PresentedLinks => {
    const links = createWebhookLinks({
      store: options.store ?? harness.store,
      leases: options.leases ?? soleLeases,
      outbound: options.outbound ?? outbound,
      secretBox: harnessSecretBox,
      clock: options.clock ?? systemClock,
      random: options.random ?? noChance,
      events,
      concurrencyPerLink: options.concurrency ?? 4,
      deliveriesPerLinkPerSecondMax: options.perSecondMax ?? 0,
      deliveryAttemptsMax: options.attemptsMax ?? 100,
      attemptsKeptPerLink: 1_000,
      attemptResponseBytesMax: 1_024,
      attemptMsMax: 10_000,
      retryBaseMs: options.retryBaseMs ?? 1_000,
      retryMaxMs: options.retryMaxMs ?? 60_000,
      drainMsMax: 8_000,
    })
    return {
      ...links,
      states: async (...of) => (await links.states(...of)).map(presentLinkDetail),
      async state(...of) {
        const state = await links.state(...of)
        return state && presentLinkDetail(state)
      },
    }
  }
  return {
    harness,
    outbound,
    events,
    create,
    start(options) {
      const links = create(options)
      const controller = new AbortController()
      const ended = links.run(controller.signal)
      const stop = async (): Promise<void> => {
        controller.abort()
        await ended
      }
      stops.push(stop)
      return { links, stop }
    },
    receivedIds: () => outbound.received.map((one) => one.postId),
    async [Symbol.asyncDispose]() {
      outbound.respondToAll(() => 200)
      for (const stop of stops) await stop()
      await harness[Symbol.asyncDispose]()
    },
  }
}

/** Waits until this is so; long enough for a busy machine. */
export function eventually(look: () => unknown): ReturnType<typeof expect.poll> {
  return expect.poll(look, { interval: 2 })
}

/** Gives the links time to do what they must not do. */
export async function breathe(): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve, 30))
  while (await waitedForOutside())
}
