/**
 * The intake thread's side of the port: each body has an acceptor, and its chunks are read one after the other, in
 * turns with those of other bodies.
 */
import type { MessagePort } from "node:worker_threads"
import type { RuleIndex } from "../matching/rule-index.ts"
import type { Clock } from "../runtime/clock.ts"
import { sentError } from "../runtime/error-codec.ts"
import { PortCalls } from "../runtime/port-calls.ts"
import type { Store } from "../store/store.ts"
import { loadConverter } from "../conversion/converters.ts"
import type { Snowflakes } from "../runtime/snowflakes.ts"
import { PostAcceptor } from "./accept-posts.ts"
import { RecordAcceptor } from "./accept-records.ts"
import type { BatchListener, MatchUse } from "./post-batches.ts"
import {
  memoryOf,
  PartialLinesTooLarge,
  type DurableBatch,
  type IndexNumbers,
  type IntakeFunctions,
  type IntakeReplies,
  type SourceBody,
} from "./intake-messages.ts"
import type { RuleMatchCounts } from "./rule-match-counts.ts"
import { Turns, type Turn } from "../runtime/turns.ts"

/** A part of a body; a chunk with the time when it came, by the monotonic clock. */
type PendingPart =
  | { readonly kind: "chunk"; readonly bytes: Uint8Array; readonly cameAtMs: number }
  | { readonly kind: "end" | "stop" }

/** Accepts the lines of a body: posts, or records of a source. */
type BodyAcceptor = Pick<PostAcceptor, "partialLineBytes" | "abandon" | "write" | "flush" | "settled" | "stop" | "end">

/** A body that is being read. */
interface OpenBody {
  readonly id: number
  readonly acceptor: BodyAcceptor
  readonly turn: Turn
  /** Parts that are not handled yet, in order. Bounded by the window of the main thread. */
  readonly pending: PendingPart[]
  /** Chunks that are read and not reported as read, without those of the batch that is being appended. */
  chunksRead: Uint8Array[]
  /** Chunks of that batch. */
  chunksAppending: readonly Uint8Array[]
  /** The batch that is reported with the end of the body. */
  lastBatch: Omit<DurableBatch, "index"> | undefined
  isEnding: boolean
  isBusy: boolean
  /** A part of the body could not be accepted. The rest is discarded: after a gap it means nothing. */
  hasFailed: boolean
}

/** A body of which nothing is read yet. */
const unread = { lastBatch: undefined, isEnding: false, isBusy: false, hasFailed: false }

/**
 * Most memory of partial lines, over all bodies. At the bound the body with the largest partial line fails: it is the
 * least likely to send posts. Ours.
 */
export const partialLineBytesMax = 64 * 1024 * 1024

/** Dependencies of the intake thread. */
export interface IntakeDeps {
  readonly store: Store
  readonly rules: RuleIndex
  readonly ruleMatchCounts: Pick<RuleMatchCounts, "note">
  readonly clock: Clock
  /** Ids of posts that come without one. */
  readonly snowflakes: Snowflakes
  /** Most bytes of a line. */
  readonly postBytesMax: number
}

