/**
 * The entries that one consumer holds: those in flight, and those that were given back and are due again later. The group
 * lists both as pending for the consumer, until they are acknowledged.
 *
 *     hold ─► in flight ── acknowledge ─► XACK, for all entries of a moment together
 *               ▲    └──── give back ───► waits for its time ── due ─► XCLAIM ─┐
 *               └──────────────────────────────────────────────────────────────┘
 *
 * When the process dies, the entries stay pending without a reader, and another process claims them after a time.
 */
import type { Clock } from "../runtime/clock.ts"
import type { RedisConnection, RedisReply } from "./redis-connection.ts"
import { entriesOf, idMs, type RedisEntry } from "./redis-reply.ts"
import type { RedisSourceSettings } from "./redis-settings.ts"
import type { Rejection, SourceMessage } from "./message-flow.ts"
import { reasonText } from "./reason-text.ts"
import type { SourceMonitor } from "./source.ts"

/** Dependencies of the entries. */
export interface HeldEntriesDeps {
  readonly connection: RedisConnection
  readonly consumer: string
  readonly settings: RedisSourceSettings
  readonly clock: Pick<Clock, "monotonicMs" | "nowMs">
  readonly monitor: Pick<SourceMonitor, "deadLettered">
}

/** Most ids in one command. Ours. */
const idsMax = 1_000

/** About how many dead letters their stream keeps; the oldest go first. Ours. */
const deadLettersMax = 10_000

/** The time that an entry seems to be untouched when it is released: longer than any process waits to claim it. Ours. */
const releasedIdleMs = 86_400_000

/** Names of fields of a dead letter that Sluice adds begin so. */
const ownFieldPrefix = "sluice-"

/** An entry that waits, and for how long it was given back. */
interface Waiting {
  readonly dueMs: number
  readonly delayMs: number
}

/** Entries of one consumer, on one connection. */
export class HeldEntries {
  readonly #deps: HeldEntriesDeps
  /** The name of the field that holds the post. */
  readonly #field: Buffer
  readonly #inFlight = new Set<string>()
  readonly #waiting = new Map<string, Waiting>()
  #toAcknowledge: string[] = []
  readonly #sending = new Set<Promise<unknown>>()
  #fault: { readonly error: unknown } | undefined

  constructor(deps: HeldEntriesDeps) {
    this.#deps = deps
    this.#field = Buffer.from(deps.settings.field)
  }

