/** The intake thread's end of the door: each body has an acceptor, and its chunks are read one after the other. */
import type { MessagePort } from "node:worker_threads"
import type { RuleIndex } from "../matching/rule-index.ts"
import type { Clock } from "../runtime/clock.ts"
import { EmbeddingsUnavailable } from "../runtime/embeddings.ts"
import type { Store } from "../store/store.ts"
import { PostAcceptor } from "./accept-posts.ts"
import type { IntakeReply, IntakeRequest } from "./intake.ts"

/** A body that is being read: what came and is still to be done, in order. */
interface OpenBody {
  readonly acceptor: PostAcceptor
  readonly waiting: Exclude<IntakeRequest, { kind: "abort" }>[]
  /** Bytes of it that are read, of which the other thread has not heard. */
  bytesRead: number
  isBusy: boolean
  /** A part of it could not be taken. What still comes is passed over: with a gap before it, it means nothing. */
  hasFailed: boolean
}

/** So many bytes are told as read even when no batch is durable. A fraction of what may be unread. Ours. */
const bytesReadMax = 1024 * 1024

/** Takes in the bodies that come through `port`, until it closes. */
export function serveIntake(port: MessagePort, deps: { store: Store; rules: RuleIndex; clock: Clock }): void {
  const bodies = new Map<number, OpenBody>()
  const reply = (message: IntakeReply): void => port.postMessage(message)
  const tellIndexed = (): void => reply({ kind: "indexed", index: indexNumbers() })

  function indexNumbers(): { rules: number; scanned: number; candidates: number } {
    const { size: rules, scanned, candidates } = deps.rules
    return { rules, scanned, candidates }
  }

  function takeBytesRead(open: OpenBody): number {
    const bytes = open.bytesRead
    open.bytesRead = 0
    return bytes
  }

  function opened(body: number): OpenBody {
    const acceptor = new PostAcceptor(deps, {
      appended(report) {
        reply({ kind: "batch", body, report, bytes: takeBytesRead(open), index: indexNumbers() })
      },
      failed: (error) => fail(body, open, error),
    })
    const open: OpenBody = { acceptor, waiting: [], bytesRead: 0, isBusy: false, hasFailed: false }
    bodies.set(body, open)
    return open
  }

  /** Of all that fails because of one fault only the first is told. */
  function fail(body: number, open: OpenBody, error: unknown): void {
    if (open.hasFailed) return
    open.hasFailed = true
    const lacking = error instanceof EmbeddingsUnavailable ? "embeddings" : "store"
    reply({ kind: "failed", body, lacking, error })
  }

  async function handle(body: number, open: OpenBody, request: OpenBody["waiting"][number]): Promise<void> {
    const { acceptor } = open
    if (request.kind === "chunk") {
      await acceptor.write(request.bytes)
      open.bytesRead += request.bytes.length
      // Nothing more has come: an endless body must not wait for a full batch. What is read is told with that.
      if (open.waiting.length === 0 && (await acceptor.flush())) return
      if (open.waiting.length > 0 && open.bytesRead < bytesReadMax) return
      reply({ kind: "read", body, bytes: takeBytesRead(open) })
      return
    }
    await (request.kind === "end" ? acceptor.end() : acceptor.stop())
    reply({ kind: "done", body })
  }

  async function work(body: number, open: OpenBody): Promise<void> {
    if (open.isBusy) return
    open.isBusy = true
    for (let request = open.waiting.shift(); request !== undefined; request = open.waiting.shift()) {
      try {
        if (!open.hasFailed) await handle(body, open, request)
      } catch (error) {
        // What is durable before it is told before it.
        await open.acceptor.settled()
        fail(body, open, error)
      }
      // A failed body stays until its sender has heard of it, else its next chunk would begin a new one.
      if (request.kind !== "chunk") bodies.delete(body)
    }
    open.isBusy = false
  }

  port.on("message", (request: IntakeRequest) => {
    if (request.kind === "abort") {
      // The sender counts on what waits to be forgotten.
      bodies.get(request.body)?.waiting.splice(0)
      bodies.delete(request.body)
      return
    }
    const open = bodies.get(request.body) ?? opened(request.body)
    open.waiting.push(request)
    void work(request.body, open)
  })

  deps.store.onChange((change) => {
    if (change.kind !== "control") return
    deps.rules.catchUp().then(tellIndexed, (error: unknown) => {
      // The next batch catches up too, and until it can, none is taken.
      reply({ kind: "index-failed", error })
    })
  })
  tellIndexed()
}
