/**
 * Drives webhook links: runs a `WebhookLink` for each link of the store whose lease is here, updates it when the link
 * changes, and stops it when the link is gone.
 *
 *     store.allLinks() ──► new? start · changed? update · gone? stop
 *            ▲                 └──────────┐
 *            └──── whenever control data or leases have changed (`control-watch.ts`)
 */
import { setImmediate as nextTurn } from "node:timers/promises"
import type { LinkId, MatchSeq } from "../../model/ids.ts"
import type { LinkToDeliver } from "../../model/link.ts"
import type { SharedLinkStates } from "../../store/shared-link-states.ts"
import { ControlWatch } from "../control-watch.ts"
import { AttemptHistory } from "../sending/attempt-history.ts"
import type { SendingDeps } from "../sending/sending-deps.ts"
import { Supervisor } from "../supervisor.ts"
import { FairStarts } from "./run/fair-starts.ts"
import { newLinkMemory, type LinkMemory } from "./run/link-memory.ts"
import { LinkStates, type RunningLink } from "./link-states.ts"
import { PendingBytes } from "./run/pending-deliveries.ts"
import { ProgressSaves } from "./run/progress-saves.ts"
import { publishLinkStates } from "./publish-link-states.ts"
import { shapeOf, WebhookLink, type WebhookLinkDeps } from "./run/webhook-link.ts"

/** Time between two measurements. */
const measureMs = 10_000

/** Links started in one turn of the event loop, since each reads a little. */
const startsPerTurn = 50

/** Longest that a stop waits for the last progress to be saved, and again for the last attempts of the history. */
const savesMsMax = 1_000

/** Dependencies of a runner of links. */
export interface LinkRunnerDeps extends SendingDeps {
  /** Absent where no other process shares the store. */
  readonly sharedLinkStates?: SharedLinkStates | undefined
  /** Most attempts of a link in flight or not saved: at most so many are repeated after a crash. */
  readonly concurrencyPerLink: number
  readonly deliveryAttemptsMax: number
  readonly retryBaseMs: number
  readonly retryMaxMs: number
}

/** Runs links, and measures them. */
export class LinkRunner {
  readonly #deps: LinkRunnerDeps
  readonly #linkDeps: WebhookLinkDeps
  /** States of links, running here or not. */
  readonly states: LinkStates
  readonly #saves: ProgressSaves
  readonly #history: AttemptHistory
  readonly #supervisor: Supervisor<LinkId, RunningLink>
  readonly #watch: ControlWatch
  #reconcileGeneration = 0
  /** True when the last reconcile completed. */
  #isReconciled = false