  /** Entries that were given back and wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Throws the error by which an acknowledgement failed, if one has. */
  check(): void {
    if (this.#fault !== undefined) throw this.#fault.error
  }

  /** The message of an entry that was read; `undefined` of one that is in flight already. */
  hold(entry: RedisEntry & Required<Pick<RedisEntry, "fields">>, isRedelivered: boolean): SourceMessage | undefined {
    const { id, fields } = entry
    if (this.#inFlight.has(id)) return undefined
    this.#waiting.delete(id)
    this.#inFlight.add(id)
    const at = fields.findIndex((name, index) => index % 2 === 0 && name.equals(this.#field))
    const data = at === -1 ? undefined : fields[at + 1]
    return {
      data: data ?? new Uint8Array(),
      isRedelivered,
      ...(data === undefined && {
        refused: {
          title: "Missing Field",
          detail: `The entry has no field ${this.#deps.settings.field}, which holds the post.`,
        },
      }),
      acknowledge: () => this.acknowledge(id),
      giveBack: (delayMs) => this.#giveBack(id, delayMs),
      // All entries that are held are extended together, also those that wait for room.
      extend: () => undefined,
      deadLetter: (rejection) => this.#deadLetter(id, fields, rejection),
    }
  }

  /** Ends the delivery of an entry, soon. */
  acknowledge(id: string): void {
    this.#inFlight.delete(id)
    if (this.#toAcknowledge.length === 0) queueMicrotask(() => this.#sendAcknowledgements())
    this.#toAcknowledge.push(id)
  }

  /** The time since the entries were read begins anew, so that no other process claims them. */
  extend(): void {
    const ids = [...this.#inFlight]
    for (let at = 0; at < ids.length; at += idsMax) {
      this.#send(this.#claim(ids.slice(at, at + idsMax), 0, "JUSTID"))
    }
  }

  /** Time until the first entry that waits is due; at most `ms`. */
  msUntilDue(ms: number): number {
    const nowMs = this.#deps.clock.monotonicMs()
    return Math.max(
      0,
      this.#waiting.values().reduce((least, { dueMs }) => Math.min(least, dueMs - nowMs), ms),
    )
  }

  /**
   * Entries that are due again, with their bytes; at most `count`. Others that were due are gone: acknowledged or claimed
   * by another process, or trimmed. An entry that another process has touched since is left to it.
   */
  async takeDue(count: number): Promise<{ readonly entries: readonly RedisEntry[]; readonly gone: readonly string[] }> {
    const nowMs = this.#deps.clock.monotonicMs()
    const due = [...this.#waiting].filter(([, { dueMs }]) => dueMs <= nowMs).slice(0, count)
    if (due.length === 0) return { entries: [], gone: [] }
    const ids = due.map(([id]) => id)
    const idleMs = Math.min(...due.map(([, { delayMs }]) => delayMs))
    const entries = entriesOf(await this.#claim(ids, idleMs))
    for (const id of ids) this.#waiting.delete(id)
    const found = new Set(entries.map(({ id }) => id))
    return { entries, gone: ids.filter((id) => !found.has(id)) }
  }

  /** Waits until what was to be sent is sent; then other processes may claim what waits at once. */
  async release(): Promise<void> {
    this.#sendAcknowledgements()
    await Promise.all(this.#sending)
    const ids = [...this.#waiting.keys(), ...this.#inFlight]
    for (let at = 0; at < ids.length; at += idsMax) {
      await this.#claim(ids.slice(at, at + idsMax), 0, "IDLE", releasedIdleMs, "JUSTID")
    }
  }

  #claim(ids: readonly string[], idleMs: number, ...options: readonly (string | number)[]): Promise<RedisReply> {
    const { connection, consumer, settings } = this.#deps
    return connection.send("XCLAIM", settings.stream, settings.group, consumer, idleMs, ...ids, ...options)
  }

  #giveBack(id: string, delayMs: number): void {
    this.#inFlight.delete(id)
    this.#waiting.set(id, { dueMs: this.#deps.clock.monotonicMs() + delayMs, delayMs })
  }

  #sendAcknowledgements(): void {
    const { connection, settings } = this.#deps
    const ids = this.#toAcknowledge.splice(0)
    for (let at = 0; at < ids.length; at += idsMax) {
      this.#send(connection.send("XACK", settings.stream, settings.group, ...ids.slice(at, at + idsMax)))
    }
  }

  /** Entries that could not be acknowledged stay pending, and are read again by the next session. */
  #send(sent: Promise<unknown>): void {
    const done = sent
      .catch((error: unknown) => {
        this.#fault ??= { error }
      })
      .finally(() => this.#sending.delete(done))
    this.#sending.add(done)
  }

  /** First the dead letter is in its stream, then the entry is acknowledged. A crash in between makes it twice. */
  async #deadLetter(id: string, fields: readonly Buffer[], rejection: Rejection): Promise<void> {
    const { connection, settings, clock, monitor } = this.#deps
    const { stream, group, deadLetterStream } = settings
    const storedMs = idMs(id)
    const members = {
      reason: rejection.title,
      detail: reasonText(rejection.detail),
      stream,
      group,
      id,
      ...(storedMs !== undefined && { time: new Date(storedMs).toISOString() }),
      rejected: new Date(clock.nowMs()).toISOString(),
    }
    const own = Object.entries(members).flatMap(([name, value]) => [ownFieldPrefix + name, value])
    const trimmed = ["MAXLEN", "~", deadLettersMax, "*"]
    await connection.send("XADD", deadLetterStream, ...trimmed, ...own, ...withoutOwnFields(fields))
    this.acknowledge(id)
    monitor.deadLettered({ ...rejection, place: `stream ${stream}, id ${id}` })
  }
}

function withoutOwnFields(fields: readonly Buffer[]): readonly Buffer[] {
  const prefix = Buffer.from(ownFieldPrefix)
  const isOwn = (name: Buffer | undefined): boolean => name?.subarray(0, prefix.length).equals(prefix) === true
  return fields.filter((_, at) => !isOwn(fields[at - (at % 2)]))
}
