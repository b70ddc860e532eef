/**
 * A source whose position the store keeps: one process drives it.
 *
 *     has the lease? ─► begin: a new number of the driver, the position ─► read from there ─► `RecordFlow` ─► ingest
 *          ▲                                                                  │
 *          └──── wait ◄── lease gone, steered, connection lost, store away ───┘
 *
 * The store refuses a driver with an older number, so a process that was stopped and continues stores nothing twice. A position is stored with the posts before it, so a source goes on exactly behind them.
 */
import type { ConverterSettings } from "../../conversion/converters.ts"
import type { Intake } from "../../ingest/intake.ts"
import { SourceSuperseded } from "../../model/source-superseded.ts"
import type { StoredSource } from "../../model/source.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Random } from "../../runtime/random.ts"
import type { Leases } from "../../store/leases.ts"
import type { SourceReads, SourceWrites } from "../../store/port/source-store.ts"
import type { ChangeSource } from "../../store/store.ts"
import { timeOrderedUuid } from "../../runtime/uuid.ts"
import { Backoff } from "../backoff.ts"
import { withoutSecretsIn } from "../known-secrets.ts"
import { watchSteering } from "../steering.ts"
import type { Source, SourceGap, SourceMonitor, SourceNotice } from "../source.ts"
import { RecordFlow } from "./record-flow.ts"

/** Receives what a reader reads. */
export interface RecordSink {
  /** The number under which the source is read: one more than that of the reading before, unless another process or an operator was between. */
  readonly driver: number
  /** The reader is connected to this side, which it names without secrets. */
  connected(to: string): void
  /** Takes a record. Resolves when another one may be taken: until then the reader reads nothing. */
  take(record: Uint8Array): Promise<void>
  /** The source could not give everything, and never will: a sentence says why. */
  gap(gap: SourceGap): Promise<void>
  /** A notice holds from now on, in place of the last one about the same; without one, none about it holds any more. */
  notice(about: string, notice?: SourceNotice): void
  /** The position up to which everything is stored, as the store says now; undefined before the first. */
  durable(): Promise<string | undefined>
}

/** Reads the records of a source. */
export interface RecordReader {
  /**
   * Reads records behind a position, in order, until aborted: then it returns soon. Throws when the connection is lost or
   * refused; to return before counts as lost, too. An `AdvisedError` says what the operator can do.
   */
  read(position: string | undefined, sink: RecordSink, signal: AbortSignal): Promise<void>
  /** Ends what the reader keeps from one read to the next. Called once, after the last. */
  [Symbol.asyncDispose]?(): PromiseLike<void>
}

/** A failure of which it is known what the operator can do. */
export class AdvisedError extends Error {
  /** A sentence. */
  readonly advice: string
  /** The other side asks not to be connected to before. 0 when it does not ask. */
  readonly waitMs: number

  constructor(message: string, advice: string, { waitMs = 0, ...options }: ErrorOptions & { waitMs?: number } = {}) {
    super(message, options)
    this.advice = advice
    this.waitMs = waitMs
  }
}

/** Dependencies of a source with a position. */
export interface PositionedSourceDeps {
  readonly store: SourceReads & SourceWrites & ChangeSource
  readonly leases: Pick<Leases, "has" | "onChange">
  readonly intake: Pick<Intake, "openSource">
  readonly clock: Clock
  /** The machine's when it is absent. */
  readonly random?: Pick<Random, "fraction"> | undefined
  readonly monitor: SourceMonitor
  /** Longest wait for records in flight at the end. */
  readonly drainMsMax: number
}

/** Time between two looks for the lease, if no hint comes. Ours. */
const leaseMs = 2_000

/** The source of a name, read by `reader` and converted by `converter`. */
export function createPositionedSource(
  name: string,
  { reader, converter }: { readonly reader: RecordReader; readonly converter: ConverterSettings },
  deps: PositionedSourceDeps,
): Source {
  const { leases, clock, monitor } = deps
  const task = `source ${name}` as const
  return {
    async run(signal) {
      const backoff = new Backoff(deps)
      let failedAt: string | undefined
      while (!signal.aborted) {
        if (!leases.has(task)) {
          await changed(deps, signal)
          continue
        }
        try {
          backoff.opened()
          await drive(name, { reader, converter }, deps, signal)
          backoff.progressed()
        } catch (error) {
          if (signal.aborted) break
          // A source that closes each connection after some records goes on at once, as long as its position moves.
          const position = await durablePosition(name, deps).catch(() => failedAt)
          if (position !== failedAt) backoff.progressed()
          failedAt = position
          const { advice, waitMs = 0 } = error instanceof AdvisedError ? error : {}
          monitor.failed(error, advice)
          await clock.sleep(Math.max(waitMs, backoff.failed()), signal)
        }
      }
      await reader[Symbol.asyncDispose]?.()
    },
  }
}

