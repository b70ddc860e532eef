/**
 * The leases of a process: links and periodic tasks that it drives, as it knows them. The rows: `lease-rows.ts`.
 *
 *     every 2 s, and when control data has changed:
 *       my row in `processes` lives 6 s longer          (a transaction of its own, which waits for nobody)
 *        ─► rows that were not renewed are deleted, their links are free
 *        ─► too few links for me? take free ones
 *        ─► too many? stop the newest, then give them back
 *
 * A process that is paused in mid-transaction keeps its locks on links until PostgreSQL ends the transaction: 4 s
 * later, before it counts as dead. So a process that takes its links over does not wait for it.
 *
 * All times are PostgreSQL's, so that clocks of machines do not matter; a process measures its own delay by its monotonic
 * clock, from before the renewal was sent. It stops sending a second before its row may be deleted. A row that has been
 * deleted does not come back: the process gets another number and no links.
 */
import type { LinkId } from "../../../model/ids.ts"
import type { Clock } from "../../../runtime/clock.ts"
import { ChangeListeners } from "../../change-listeners.ts"
import type { Leases, LinkLease, SoleTask } from "../../leases.ts"
import type { Store } from "../../store.ts"
import type { ClusterDatabase } from "../connection/database.ts"
import { freeLinks, leaveShares, livesMs, renewProcess, share } from "../nouns/lease-rows.ts"

/** Time between two renewals. */
const renewMs = 2_000

/** A process counts itself as dead so much earlier than the others do. */
const marginMs = 1_000

/** Least time between two renewals, so that many changes do not cause as many. */
const pauseMs = 100

/** The leases' dependencies. */
interface LeasesDeps {
  readonly database: ClusterDatabase
  readonly store: Pick<Store, "onChange">
  readonly clock: Clock
  /** Names of the sources that this process can drive. */
  readonly sources?: readonly string[] | undefined
  /** Called when a renewal fails. */
  readonly failed: (error: unknown) => void
}

/** The leases of this process, which are renewed until it is disposed of. */
export class ClusterLeases implements Leases, AsyncDisposable {
  readonly #deps: LeasesDeps
  readonly #listeners = new ChangeListeners<void>()
  readonly #closing = new AbortController()
  /** Links that are being stopped, to be given back. */
  readonly #leaving = new Set<LinkId>()
  /** Those of them that have stopped. */
  readonly #stopped = new Set<LinkId>()
  #isGivingBack = false
  #givingBack: Promise<void> = Promise.resolve()
  #process: string | undefined
  #moves: string | undefined
  #links = new Map<LinkId, number>()
  #tasks: ReadonlySet<string> = new Set()
  /** Monotonic time until which the leases hold. */
  #holdsUntilMs = 0
  #wake: (() => void) | undefined
  #isWoken = false
  #ended: Promise<void> | undefined

  /** The leases of a process that has just begun. The first renewal is done when it resolves. */
  static async begin(deps: LeasesDeps): Promise<ClusterLeases> {
    const leases = new ClusterLeases(deps)
    await leases.#renew()
    leases.#ended = leases.#renewAlways()
    return leases
  }

  private constructor(deps: LeasesDeps) {
    this.#deps = deps
  }

