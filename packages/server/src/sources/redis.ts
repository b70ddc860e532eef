/**
 * A stream of Redis as a source of posts: a consumer group, shared by all processes, feeds ingest.
 *
 *     connect ─► find or make the group ─► own pending entries ─► XREADGROUP ─► `MessageFlow` ─► ingest
 *        ▲                                                          ▲   │              │
 *        │                             entries of dead consumers ───┘   │              └─► XACK after the commit
 *        └──── wait ◄── the connection, the group or the stream is gone ┘
 *
 * The group keeps the position. An entry that is not acknowledged stays pending for its consumer: the same process reads it
 * again on its next connection, another one claims it when its consumer has not touched it for half a minute. So nothing is
 * lost wherever it is cut, and since ingest is idempotent nothing is stored twice. There are two connections: one waits for
 * new entries, the other does everything else meanwhile.
 */
import { readFileSync } from "node:fs"
import { hostname } from "node:os"
import { systemRandom } from "../runtime/random.ts"
import { Backoff } from "./backoff.ts"
import { messagesInFlightMax } from "./flow-bounds.ts"
import { MessageFlow, type SourceMessage } from "./message-flow.ts"
import { redisAdvice } from "./redis-advice.ts"
import { connectRedis, isRefusal, type RedisConnection } from "./redis-connection.ts"
import { HeldEntries } from "./redis-entries.ts"
import { consumerPrefix, entries as entriesText, GroupGauge, prepareGroup, tidyConsumers } from "./redis-group.ts"
import {
  compareIds,
  entriesOf,
  idMs,
  listOf,
  membersOf,
  readEntriesOf,
  textOf,
  type RedisEntry,
} from "./redis-reply.ts"
import type { RedisSourceSettings } from "./redis-settings.ts"
import { refuseUnreadable } from "./settings.ts"
import type { AcknowledgedSourceDeps, Source } from "./source.ts"

/** Times that tests shorten. */
export interface RedisTimes {
  /** An entry that its consumer has not touched for so long is claimed by another process. */
  readonly claimIdleMs: number
  /** A consumer without pending entries that has read nothing for so long is deleted. */
  readonly consumerIdleMs: number
  /** Time between two searches for entries to claim, between two measurements, and between two deletions of consumers. */
  readonly claimMs: number
  readonly measureMs: number
  readonly tidyMs: number
}

/** Ours: half a minute as in NATS; a process that is away for an hour does not come back. */
const usualTimes: RedisTimes = {
  claimIdleMs: 30_000,
  consumerIdleMs: 3_600_000,
  claimMs: 2_000,
  measureMs: 2_000,
  tidyMs: 60_000,
}

/** Longest wait of the server for a new entry; an end of the process waits as long. Ours. */
const blockMs = 500

/** Most entries in one reply, and of the first one. Ours. */
const entriesMax = 500
const firstEntriesMax = 64

/** Bytes that one reply may have, judged by the largest entries of those before. Two wait at most. Ours. */
const replyBytesMax = 8 * 1024 * 1024

/** The source. Throws `ConfigError` when a file of the settings cannot be read. */
export function createRedisSource(
  settings: RedisSourceSettings,
  deps: AcknowledgedSourceDeps,
  times: Partial<RedisTimes> = {},
): Source {
  const { name, caFile, password } = settings
  refuseUnreadable(name, [caFile === undefined ? undefined : () => readFileSync(caFile), password])
  const { clock, monitor } = deps
  // The same for all connections of the process: so it knows its own entries again.
  const consumer = `${consumerPrefix}${hostname()}-${process.pid}-${Buffer.from(systemRandom.bytes(4)).toString("hex")}`
  return {
    async run(signal) {
      const backoff = new Backoff(deps)
      let hadGroup = false
      while (!signal.aborted) {
        try {
          using session = await Session.open({ settings, deps, consumer, times: { ...usualTimes, ...times } })
          session.reportMade(hadGroup)
          hadGroup = true
          backoff.opened()
          await session.take(signal, () => backoff.progressed())
        } catch (error) {
          monitor.failed(error, redisAdvice(error, settings))
          await clock.sleep(backoff.failed(), signal)
        }
      }
    },
  }
}

/** Everything that a session is made of. */
interface SessionParts {
  readonly settings: RedisSourceSettings
  readonly deps: AcknowledgedSourceDeps
  readonly consumer: string
  readonly times: RedisTimes
}

