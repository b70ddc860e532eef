/**
 * The thread in which rules are tried on posts, one call at a time, while the main thread serves requests. It reads
 * the store through a connection of its own.
 */
import type { BackfillPart, FoundInPast } from "../../model/replay.ts"
import { systemClock as clock } from "../../runtime/clock.ts"
import { createEmbeddings, type EmbeddingsEndpoint } from "../../runtime/embeddings.ts"
import { PortCalls, servePort } from "../../runtime/port-calls.ts"
import { serveThread, startThread } from "../../runtime/thread.ts"
import { runBehindOthers } from "../../runtime/thread-priority.ts"
import { Turns } from "../../runtime/turns.ts"
import { openStoreToRead, type StoreAccess } from "../../store/engine.ts"
import { findInPast } from "./find-in-past.ts"
import { testRule, type RuleTest, type RuleTestRequest } from "./test-rule.ts"

/** Settings of the thread. */
export interface RuleTestSettings {
  readonly storeAccess: StoreAccess
  readonly embeddings?: EmbeddingsEndpoint | undefined
}

/** Functions of the thread. */
interface RuleTests {
  /**
   * One call at a time. Rejects with the reason of `signal` when that aborts, before the next post; throws
   * `EmbeddingsUnavailable`, and the error of a thread that fails.
   */
  testRule(request: RuleTestRequest, signal: AbortSignal): Promise<RuleTest>
  /** Looks at a part of the stored posts for a backfill. Rejects as `testRule`. */
  findInPast(part: BackfillPart, signal: AbortSignal): Promise<FoundInPast>
}

/** A running thread, seen from the main thread. */
export interface RuleTestThread extends RuleTests {
  close(): Promise<void>
}

/** Heap of the thread: 4 MiB of posts, read, take some 50; the rest is room for results. Ours. */
const heapMbMax = 192

/** Starts the thread. */
export async function startRuleTestThread(settings: RuleTestSettings): Promise<RuleTestThread> {
  const thread = await startThread(import.meta.url, settings, settings.storeAccess.ports, { heapMbMax })
  const port = new PortCalls<RuleTests>(thread.port, {}, { reason: () => thread.ended })
  return {
    testRule: (request, signal) => port.call("testRule", [request, signal]),
    findInPast: (part, signal) => port.call("findInPast", [part, signal]),
    close: () => thread.close(),
  }
}

serveThread(import.meta.url, async ({ storeAccess, embeddings: endpoint }: RuleTestSettings, port) => {
  runBehindOthers()
  await using opening = new AsyncDisposableStack()
  const store = opening.use(await openStoreToRead(storeAccess))
  const embeddings = endpoint && createEmbeddings({ ...endpoint, clock })
  opening.defer(async () => embeddings?.close())
  const turns = new Turns(clock)
  /** A turn of its own for each call. */
  const depsOf = async (signal: AbortSignal) => {
    const turn = turns.open()
    await turn.next()
    const pause = async (): Promise<void> => {
      await turn.spend()
      signal.throwIfAborted()
    }
    return { store, embeddings, pause }
  }
  servePort<RuleTests>(port, {
    testRule: async (request, signal) => testRule(request, await depsOf(signal)),
    findInPast: async (part, signal) => findInPast(part, await depsOf(signal)),
  })
  return opening.move()
})
