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
import type { Events } from "../runtime/events/events.ts"
import { lineOf } from "./message-line.ts"

/** Why a message is no post. */
export type Rejection = Pick<IngestReport["rejected"][number], "title" | "detail">

/** A message of a broker. Only `deadLetter` fails: what is not acknowledged is sent again. */
export interface SourceMessage {
  readonly data: Uint8Array
  /** True when the broker has sent it before. */
  readonly isRedelivered: boolean
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
  readonly events: Pick<Events, "failed" | "sourceMessageRedelivered" | "sourceMessagesDone" | "sourceMessagesReturned">
  /** Aborted when no further message is to be taken. */
  readonly closing: AbortSignal
}

/**
 * Most messages, and most of their bytes, that are received and not acknowledged. At the bound no other one is
 * received. Ours.
 */
const messagesMax = 2_000
const bytesMax = 16 * 1024 * 1024

/** Wait after the first failure, doubled with each further one, and the longest. Ours. */
const backoffMsMin = 500
const backoffMsMax = 30_000

/** The wait after so many failures in a row, at least one. */
export function backoffMs(failures: number): number {
  return Math.min(backoffMsMax, backoffMsMin * 2 ** Math.min(failures - 1, 10))
}

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

  /** Takes a message. Resolves when another one may be taken. */
  async take(message: SourceMessage): Promise<void> {
    const { closing, events } = this.#deps
    await this.#pause
    if (closing.aborted) return message.giveBack(0)
    if (message.isRedelivered) events.sourceMessageRedelivered()
    this.#bytes += message.data.length
    const line = lineOf(message.data)
    if (line === undefined) this.#reject(message, { title: "Empty Message", detail: "The message is blank." })
    else await this.#write(message, line)
    while (this.inFlight >= messagesMax || this.#bytes >= bytesMax) await this.#room.promise
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

  async #write(message: SourceMessage, line: Uint8Array): Promise<void> {
    this.#written.push(message)
    let body: IntakeBody | undefined
    try {
      body = this.#body ??= this.#openBody()
      await body.write(line)
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
  #settle({ lines, accepted, duplicates, rejected }: IngestReport): void {
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
    this.#deps.events.sourceMessagesDone({ accepted, duplicates })
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
      delayMs = backoffMs(this.#failures)
      this.#pause = this.#deps.clock.sleep(delayMs, this.#deps.closing)
    }
    const messages = this.#written.splice(0)
    for (const message of messages) {
      message.giveBack(delayMs)
      this.#bytes -= message.data.length
    }
    if (messages.length > 0) {
      this.#deps.events.sourceMessagesReturned({ messages: messages.length, delayMs })
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
      const { events } = this.#deps
      events.failed({ where: "source dead letters", error })
      // Until there is a place for it, the message stays with the broker.
      message.giveBack(backoffMsMax)
      events.sourceMessagesReturned({ messages: 1, delayMs: backoffMsMax })
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