/** Accepts the bodies that come through `port`, until the port closes. `indexFailed` reports that rules cannot be read. */
export function serveIntake(port: MessagePort, deps: IntakeDeps): { readonly indexFailed: (error: unknown) => void } {
  const bodies = new Map<number, OpenBody>()
  const turns = new Turns(deps.clock)

  const reportIndex = async (): Promise<void> => {
    const damaged = [...(await deps.store.damagedRecords()), ...deps.rules.refused]
    // Counted after the wait: a batch may have been reported meanwhile, and what is counted never decreases.
    main.tell("indexed", [numbersOf(deps.rules), damaged])
  }
  // The next batch catches up as well. Until that succeeds, no batch is accepted.
  const indexFailed = (error: unknown): void => main.tell("indexFailed", [sentError(error)])

  function openBody(id: number, makeAcceptor: (turn: Turn, listener: BatchListener) => BodyAcceptor): OpenBody {
    const turn = turns.open()
    const acceptor = makeAcceptor(turn, {
      appending() {
        body.chunksAppending = takeChunksRead(body)
      },
      appended(report) {
        const chunks = body.chunksAppending
        body.chunksAppending = []
        tellBatch(body)
        body.lastBatch = { report, bytesRead: memoryOfAll(chunks) }
        if (!body.isEnding) tellBatch(body)
        // All of their posts are in this batch or in earlier ones.
        for (const chunk of chunks) release(chunk)
      },
      failed: (error) => fail(body, error),
    })
    const body: OpenBody = { ...unread, pending: [], chunksRead: [], chunksAppending: [], id, acceptor, turn }
    bodies.set(id, body)
    return body
  }

  const openPosts = (id: number, matchUse?: MatchUse): OpenBody =>
    openBody(id, (turn, listener) => new PostAcceptor({ ...deps, turn, matchUse }, listener))

  const openRecords = (id: number, of: SourceBody): OpenBody =>
    openBody(id, (turn, listener) => recordAcceptorOf(of, { ...deps, turn }, listener))

  const tellBatch = (body: OpenBody): void => reportBatch(main, body, deps.rules)

  /** Reports only the first failure: it may cause others. */
  function fail(body: OpenBody, error: unknown): void {
    if (body.hasFailed) return
    body.hasFailed = true
    body.acceptor.abandon()
    tellBatch(body)
    main.tell("failed", [body.id, sentError(error)])
  }

  async function handleChunk(body: OpenBody, bytes: Uint8Array, cameAtMs: number): Promise<void> {
    const { acceptor } = body
    const bytesBefore = acceptor.partialLineBytes
    await acceptor.write(bytes, cameAtMs)
    const largest = acceptor.partialLineBytes > bytesBefore ? bodyToFail(bodies.values()) : undefined
    if (largest) fail(largest, new PartialLinesTooLarge("Lines without their end take too much memory."))
    body.chunksRead.push(bytes)
    // With more parts pending, the chunk is reported as read when it is durable: until then it takes memory.
    if (body.pending.length > 0) return
    // Nothing more has come: an endless body must not wait for a full batch. The batch reports the chunk as read.
    if (await acceptor.flush()) return
    main.tell("read", [body.id, memoryOfAll(takeChunksRead(body))])
  }

  async function handle(body: OpenBody, part: PendingPart): Promise<void> {
    if (part.kind === "chunk") return handleChunk(body, part.bytes, part.cameAtMs)
    body.isEnding = true
    await (part.kind === "end" ? body.acceptor.end() : body.acceptor.stop())
    main.tell("done", [body.id, takeBatch(body, deps.rules)])
  }

  async function handlePending(body: OpenBody): Promise<void> {
    if (body.isBusy) return
    body.isBusy = true
    for (let isFirst = true; body.pending.length > 0; isFirst = false) {
      await turnFor(body, isFirst)
      const part = body.pending.shift()
      if (part === undefined) break
      try {
        if (!body.hasFailed) await handle(body, part)
      } catch (error) {
        // An earlier batch that becomes durable is reported before the failure.
        await body.acceptor.settled()
        fail(body, error)
      }
      // A failed body stays until the main thread ends it, else its next chunk would open a new one.
      if (part.kind !== "chunk") bodies.delete(body.id)
    }
    body.isBusy = false
    if (bodies.get(body.id) !== body) await stopAborted(body).catch((error: unknown) => fail(body, error))
  }

  function queue(id: number, ...parts: readonly PendingPart[]): void {
    const body = bodies.get(id) ?? openPosts(id)
    body.pending.push(...parts)
    void handlePending(body)
  }

  const functions: IntakeFunctions = {
    open: openPosts,
    openSource: openRecords,
    chunk: (id, bytes) => queue(id, chunkOf(bytes, deps.clock)),
    end: (id, bytes) => queue(id, ...(bytes === undefined ? [] : [chunkOf(bytes, deps.clock)]), { kind: "end" }),
    stop: (id) => queue(id, { kind: "stop" }),
    abort(id) {
      // The main thread relies on pending parts being discarded.
      bodies.get(id)?.pending.splice(0)
      bodies.get(id)?.acceptor.abandon()
      bodies.delete(id)
    },
  }
  const main = new PortCalls<IntakeReplies>(port, functions)

  deps.store.onChange((change) => {
    if (change.kind !== "control") return
    deps.rules.catchUp().then(reportIndex).catch(indexFailed)
  })
  void reportIndex().catch(indexFailed)
  return { indexFailed }
}

function chunkOf(bytes: Uint8Array, clock: Pick<Clock, "monotonicMs">): PendingPart {
  return { kind: "chunk", bytes, cameAtMs: clock.monotonicMs() }
}

/** Has the part stored that was read of a body which was aborted before its end. */
async function stopAborted({ acceptor, isEnding, hasFailed }: OpenBody): Promise<void> {
  if (!isEnding && !hasFailed) await acceptor.stop()
}

/** The turn of the next part of a body: a new one for a chunk, and that of the chunk before for the end. */
function turnFor({ turn, pending: [next] }: OpenBody, isFirst: boolean): Promise<void> | undefined {
  if (isFirst) return turn.begin()
  return next?.kind === "chunk" ? turn.next() : turn.spend()
}

/** Reports a batch apart from the end of its body: others come after it, or the body fails. */
function reportBatch(main: PortCalls<IntakeReplies>, body: OpenBody, rules: RuleIndex): void {
  const batch = takeBatch(body, rules)
  if (batch !== undefined) main.tell("batch", [body.id, batch])
}

/** The batch that is not reported yet. The numbers are those of the moment of the report: what is counted never decreases. */
function takeBatch(body: OpenBody, rules: RuleIndex): DurableBatch | undefined {
  const batch = body.lastBatch
  body.lastBatch = undefined
  return batch && { ...batch, index: numbersOf(rules) }
}

/** The body with the largest partial line, when all of them together take too much memory. */
function bodyToFail(bodies: Iterable<OpenBody>): OpenBody | undefined {
  const all = Array.from(bodies, (body) => ({ body, bytes: body.acceptor.partialLineBytes }))
  if (all.reduce((sum, { bytes }) => sum + bytes, 0) <= partialLineBytesMax) return undefined
  return all.reduce((a, b) => (b.bytes > a.bytes ? b : a)).body
}

function recordAcceptorOf(
  { source, converter: settings }: SourceBody,
  deps: IntakeDeps & { readonly turn: Turn },
  listener: BatchListener,
): RecordAcceptor {
  const converter = loadConverter(settings)
  // The first record meets the failure.
  converter.catch(() => undefined)
  return new RecordAcceptor({ ...deps, source, converter }, listener)
}

function numbersOf(index: RuleIndex): IndexNumbers {
  const { size: rules, scanned, candidates, omitted } = index
  return { rules, scanned, candidates, omitted, skipped: index.takeSkipped() }
}

function takeChunksRead(body: OpenBody): readonly Uint8Array[] {
  const chunks = body.chunksRead
  body.chunksRead = []
  return chunks
}

function memoryOfAll(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, chunk) => sum + memoryOf(chunk), 0)
}

/**
 * Frees the memory of a chunk of which everything is stored. A chunk came with memory of its own. Left to the garbage
 * collector, it would bring about a collection of the whole heap for every 8 MB of posts. Measured.
 */
function release({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
