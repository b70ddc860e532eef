/**
 * Events as lines for the converter, each with the position behind it, one after the other.
 *
 *     event ─► newest status of its stream ─► {"event":…,"payload":…,"received_ms":…,"position":…} ─► sink
 *
 * The position in a line says what is stored once the line is. So it can be written no earlier, and never skips anything.
 */
import type { Clock } from "../../runtime/clock.ts"
import type { RecordSink } from "../positioned/positioned-source.ts"
import { compareStatusIds, writePosition, type MastodonPosition } from "./mastodon-position.ts"
import type { StreamEvent } from "./stream-event.ts"

/** Writes lines to the sink of a source. */
export class RecordLines {
  readonly #sink: Pick<RecordSink, "take">
  readonly #clock: Pick<Clock, "nowMs">
  readonly #newest: Map<string, string>
  #atMs: number | undefined
  #fromMs: number | undefined
  #accountHost: string | undefined
  #writing: Promise<void> = Promise.resolve()
  /** When a line was last written, Unix ms. */
  writtenAtMs = 0

  /** Begins at a position, of which only these streams are kept. */
  constructor(
    { atMs, fromMs, newest }: MastodonPosition,
    { sink, clock, streams }: { readonly sink: RecordSink; readonly clock: Clock; readonly streams: readonly string[] },
  ) {
    this.#sink = sink
    this.#clock = clock
    this.#newest = new Map([...newest].filter(([name]) => streams.includes(name)))
    this.#atMs = atMs
    this.#fromMs = fromMs
  }

  /** The host in the names of the instance's own accounts. */
  set accountHost(host: string | undefined) {
    this.#accountHost = host
  }

  /** The id of the newest status of a stream that was written. */
  newest(stream: string): string | undefined {
    return this.#newest.get(stream)
  }

  /** A status of the stream is written, or needs not be. */
  note({ stream, id }: { readonly stream: string; readonly id: string }): void {
    const newest = this.#newest.get(stream)
    if (newest === undefined || compareStatusIds(id, newest) > 0) this.#newest.set(stream, id)
  }

  /** Nothing is missing up to this time, Unix ms. */
  readUntil(atMs: number): void {
    this.#atMs = Math.max(this.#atMs ?? 0, atMs)
    this.#fromMs = undefined
  }

  /** Writes an event. Resolves when another one may be written. */
  async write({ event, payload, receivedMs, post }: StreamEvent): Promise<void> {
    if (event === undefined) return this.#take(Buffer.from(String(payload)))
    if (post !== undefined) this.note(post)
    const accountHost = this.#accountHost
    await this.#take({
      event,
      payload,
      received_ms: receivedMs,
      ...(accountHost !== undefined && { account_host: accountHost }),
      position: this.#position(),
    })
  }

  /** Writes the position alone. */
  async writePosition(): Promise<void> {
    await this.#take({ event: "position", position: this.#position() })
  }

  #position(): string {
    const [atMs, fromMs] = [this.#atMs, this.#fromMs]
    return writePosition({
      ...(atMs !== undefined && { atMs }),
      ...(fromMs !== undefined && { fromMs }),
      newest: this.#newest,
    })
  }

  /** One line at a time: the flow behind the sink takes no more. */
  async #take(line: Buffer | object): Promise<void> {
    const bytes = Buffer.isBuffer(line) ? line : Buffer.from(JSON.stringify(line))
    this.writtenAtMs = this.#clock.nowMs()
    const writing = this.#writing.then(() => this.#sink.take(bytes))
    this.#writing = writing.catch(() => undefined)
    await writing
  }
}