/** Both connections, and the group that is read through them. */
class Session implements Disposable {
  readonly #parts: SessionParts
  readonly #reader: RedisConnection
  readonly #commands: RedisConnection
  readonly #made: { readonly madeStream: boolean; readonly madeGroup: boolean }
  readonly #held: HeldEntries
  readonly #gauge: GroupGauge
  readonly #ended = new AbortController()
  /** The last of the own pending entries of an earlier connection that is read; `undefined` when all are. */
  #ownAfter: string | undefined = "0"
  /** The place at which the search for entries to claim goes on, and the time. */
  #claimFrom = "0-0"
  #claimAtMs = 0
  #count = firstEntriesMax
  #largestBytes = 0

  private constructor(
    parts: SessionParts,
    [reader, commands]: readonly [RedisConnection, RedisConnection],
    made: { readonly madeStream: boolean; readonly madeGroup: boolean },
  ) {
    const { settings, deps, consumer } = parts
    this.#parts = parts
    this.#reader = reader
    this.#commands = commands
    this.#made = made
    this.#held = new HeldEntries({ ...deps, connection: commands, consumer, settings })
    this.#gauge = new GroupGauge(commands, settings)
  }

  /** Throws when the server cannot be reached, or its stream cannot be used. */
  static async open(parts: SessionParts): Promise<Session> {
    using opened = new DisposableStack()
    const { settings, consumer } = parts
    const reader = opened.use(await connectRedis(settings, consumer))
    const commands = opened.use(await connectRedis(settings, consumer))
    const made = await prepareGroup(commands, settings)
    // An old server is refused before anything is taken.
    await new GroupGauge(commands, settings).measure()
    opened.move()
    return new Session(parts, [reader, commands], made)
  }

  /** Reports what was made again since the last session. */
  reportMade(hadGroup: boolean): void {
    const { settings, deps } = this.#parts
    if (!hadGroup || !this.#made.madeStream) return
    const toMs = deps.clock.nowMs()
    deps.monitor.gap({
      toMs,
      reason: `The stream ${settings.stream} was deleted, with any entries that were not read.`,
    })
  }

  /**
   * Takes entries until aborted, and finishes those in flight. Calls `taken` whenever some were read. Throws when the group or a
   * connection is gone.
   */
  async take(signal: AbortSignal, taken: () => void): Promise<void> {
    const { settings, deps } = this.#parts
    const flow = new MessageFlow({ ...deps, closing: signal, taken })
    deps.monitor.connected(`stream ${settings.stream}, group ${settings.group}, at ${settings.url}`)
    void this.#repeat(this.#parts.times.measureMs, () => this.#measure(flow))
    void this.#repeat(this.#parts.times.tidyMs, () => this.#tidy())
    void this.#repeat(this.#parts.times.claimIdleMs / 3, async () => this.#held.extend())
    try {
      await this.#takeAll(flow, signal)
    } finally {
      await Promise.race([flow.end(), deps.clock.sleep(deps.drainMsMax)])
      deps.monitor.notMeasured()
      deps.monitor.disconnected()
    }
    await this.#leave()
  }

  /** Takes entries until aborted. While some are taken, the next ones are read. */
  async #takeAll(flow: MessageFlow, signal: AbortSignal): Promise<void> {
    let next = this.#next()
    for (;;) {
      const messages = await next
      // They are held, and go to other processes when the session is left.
      if (signal.aborted) return
      next = this.#next()
      // It is met when these are taken, unless the session fails before.
      next.catch(() => undefined)
      await flow.take(messages)
      this.#held.check()
    }
  }

  [Symbol.dispose](): void {
    this.#ended.abort()
    this.#reader[Symbol.dispose]()
    this.#commands[Symbol.dispose]()
  }

  /** The next entries: own ones of an earlier connection, those that are due again, others' that are dead, new ones. */
  async #next(): Promise<readonly SourceMessage[]> {
    if (this.#ownAfter !== undefined) return this.#hold(await this.#readOwn(this.#ownAfter), true)
    const due = await this.#held.takeDue(this.#count)
    if (due.gone.length > 0) await this.#reportGone(due.gone)
    if (due.entries.length > 0) return this.#hold(due.entries, true)
    const { clock } = this.#parts.deps
    if (clock.monotonicMs() >= this.#claimAtMs) {
      const claimed = await this.#claim()
      if (claimed.length > 0) return this.#hold(claimed, true)
    }
    const waitMs = Math.ceil(this.#held.msUntilDue(blockMs))
    if (this.#held.waiting < messagesInFlightMax) return this.#hold(await this.#readNew(waitMs), false)
    await clock.sleep(waitMs)
    return []
  }

  #hold(found: readonly RedisEntry[], isRedelivered: boolean): readonly SourceMessage[] {
    const trimmed: string[] = []
    const messages: SourceMessage[] = []
    for (const { id, fields } of found) {
      if (fields === undefined) {
        trimmed.push(id)
        this.#held.acknowledge(id)
        continue
      }
      const bytes = fields.reduce((sum, { length }) => sum + length, 0)
      this.#largestBytes = Math.max(this.#largestBytes, bytes)
      const message = this.#held.hold({ id, fields }, isRedelivered)
      if (message !== undefined) messages.push(message)
    }
    this.#reportTrimmed(trimmed)
    if (found.length > 0) this.#adaptCount()
    return messages
  }

  /** Fewer entries at a time while they are large. The largest one is forgotten by and by. */
  #adaptCount(): void {
    this.#count = Math.max(1, Math.min(entriesMax, Math.floor(replyBytesMax / Math.max(1, this.#largestBytes))))
    this.#largestBytes *= 0.9
  }