  /** A number that no other process has which shares the store. */
  get processNumber(): number {
    return Number(this.#process)
  }

  ofLink(id: LinkId): number | undefined {
    return this.#holds && !this.#leaving.has(id) ? this.#links.get(id) : undefined
  }

  snapshot(): (id: LinkId) => number | undefined {
    const links = this.#links
    return (id) => (this.ofLink(id) === links.get(id) ? links.get(id) : undefined)
  }

  has(task: SoleTask): boolean {
    return this.#holds && this.#tasks.has(task)
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.onChange(listener)
  }

  lost(leases: readonly LinkLease[]): void {
    const lost = leases.filter(({ linkId, lease }) => this.#links.get(linkId) === lease)
    if (lost.length === 0) return
    for (const { linkId } of lost) this.#links.delete(linkId)
    // The store's next response counts as changed.
    this.#moves = undefined
    this.#listeners.announce()
    this.#wakeUp()
  }

  stopped(ids: readonly LinkId[]): void {
    for (const id of ids) if (this.#leaving.has(id)) this.#stopped.add(id)
    // Many links stop one after the other: what has stopped meanwhile is given back together.
    if (!this.#isGivingBack) this.#givingBack = this.#giveBackStopped()
  }

  /** Gives everything back: others take it over at their next renewal. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    this.#wakeUp()
    await Promise.all([this.#ended, this.#givingBack])
    this.#listeners.clear()
    const process = this.#process
    if (process === undefined) return
    await this.#deps.database
      .write((transaction) => leaveShares(transaction, process))
      // When this fails, the others find the process dead.
      .catch(() => undefined)
  }

  get #holds(): boolean {
    return this.#deps.clock.monotonicMs() < this.#holdsUntilMs
  }

  async #renewAlways(): Promise<void> {
    const { clock, store, failed } = this.#deps
    const { signal } = this.#closing
    const stopListening = store.onChange((change) => {
      if (change.kind === "control") this.#wakeUp()
    })
    while (!signal.aborted) {
      await this.#pause()
      if (signal.aborted) break
      await this.#renew().catch(failed)
      await clock.sleep(pauseMs, signal)
    }
    stopListening()
  }

  /** Until the next renewal is due, or `#wakeUp` is called. */
  async #pause(): Promise<void> {
    if (!this.#isWoken) {
      const woken = new AbortController()
      this.#wake = () => woken.abort()
      await this.#deps.clock.sleep(renewMs - pauseMs, woken.signal)
      this.#wake = undefined
    }
    this.#isWoken = false
  }

  #wakeUp(): void {
    this.#isWoken = true
    this.#wake?.()
  }

  async #renew(): Promise<void> {
    const { database, clock, sources = [] } = this.#deps
    const sentMs = clock.monotonicMs()
    const process = await database.write((transaction) => renewProcess(transaction, this.#process))
    const wasLate = !this.#holds
    this.#holdsUntilMs = sentMs + livesMs - marginMs
    if (process !== this.#process) this.#beginAs(process)
    else if (wasLate) this.#listeners.announce()
    const held = await database.write((transaction) =>
      share(transaction, process, { sources, movesBefore: this.#moves }),
    )
    const hasNewTasks = !isSameSet(held.tasks, this.#tasks)
    this.#moves = held.moves
    this.#tasks = held.tasks
    if (held.links !== undefined) this.#hold(new Map(held.links))
    const surplus = this.#chooseSurplus(held.surplus)
    if (held.links !== undefined || hasNewTasks || surplus > 0) this.#listeners.announce()
  }

  /** Takes over the links that this process holds, and forgets that others were to be stopped: they were deleted. */
  #hold(links: Map<LinkId, number>): void {
    this.#links = links
    for (const ids of [this.#leaving, this.#stopped]) for (const id of ids) if (!links.has(id)) ids.delete(id)
  }

  /** Leases under an earlier number are lost. */
  #beginAs(process: string): void {
    this.#process = process
    this.#moves = undefined
    this.#links = new Map()
    this.#tasks = new Set()
    this.#leaving.clear()
    this.#stopped.clear()
    this.#listeners.announce()
  }

  /** Marks the newest links beyond this process's share to be stopped. Returns how many are new among them. */
  #chooseSurplus(count: number): number {
    let missing = count - this.#leaving.size
    const before = this.#leaving.size
    for (const id of [...this.#links.keys()].toReversed()) {
      if (missing <= 0) break
      if (this.#leaving.has(id)) continue
      this.#leaving.add(id)
      missing -= 1
    }
    return this.#leaving.size - before
  }

  async #giveBackStopped(): Promise<void> {
    this.#isGivingBack = true
    while (this.#stopped.size > 0) {
      const ids = [...this.#stopped]
      this.#stopped.clear()
      await this.#giveBack(ids)
    }
    this.#isGivingBack = false
  }

  async #giveBack(ids: readonly LinkId[]): Promise<void> {
    const { database, failed } = this.#deps
    const leases = ids.map((id) => this.#links.get(id) ?? 0)
    try {
      await database.write((transaction) => freeLinks(transaction, ids, leases))
      for (const id of ids) this.#links.delete(id)
    } catch (error) {
      // They are stopped here and stay this process's: the next renewal counts them as surplus again.
      failed(error)
    }
    for (const id of ids) this.#leaving.delete(id)
  }
}

function isSameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((one) => b.has(one))
}
