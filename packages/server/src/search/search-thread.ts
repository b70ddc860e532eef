/**
 * The thread that fills the search index and finds posts by it, so that the event loop which serves streams does neither.
 * It has a connection of its own to the store, and the only one to an index in a file.
 */
import { EarlierPosts, indexTermsVersion } from "@sluice/rules"
import type { PostId } from "../model/ids.ts"
import { systemClock as clock } from "../runtime/clock.ts"
import { receivedError, sentError, type SentError } from "../runtime/error-codec.ts"
import { PortCalls } from "../runtime/port-calls.ts"
import { serveThread, startThread, type Thread } from "../runtime/thread.ts"
import { runBehindOthers } from "../runtime/thread-priority.ts"
import { Turns, type Turn } from "../runtime/turns.ts"
import { openSearchIndex, openStoreToRead, type StoreAccess } from "../store/engine.ts"
import { countPosts, type PostCounts } from "./count-posts.ts"
import { findIncluding } from "./find-including.ts"
import { findPosts, type FoundPosts, type FoundRange, type SearchBudget, type SearchDeps } from "./find-posts.ts"
import { IndexFiller, type FillerDeps } from "./index-filler.ts"
import { rankPosts, type RankedSpan, type Ranking } from "./rank-posts.ts"
import { PostSearch, type SearchedRule } from "./post-search.ts"

/** Newest stored posts from which the thread learns places when it starts, and most bytes of them. Ours. */
const learntPosts = { limit: 10_000, bytesMax: 33_554_432 }

/**
 * Heap for new objects. Nearly all that the thread makes of a post is garbage when the next one comes, so less of it takes
 * no more time. Measured.
 */
const youngHeapMb = 12

/** Settings of the thread. */
export interface SearchThreadSettings extends Pick<FillerDeps, "postRetentionMs"> {
  /** Granted by `grantReadAccess`. */
  readonly storeAccess: StoreAccess
}

/** Functions of the thread. */
interface SearchFunctions {
  /** Finds posts. Rejects with the reason of `signal` when that aborts. */
  find(rule: SearchedRule, range: FoundRange, budget: SearchBudget, signal: AbortSignal): Promise<FoundPosts>
  /** As `rankPosts`. */
  rank(rule: SearchedRule, span: RankedSpan, budget: SearchBudget, signal: AbortSignal): Promise<Ranking>
  /** As `countPosts`. */
  count(rule: SearchedRule, edges: readonly bigint[], budget: SearchBudget, signal: AbortSignal): Promise<PostCounts>
  /** As `findIncluding`. Rejects as `find`. */
  including(ids: readonly PostId[], signal: AbortSignal): Promise<ReadonlyMap<PostId, PostId>>
  /** Whether this process is to fill the index; it is not at the start. */
  fill(isFilling: boolean): void
}

/** Functions of the main thread. */
interface SearchReports {
  readonly failed: (error: SentError) => void
}

/** A running thread, seen from the main thread. */
export interface SearchThread extends SearchFunctions, Pick<Thread, "failed" | "close"> {}

/** Starts the thread. `failed` is called when a step of filling fails, which is tried again. */
export async function startSearchThread(
  settings: SearchThreadSettings,
  { failed }: { readonly failed: (error: Error) => void },
): Promise<SearchThread> {
  const thread = await startThread(import.meta.url, settings, settings.storeAccess.ports, { youngHeapMb })
  const port = new PortCalls<SearchFunctions>(
    thread.port,
    { failed: (error) => failed(receivedError(error)) } satisfies SearchReports,
    { reason: () => thread.ended },
  )
  return {
    find: (...args) => port.call("find", args),
    rank: (...args) => port.call("rank", args),
    count: (...args) => port.call("count", args),
    including: (...args) => port.call("including", args),
    fill: (isFilling) => port.tell("fill", [isFilling]),
    failed: thread.failed,
    close: () => thread.close(),
  }
}

serveThread(import.meta.url, async ({ storeAccess, postRetentionMs }: SearchThreadSettings, port) => {
  const isBehindOthers = runBehindOthers()
  await using opening = new AsyncDisposableStack()
  const store = opening.use(await openStoreToRead(storeAccess))
  const index = opening.use(await openSearchIndex(storeAccess, { termsVersion: indexTermsVersion }))
  const turns = new Turns(clock)
  const earlier = new EarlierPosts()
  const filling = new Filling(
    new IndexFiller({
      store,
      index,
      clock,
      earlier,
      postRetentionMs,
      isBehindOthers,
      pause: pauses(turns.open()),
      failed: (error) => reports.tell("failed", [sentError(error)]),
    }),
  )
  opening.defer(() => filling.stop())

  /** Reads the index after it has caught up as far as may be, where this process fills it. */
  const read = async <Result>(signal: AbortSignal, run: (deps: SearchDeps) => Promise<Result>): Promise<Result> => {
    const turn = turns.open()
    await turn.next()
    const pause = pauses(turn, signal)
    await filling.catchUp()
    return run({ store, index, clock, pause })
  }
  const search = <Result>(
    rule: SearchedRule,
    signal: AbortSignal,
    run: (search: PostSearch, deps: SearchDeps) => Promise<Result>,
  ): Promise<Result> => read(signal, (deps) => run(new PostSearch(rule, earlier), deps))
  const reports = new PortCalls<SearchReports>(port, {
    find: (rule, range, budget, signal) =>
      search(rule, signal, (compiled, deps) => findPosts(compiled, range, budget, deps)),
    rank: (rule, span, budget, signal) =>
      search(rule, signal, (compiled, deps) => rankPosts(compiled, span, budget, deps)),
    count: (rule, edges, budget, signal) =>
      search(rule, signal, (compiled, deps) => countPosts(compiled, edges, budget, deps)),
    including: (ids, signal) => read(signal, (deps) => findIncluding(ids, deps)),
    fill: (isFilling) => (isFilling ? filling.start() : void filling.stop()),
  } satisfies SearchFunctions)
  const stopLearning = new AbortController()
  const learning = learnStored(pauses(turns.open(), stopLearning.signal)).catch((error: unknown) => {
    if (!stopLearning.signal.aborted) reports.tell("failed", [sentError(error)])
  })
  opening.defer(async () => {
    stopLearning.abort()
    await learning
  })
  return opening.move()

  /** Places that earlier posts describe, for posts that name one by its id alone. Searches do not wait for it. */
  async function learnStored(pause: () => Promise<void> | undefined): Promise<void> {
    for await (const { json } of store.recentPosts(learntPosts)) {
      await pause()
      if (json.includes('"places"')) earlier.learnPlacesOf(JSON.parse(json))
    }
  }
})

/** Spends a step of the turn before each post, and stops where the client has left. */
function pauses(turn: Turn, signal?: AbortSignal): () => Promise<void> | undefined {
  return () => {
    signal?.throwIfAborted()
    return turn.spend()
  }
}

/** A filler that this process runs, or another one does. */
class Filling {
  readonly #filler: IndexFiller
  #stop: AbortController | undefined
  #run: Promise<void> = Promise.resolve()

  constructor(filler: IndexFiller) {
    this.#filler = filler
  }

  start(): void {
    if (this.#stop !== undefined) return
    this.#stop = new AbortController()
    this.#run = this.#filler.run(this.#stop.signal)
  }

  async stop(): Promise<void> {
    this.#stop?.abort()
    this.#stop = undefined
    await this.#run
  }

  /** Without a lease nothing is added: another process fills the index. */
  async catchUp(): Promise<void> {
    if (this.#stop !== undefined) await this.#filler.catchUp()
  }
}
