/**
 * Messages of a broker into ingest: each is a line of one endless body, and is acknowledged after the commit.
 *
 *     message ─► line ─► intake ── batch is durable ──► acknowledge, or send to the dead letters
 *         ◄──────────────┴── store or embeddings unavailable: return all that are in flight, wait, open another body
 *
 * Lines are reported in the order in which they were written, so the messages in flight are a queue. A broker sends a
 * message again when it was not acknowledged; ingest knows the post by its id and stores it once.
 */
import type { Intake } from "../ingest/intake.ts"
import type { IngestReport } from "../ingest/ingest-report.ts"
import { BodyRefused, type IntakeBody } from "../ingest/port-body.ts"
import type { Clock } from "../runtime/clock.ts"
import { systemRandom, type Random } from "../runtime/random.ts"
import { backoffMs, backoffMsMax } from "./backoff.ts"
import { bytesInFlightMax, messagesInFlightMax } from "./flow-bounds.ts"
import { lineOf } from "./message-line.ts"
import type { SourceMonitor } from "./source.ts"

/** Why a message is no post. */
export type Rejection = Pick<IngestReport["rejected"][number], "title" | "detail">

/** A message of a broker. Only `deadLetter` fails: what is not acknowledged is sent again. */
export interface SourceMessage {
  readonly data: Uint8Array
  /** True when the broker has sent it before. */
  readonly isRedelivered: boolean
  /** Why it is no post, where the source sees that itself. */
  readonly refused?: Rejection
  /** It is done. */
  acknowledge(): void
  /** It is to be sent again after `delayMs`, to this process or another one. */
  giveBack(delayMs: number): void
  /** It is still worked on: the broker is not to send it again yet. */
  extend(): void
  /** It is no post: keeps it elsewhere, and ends its delivery. Rejects when it could not be kept. */
  deadLetter(reason: Rejection): Promise<void>
}

/** Dependencies of the flow. */
export interface MessageFlowDeps {
  readonly intake: Pick<Intake, "open">
  readonly clock: Pick<Clock, "sleep">
  /** The machine's when it is absent. */
  readonly random?: Pick<Random, "fraction"> | undefined
  readonly monitor: Pick<SourceMonitor, "failed" | "redelivered" | "done" | "returned">
  /** Aborted when no further message is to be taken. */
  readonly closing: AbortSignal
  /** Called whenever messages are taken. */
  readonly taken: () => void
}

const emptyMessage: Rejection = { title: "Empty Message", detail: "The message is blank." }

/** Advice when a message that is no post could not be kept elsewhere. */
const deadLetterAdvice =
  "Make room for the dead letters of the source: a message that is no post stays with it until then."

/** Bytes of lines that are written together. Ours: as many as a socket gives at once. */
const chunkBytes = 65_536

/** Takes messages, one call of `take` at a time; `end` is the last. */
export class MessageFlow {
  readonly #deps: MessageFlowDeps
  #body: IntakeBody | undefined
  /** Lines of the body that are reported. */
  #linesDone = 0
  /** Messages that are written to the body and not reported, in order. */
  #written: SourceMessage[] = []
  /** Messages on their way to the dead letters. */
  readonly #rejected = new Map<SourceMessage, Promise<void>>()
  /** Bytes of both. */
  #bytes = 0
  #room = Promise.withResolvers<void>()
  /** Failures since the last batch that became durable. */
  #failures = 0
  /** Resolved when messages may be taken again after a failure. */
  #pause = Promise.resolve()

  constructor(deps: MessageFlowDeps) {
    this.#deps = deps
  }

  /** Messages that are taken and not acknowledged. */
  get inFlight(): number {
    return this.#written.length + this.#rejected.size
  }

