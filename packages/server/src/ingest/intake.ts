/**
 * The main thread's door to ingest: bodies go in by chunks, reports come out.
 *
 *     main thread                         intake thread
 *     body.write(chunk) ── bytes ──►      PostAcceptor
 *       (waits while more than
 *        a window is unread)  ◄── consumed ──
 *     onBatch(report)         ◄── batch ──    after each commit
 *     body.end()              ◄── done ──     after the last
 *
 * Bytes are copied once, out of the socket's buffer, and then change hands without a copy.
 */
import type { MessagePort } from "node:worker_threads"
import { storeUnavailable } from "../model/problem.ts"
import { addReports, emptyReport, type IngestReport } from "./accept-posts.ts"

/** From the main thread. */
export type IntakeRequest =
  | { readonly kind: "chunk"; readonly body: number; readonly bytes: Uint8Array }
  | { readonly kind: "end"; readonly body: number }
  | { readonly kind: "abort"; readonly body: number }

/** From the intake thread. */
export type IntakeReply =
  | { readonly kind: "consumed"; readonly body: number; readonly bytes: number }
  | { readonly kind: "batch"; readonly body: number; readonly report: IngestReport }
  | { readonly kind: "done"; readonly body: number }
  | { readonly kind: "failed"; readonly body: number; readonly error: unknown }
  | { readonly kind: "indexed"; readonly rules: number; readonly scanned: number }

/** One body of NDJSON on its way in. */
export interface IntakeBody {
  /** Resolves when more is welcome. Rejects once the body has failed. */
  write(chunk: Uint8Array): Promise<void>
  /** The report of the whole body, once all of it is durable. Throws a `Problem` when the store could not take it. */
  end(): Promise<IngestReport>
  /** The client is gone: what was read is kept, the rest forgotten. */
  abort(): void
}

/** Where posts are poured in. */
export interface Intake {
  /** Begins a body. `onBatch` is called after each durable batch with what it held. */
  open(onBatch?: (report: IngestReport) => void): IntakeBody
}

/** Most bytes of a body that wait to be read. At the bound, `write` waits. Ours. */
const windowBytesMax = 4 * 1024 * 1024

/** The intake at the other end of `port`. `onIndexed` hears of the size of the rule index. */
export function intakeThrough(
  port: MessagePort,
  onIndexed: (counts: { rules: number; scanned: number }) => void,
): Intake {
  const bodies = new Map<number, PortBody>()
  let lastBody = 0
  port.on("message", (reply: IntakeReply) => {
    if (reply.kind === "indexed") onIndexed(reply)
    else bodies.get(reply.body)?.receive(reply)
  })
  port.on("close", () => {
    const error = new Error("The intake thread has ended.")
    for (const [body, portBody] of bodies) portBody.receive({ kind: "failed", body, error })
  })
  return {
    open(onBatch = () => undefined) {
      lastBody += 1
      const id = lastBody
      const body = new PortBody(port, id, onBatch, () => bodies.delete(id))
      bodies.set(id, body)
      return body
    },
  }
}

class PortBody implements IntakeBody {
  readonly #port: MessagePort
  readonly #id: number
  readonly #onBatch: (report: IngestReport) => void
  readonly #forget: () => void
  readonly #finished = Promise.withResolvers<IngestReport>()
  #report = emptyReport
  #unreadBytes = 0
  #room = Promise.withResolvers<void>()

  constructor(port: MessagePort, id: number, onBatch: (report: IngestReport) => void, forget: () => void) {
    this.#port = port
    this.#id = id
    this.#onBatch = onBatch
    this.#forget = forget
    // Whoever writes or ends hears of a failure; a body that is only aborted has nobody to hear.
    this.#finished.promise.catch(() => undefined)
  }

  async write(chunk: Uint8Array): Promise<void> {
    const bytes = new Uint8Array(chunk)
    this.#unreadBytes += bytes.length
    this.#port.postMessage({ kind: "chunk", body: this.#id, bytes } satisfies IntakeRequest, [bytes.buffer])
    while (this.#unreadBytes > windowBytesMax) {
      await Promise.race([this.#room.promise, this.#finished.promise])
    }
  }

  end(): Promise<IngestReport> {
    this.#send({ kind: "end", body: this.#id })
    return this.#finished.promise
  }

  abort(): void {
    this.#send({ kind: "abort", body: this.#id })
    this.#forget()
  }

  receive(reply: Exclude<IntakeReply, { kind: "indexed" }>): void {
    switch (reply.kind) {
      case "consumed":
        this.#unreadBytes -= reply.bytes
        this.#room.resolve()
        this.#room = Promise.withResolvers()
        return
      case "batch":
        this.#report = addReports(this.#report, reply.report)
        this.#onBatch(reply.report)
        return
      case "done":
        this.#forget()
        this.#finished.resolve(this.#report)
        return
      case "failed":
        this.#forget()
        this.#unreadBytes = 0
        this.#finished.reject(storeUnavailable(reply.error))
    }
  }

  #send(request: IntakeRequest): void {
    this.#port.postMessage(request)
  }
}
