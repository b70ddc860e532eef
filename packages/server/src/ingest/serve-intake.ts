/** The intake thread's end of the door: each body has an acceptor, and its chunks are read one after the other. */
import type { MessagePort } from "node:worker_threads"
import type { RuleIndex } from "../matching/rule-index.ts"
import type { Clock } from "../runtime/clock.ts"
import { EmbeddingsUnavailable } from "../runtime/embeddings.ts"
import type { Store } from "../store/store.ts"
import { PostAcceptor, type IngestReport } from "./accept-posts.ts"
import type { IntakeReply, IntakeRequest } from "./intake.ts"

/** A body that is being read: what came and is still to be done, in order. */
interface OpenBody {
  readonly acceptor: PostAcceptor
  readonly waiting: Exclude<IntakeRequest, { kind: "abort" }>[]
  isBusy: boolean
  /** A part of it could not be taken. What still comes is passed over: with a gap before it, it means nothing. */
  hasFailed: boolean
}

/** Takes in the bodies that come through `port`, until it closes. */
export function serveIntake(port: MessagePort, deps: { store: Store; rules: RuleIndex; clock: Clock }): void {
  const bodies = new Map<number, OpenBody>()
  const reply = (message: IntakeReply): void => port.postMessage(message)
  const tellIndexed = (): void => {
    const { size, scanned, candidates } = deps.rules
    reply({ kind: "indexed", rules: size, scanned, candidates })
  }

  function tellBatches(body: number, reports: readonly (IngestReport | undefined)[]): void {
    const told = reports.filter((report) => report !== undefined)
    for (const report of told) reply({ kind: "batch", body, report })
    if (told.length > 0) tellIndexed()
  }

  async function handle(body: number, open: OpenBody, request: OpenBody["waiting"][number]): Promise<void> {
    const { acceptor } = open
    if (request.kind === "chunk") {
      tellBatches(body, await acceptor.write(request.bytes))
      reply({ kind: "consumed", body, bytes: request.bytes.length })
      // Nothing more has come: an endless body must not wait for a full batch.
      if (open.waiting.length === 0) tellBatches(body, [await acceptor.flush()])
      return
    }
    tellBatches(body, request.kind === "end" ? await acceptor.end() : [await acceptor.flush()])
    reply({ kind: "done", body })
  }

  async function work(body: number, open: OpenBody): Promise<void> {
    if (open.isBusy) return
    open.isBusy = true
    for (let request = open.waiting.shift(); request !== undefined; request = open.waiting.shift()) {
      try {
        if (!open.hasFailed) await handle(body, open, request)
      } catch (error) {
        open.hasFailed = true
        const lacking = error instanceof EmbeddingsUnavailable ? "embeddings" : "store"
        reply({ kind: "failed", body, lacking, error })
      }
      // A failed body stays until its sender has heard of it, else its next chunk would begin a new one.
      if (request.kind !== "chunk") bodies.delete(body)
    }
    open.isBusy = false
  }

  port.on("message", (request: IntakeRequest) => {
    if (request.kind === "abort") {
      bodies.delete(request.body)
      return
    }
    const open = bodies.get(request.body) ?? {
      acceptor: new PostAcceptor(deps),
      waiting: [],
      isBusy: false,
      hasFailed: false,
    }
    bodies.set(request.body, open)
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