  /** Takes messages, in their order. Resolves when others may be taken. */
  async take(messages: readonly SourceMessage[]): Promise<void> {
    for (let taken = 0; taken < messages.length;) {
      await this.#pause
      const part = this.#partOf(messages, taken)
      taken += part.length
      if (this.#deps.closing.aborted) for (const message of part) message.giveBack(0)
      else await this.#takePart(part)
      while (this.inFlight >= messagesInFlightMax || this.#bytes >= bytesInFlightMax) await this.#room.promise
    }
  }

  /** Keeps the broker from sending again what is in flight. */
  extend(): void {
    for (const message of [...this.#written, ...this.#rejected.keys()]) message.extend()
  }

  /** Waits until all messages that were taken are acknowledged or given back. */
  async end(): Promise<void> {
    const body = this.#body
    try {
      await body?.end()
    } catch (reason) {
      this.#fail(body, reason)
    }
    await Promise.all(this.#rejected.values())
  }

  /** The next messages: as many as one chunk holds and there is room for, at least one. */
  #partOf(messages: readonly SourceMessage[], from: number): readonly SourceMessage[] {
    const end = from + Math.max(1, messagesInFlightMax - this.inFlight)
    let [to, bytes] = [from, 0]
    for (; to < end && bytes < chunkBytes; to += 1) {
      const message = messages[to]
      if (message === undefined) break
      bytes += message.data.length
    }
    return messages.slice(from, to)
  }

  async #takePart(messages: readonly SourceMessage[]): Promise<void> {
    this.#deps.taken()
    const written: SourceMessage[] = []
    const lines: Uint8Array[] = []
    for (const message of messages) {
      if (message.isRedelivered) this.#deps.monitor.redelivered()
      this.#bytes += message.data.length
      const line = message.refused === undefined ? lineOf(message.data) : undefined
      if (line === undefined) {
        this.#reject(message, message.refused ?? emptyMessage)
        continue
      }
      written.push(message)
      lines.push(line)
    }
    const [only] = lines
    if (only !== undefined) await this.#write(written, lines.length === 1 ? only : Buffer.concat(lines))
  }

  async #write(messages: readonly SourceMessage[], lines: Uint8Array): Promise<void> {
    this.#written.push(...messages)
    let body: IntakeBody | undefined
    try {
      body = this.#body ??= this.#openBody()
      await body.write(lines)
    } catch (reason) {
      this.#fail(body, reason)
    }
  }

  #openBody(): IntakeBody {
    this.#linesDone = 0
    const body = this.#deps.intake.open((report) => {
      if (body === this.#body) this.#settle(report)
    })
    body.failed.addEventListener("abort", () => this.#fail(body, body.failed.reason), { once: true })
    return body
  }

  /** The next lines of the body are durable or rejected. */
  #settle({ lines, accepted, duplicates, deleted = 0, rejected }: IngestReport): void {
    const rejections = new Map(rejected.map((rejection) => [rejection.line - this.#linesDone - 1, rejection]))
    this.#linesDone += lines
    this.#failures = 0
    for (const [at, message] of this.#written.splice(0, lines).entries()) {
      const rejection = rejections.get(at)
      if (rejection !== undefined) {
        this.#reject(message, rejection)
        continue
      }
      message.acknowledge()
      this.#bytes -= message.data.length
    }
    this.#deps.monitor.done({ accepted, duplicates, deleted })
    this.#makeRoom()
  }

  /** The body accepts no further writes. Its messages in flight are given back; some may be stored all the same. */
  #fail(body: IntakeBody | undefined, reason: unknown): void {
    // It is known already.
    if (body !== this.#body) return
    body?.abort()
    this.#body = undefined
    // After too many rejected lines the rest of a body is not read: that says nothing about the messages after them.
    let delayMs = 0
    if (!(reason instanceof BodyRefused)) {
      this.#failures += 1
      const { random = systemRandom } = this.#deps
      delayMs = backoffMs(this.#failures, random.fraction())
      this.#pause = this.#deps.clock.sleep(delayMs, this.#deps.closing)
    }
    const messages = this.#written.splice(0)
    for (const message of messages) {
      message.giveBack(delayMs)
      this.#bytes -= message.data.length
    }
    if (messages.length > 0) {
      this.#deps.monitor.returned({ messages: messages.length, delayMs })
    }
    this.#makeRoom()
  }

  #reject(message: SourceMessage, rejection: Rejection): void {
    this.#rejected.set(message, this.#keepRejected(message, rejection))
  }

  async #keepRejected(message: SourceMessage, rejection: Rejection): Promise<void> {
    try {
      await message.deadLetter(rejection)
    } catch (error) {
      const { monitor } = this.#deps
      monitor.failed(error, deadLetterAdvice)
      // Until there is a place for it, the message stays with the broker.
      message.giveBack(backoffMsMax)
      monitor.returned({ messages: 1, delayMs: backoffMsMax })
    }
    this.#rejected.delete(message)
    this.#bytes -= message.data.length
    this.#makeRoom()
  }

  #makeRoom(): void {
    this.#room.resolve()
    this.#room = Promise.withResolvers()
  }
}