  constructor(deps: LinkRunnerDeps) {
    this.#deps = deps
    this.#saves = new ProgressSaves(deps)
    this.#history = new AttemptHistory(deps)
    this.#supervisor = new Supervisor("webhook link", deps)
    this.#watch = new ControlWatch("webhook links", (stop) => this.#reconcile(stop), deps)
    this.states = new LinkStates(deps, this.links)
    this.#linkDeps = {
      ...deps,
      retry: { baseMs: deps.retryBaseMs, maxMs: deps.retryMaxMs },
      saves: this.#saves,
      history: this.#history,
      pendingBytes: new PendingBytes(deps.deliveryThreads),
      starts: new FairStarts(),
      reconcileGeneration: () => this.#reconcileGeneration,
    }
  }

  /** The links that run here. */
  get links(): ReadonlyMap<LinkId, RunningLink> {
    return this.#supervisor.loops
  }

  /** Runs links until aborted. Resolves as `WebhookLinks.run`. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, drainMsMax } = this.#deps
    const drained = new AbortController()
    const saving = this.#saves.run(drained.signal)
    const stopListening = this.#deps.leases.onChange(() => this.#watch.requestReconcile())
    await Promise.all([this.#watch.run(signal), this.#measure(signal), this.#share(signal)])
    stopListening()
    // When nothing can be saved any more, nothing that is in flight ends.
    await Promise.race([this.#supervisor.stopAll(), saving, clock.sleep(drainMsMax, drained.signal)])
    drained.abort()
    await this.#orTimeout(saving)
    await this.#orTimeout(this.#history.close())
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    this.#isReconciled = false
    const generation = ++this.#reconcileGeneration
    const leaseOf = this.#deps.leases.snapshot()
    // Theirs are read again when their results are saved: else these would be repeated.
    const busy = new Set(this.#supervisor.busy)
    const links = new Map((await this.#deps.store.allLinks()).map((link) => [link.id, link]))
    for (const [id, { lease }] of this.links) {
      if (!links.has(id) || this.#deps.leases.ofLink(id) !== lease) void this.#stop(id)
    }
    let started = 0
    for (const [id, link] of links) {
      if (signal.aborted) return
      const running = this.links.get(id)
      if (running === undefined) {
        const lease = leaseOf(id)
        if (lease === undefined || busy.has(id)) continue
        this.#start(link, lease)
        started += 1
        if (started % startsPerTurn === 0) await nextTurn()
      } else {
        const { endpoint } = running
        // The link was read after its webhook was invalidated.
        if (generation > (endpoint.goneAtGeneration ?? generation)) endpoint.goneAtGeneration = undefined
        running.link = asKnown(link, running)
        running.current?.update(running.link)
      }
    }
    this.#deps.leases.stopped([...links.keys()].filter((id) => !this.#supervisor.busy.has(id)))
    this.#isReconciled = true
  }

  async #stop(id: LinkId): Promise<void> {
    await this.#supervisor.stop(id)
    this.#deps.leases.stopped([id])
    // The lease may have come back meanwhile.
    this.#watch.requestReconcile()
  }

  #start(link: LinkToDeliver, lease: number): void {
    const running: RunningLink = { ...newLinkMemory(this.#deps), link, lease, current: undefined }
    this.#supervisor.start(link.id, running, (signal) => this.#runLink(running, signal))
  }

  async #runLink(running: RunningLink, signal: AbortSignal): Promise<void> {
    const { link, current } = running
    const retries = await this.#deps.store.retries(link.id, shapeOf(link), link.appId)
    // The results of an earlier run are all saved, perhaps after the link was read.
    const position = Math.max(running.link.position, current?.cursor.position ?? 0) as MatchSeq
    const known = { ...asKnown(running.link, running), position, redeliveries: link.redeliveries }
    const { lease } = running
    running.current = new WebhookLink({ link: known, retries, lease }, this.#linkDeps, running, signal)
    const run = running.current.run()
    // Redeliveries that came while retries were read may not be among them.
    if (running.link.redeliveries !== link.redeliveries) running.current.update(asKnown(running.link, running))
    await run
  }

  async #share(signal: AbortSignal): Promise<void> {
    const { sharedLinkStates } = this.#deps
    if (sharedLinkStates !== undefined) await publishLinkStates(sharedLinkStates, this.links, this.#deps, signal)
  }

  async #measure(signal: AbortSignal): Promise<void> {
    const { clock, events } = this.#deps
    while (!signal.aborted) {
      await clock.pause(measureMs, signal)
      try {
        if (signal.aborted) return
        const measured = await this.states.measure()
        // The sums lack the links that could not be reconciled.
        if (this.#isReconciled) events.linksMeasured(measured)
        else events.linksNotMeasured()
      } catch (error) {
        events.linksNotMeasured()
        events.failed({ where: "link metrics", error })
      }
    }
  }

  /** A store that hangs must not make a stop hang: what is not saved is repeated after the next start. */
  async #orTimeout(saving: Promise<void>): Promise<void> {
    const saved = new AbortController()
    await Promise.race([saving, this.#deps.clock.sleep(savesMsMax, saved.signal)])
    saved.abort()
  }
}

/** The link as it was read, unless its endpoint has returned 410 Gone since then. */
function asKnown(link: LinkToDeliver, { endpoint }: LinkMemory): LinkToDeliver {
  return endpoint.goneAtGeneration === undefined ? link : { ...link, valid: false }
}
