/**
 * The thread in which rules are tested, one at a time, while the main thread serves requests. It reads
 * the store through a connection of its own.
 */
import { systemClock as clock } from "../../runtime/clock.ts"
import { createEmbeddings, type EmbeddingsEndpoint } from "../../runtime/embeddings.ts"
import { PortCalls, servePort } from "../../runtime/port-calls.ts"
import { serveThread, startThread } from "../../runtime/thread.ts"
import { Turns } from "../../runtime/turns.ts"
import { openStoreToRead, type StoreAccess } from "../../store/engine.ts"
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
    close: () => thread.close(),
  }
}

serveThread(import.meta.url, async ({ storeAccess, embeddings: endpoint }: RuleTestSettings, port) => {
  await using opening = new AsyncDisposableStack()
  const store = opening.use(await openStoreToRead(storeAccess))
  const embeddings = endpoint && createEmbeddings({ ...endpoint, clock })
  opening.defer(async () => embeddings?.close())
  const turns = new Turns(clock)
  servePort<RuleTests>(port, {
    async testRule(request, signal) {
      const turn = turns.open()
      await turn.next()
      const pause = async (): Promise<void> => {
        await turn.spend()
        signal.throwIfAborted()
      }
      return testRule(request, { store, embeddings, pause })
    },
  })
  return opening.move()
})