  async #readOwn(after: string): Promise<readonly RedisEntry[]> {
    const found = await this.#readGroup(after)
    this.#ownAfter = found.at(-1)?.id
    return found
  }

  /** A wait of 0 would have no end. */
  #readNew(waitMs: number): Promise<readonly RedisEntry[]> {
    return this.#readGroup(">", "BLOCK", Math.max(1, waitMs))
  }

  async #readGroup(from: string, ...options: readonly (string | number)[]): Promise<readonly RedisEntry[]> {
    const { settings, consumer } = this.#parts
    const { stream, group } = settings
    const head = ["XREADGROUP", "GROUP", group, consumer, "COUNT", this.#count]
    return readEntriesOf(await this.#reader.send(...head, ...options, "STREAMS", stream, from))
  }

  async #claim(): Promise<readonly RedisEntry[]> {
    const { settings, consumer, times, deps } = this.#parts
    const { stream, group } = settings
    const command = ["XAUTOCLAIM", stream, group, consumer, times.claimIdleMs, this.#claimFrom, "COUNT", this.#count]
    const [next, found, deleted] = listOf(await this.#commands.send(...command))
    this.#claimFrom = textOf(next)
    if (this.#claimFrom === "0-0") this.#claimAtMs = deps.clock.monotonicMs() + times.claimMs
    this.#reportTrimmed(listOf(deleted).map(textOf))
    return entriesOf(found)
  }

  /** Reports entries that were due again and that no consumer has any more, if they were trimmed: then they are before the first one. */
  async #reportGone(ids: readonly string[]): Promise<void> {
    const { stream } = this.#parts.settings
    const first = membersOf(await this.#commands.send("XINFO", "STREAM", stream)).get("first-entry") ?? null
    const firstId = first === null ? undefined : textOf(listOf(first)[0])
    this.#reportTrimmed(ids.filter((id) => firstId === undefined || compareIds(id, firstId) < 0))
  }

  #reportTrimmed(ids: readonly string[]): void {
    if (ids.length === 0) return
    const times = ids.map(idMs).filter((ms) => ms !== undefined)
    this.#parts.deps.monitor.gap({
      ...(times.length > 0 && { fromMs: Math.min(...times), toMs: Math.max(...times) }),
      reason: `The stream ${this.#parts.settings.stream} has trimmed ${entriesText(ids.length)} before they were acknowledged.`,
    })
  }

  async #measure(flow: MessageFlow): Promise<void> {
    const { monitor } = this.#parts.deps
    try {
      const gap = await this.#gauge.gap()
      if (gap !== undefined) monitor.gap(gap)
      const measured = await this.#gauge.measure()
      if (!this.#ended.signal.aborted) monitor.measured({ ...measured, inFlight: flow.inFlight })
    } catch (error) {
      if (this.#ended.signal.aborted) return
      monitor.notMeasured()
      this.#reportRefusal(error)
    }
  }

  async #tidy(): Promise<void> {
    const { settings, times } = this.#parts
    await tidyConsumers(this.#commands, settings, { idleMs: times.consumerIdleMs }).catch((error: unknown) => {
      this.#reportRefusal(error)
    })
  }

  /** Reports an error of the server. A lost connection ends the session, which reports it. */
  #reportRefusal(error: unknown): void {
    const { settings, deps } = this.#parts
    if (isRefusal(error)) deps.monitor.failed(error, redisAdvice(error, settings))
  }

  /** Gives the entries that are not acknowledged to other processes at once, and deletes the consumer of this one. */
  async #leave(): Promise<void> {
    const { settings, consumer } = this.#parts
    await this.#held.release()
    await tidyConsumers(this.#commands, settings, { idleMs: 0, prefix: consumer })
  }

  /** Calls `work` now, and again so long after each call, until the session ends. */
  async #repeat(everyMs: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#ended
    while (!signal.aborted) {
      await work()
      await this.#parts.deps.clock.sleep(everyMs, signal)
    }
  }
}