/** Drives the source until it is to be driven by another process, or in another way. Throws why it cannot be read. */
async function drive(
  name: string,
  { reader, converter }: { readonly reader: RecordReader; readonly converter: ConverterSettings },
  deps: PositionedSourceDeps,
  signal: AbortSignal,
): Promise<void> {
  const begun = await deps.store.beginSource(name)
  if (begun.isPaused) {
    await using session = new Session(begun, deps, signal)
    await session.over()
    return
  }
  const flow = new RecordFlow({ source: begun, converter }, deps)
  await using session = new Session(begun, deps, AbortSignal.any([signal, flow.failed]))
  let isConnected = false
  const sink: RecordSink = {
    driver: begun.driver,
    connected(to) {
      isConnected = true
      deps.monitor.connected(to)
    },
    take: (record) => flow.take(record),
    notice: (about, notice) => deps.monitor.noticed(about, notice),
    async gap(found) {
      const gap = withoutSecretsIn(found)
      deps.monitor.gap(gap)
      const nowMs = deps.clock.nowMs()
      await deps.store.noteSourceGap({ ...gap, id: timeOrderedUuid(nowMs), source: name, notedAtMs: nowMs })
    },
    durable: () => durablePosition(name, deps),
  }
  try {
    await reader.read(begun.position, sink, session.signal)
    if (!session.signal.aborted) throw new Error("The source has ended the connection.")
  } catch (error) {
    // A flow that has failed is why the reader could not go on.
    const reason: unknown = flow.failed.aborted ? flow.failed.reason : error
    if (!session.signal.aborted || flow.failed.aborted) throwUnlessSuperseded(reason)
  } finally {
    await Promise.race([flow.end().catch(() => undefined), deps.clock.sleep(deps.drainMsMax)])
    deps.monitor.notMeasured()
    if (isConnected) deps.monitor.disconnected()
  }
  if (flow.failed.aborted) throwUnlessSuperseded(flow.failed.reason)
}

/** The position that is stored; undefined when the source has none. */
async function durablePosition(
  name: string,
  { store }: Pick<PositionedSourceDeps, "store">,
): Promise<string | undefined> {
  return (await store.sources()).find((source) => source.name === name)?.position
}

/** Another process drives the source, or it was steered: that is no failure. */
function throwUnlessSuperseded(reason: unknown): void {
  if (!(reason instanceof SourceSuperseded)) throw reason
}

/** The time in which this process drives a source under one number; it is over when `signal` aborts, or before. */
class Session implements AsyncDisposable {
  /** Aborted when the session is over. */
  readonly signal: AbortSignal
  readonly #end = new AbortController()
  readonly #watching: Promise<void>
  readonly #driver: StoredSource
  readonly #deps: PositionedSourceDeps

  constructor(driver: StoredSource, deps: PositionedSourceDeps, signal: AbortSignal) {
    this.#driver = driver
    this.#deps = deps
    this.signal = AbortSignal.any([this.#end.signal, signal])
    this.#watching = watchSteering(deps, this.signal, () => this.#check())
  }

  /** Resolves when the session is over. */
  async over(): Promise<void> {
    await this.#watching
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort()
    await this.#watching
  }

  /** Ends the session when another one has begun, or may begin. */
  async #check(): Promise<void> {
    const { leases, store } = this.#deps
    const { name, driver } = this.#driver
    if (!leases.has(`source ${name}`)) this.#end.abort()
    // While the store is away nothing can be stored either: the flow fails by itself.
    const sources = await store.sources().catch(() => undefined)
    const found = sources?.find((source) => source.name === name)
    if (sources !== undefined && found?.driver !== driver) this.#end.abort()
  }
}

/** Resolves when the leases change, or after a while, or when aborted. */
async function changed({ leases, clock }: PositionedSourceDeps, signal: AbortSignal): Promise<void> {
  const woken = new AbortController()
  const stopListening = leases.onChange(() => woken.abort())
  await clock.sleep(leaseMs, AbortSignal.any([signal, woken.signal]))
  stopListening()
}
