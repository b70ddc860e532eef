/**
 * The thread in which rules are tested, one at a time, while the main thread serves requests. It reads
 * the store through a connection of its own.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads"
import { systemClock as clock } from "../../runtime/clock.ts"
import { createEmbeddings, EmbeddingsUnavailable, type EmbeddingsEndpoint } from "../../runtime/embeddings.ts"
import { serveThread, startThread, type Thread } from "../../runtime/thread.ts"
import { Turns } from "../../runtime/turns.ts"
import { openStoreToRead, type StoreAccess } from "../../store/engine.ts"
import { testRule, type RuleTest, type RuleTestRequest } from "./test-rule.ts"

/** What the thread works on. */
export interface RuleTestSettings {
  readonly storeAccess: StoreAccess
  readonly embeddings?: EmbeddingsEndpoint | undefined
}

/** To the thread. A test that is cancelled ends before its next post. */
type Command =
  | { readonly kind: "test"; readonly id: number; readonly request: RuleTestRequest }
  | { readonly kind: "cancel"; readonly id: number }

/** From the thread. Errors lose their class on the way. */
type Reply = { readonly id: number } & (
  | { readonly kind: "tested"; readonly test: RuleTest }
  | { readonly kind: "cancelled" }
  | { readonly kind: "unavailable"; readonly what: string }
  | { readonly kind: "failed"; readonly error: unknown }
)

interface ThreadData extends RuleTestSettings {
  readonly port: MessagePort
}

/** A test was cancelled through its signal. */
export class TestCancelled extends Error {
  override readonly name = "TestCancelled"
}

/** A running thread, seen from the main thread. */
export interface RuleTestThread {
  /**
   * One call at a time. Throws `TestCancelled` when `signal` aborts it, `EmbeddingsUnavailable`, and the error of a thread
   * that fails.
   */
  testRule(request: RuleTestRequest, signal: AbortSignal): Promise<RuleTest>
  close(): Promise<void>
}

/** Heap of the thread: 4 MiB of posts, read, take some 50; the rest is room for results. Ours. */
const heapMbMax = 192

/** Starts the thread. */
export async function startRuleTestThread(settings: RuleTestSettings): Promise<RuleTestThread> {
  const { port1, port2 } = new MessageChannel()
  const data: ThreadData = { ...settings, port: port2 }
  const thread = await startThread(import.meta.url, data, [...settings.storeAccess.ports, port2], {
    heapMbMax,
  })
  let lastId = 0
  return {
    async testRule(request, signal) {
      lastId += 1
      const reply = await replyOf(thread, port1, { kind: "test", id: lastId, request }, signal)
      switch (reply.kind) {
        case "tested":
          return reply.test
        case "cancelled":
          throw new TestCancelled()
        case "unavailable":
          throw new EmbeddingsUnavailable(reply.what, { mayPass: true })
        case "failed":
          throw reply.error
      }
    },
    async close() {
      await thread.close()
      port1.close()
    },
  }
}

/** Rejects when the thread fails before it has replied. */
async function replyOf(thread: Thread, port: MessagePort, command: Command, signal: AbortSignal): Promise<Reply> {
  const cancel = (): void => port.postMessage({ kind: "cancel", id: command.id } satisfies Command)
  const { promise, resolve } = Promise.withResolvers<Reply>()
  port.once("message", resolve)
  port.postMessage(command)
  signal.addEventListener("abort", cancel, { once: true })
  if (signal.aborted) cancel()
  try {
    return await Promise.race([promise, thread.failed])
  } finally {
    port.off("message", resolve)
    signal.removeEventListener("abort", cancel)
  }
}

serveThread(import.meta.url, async ({ storeAccess, embeddings: endpoint, port }: ThreadData) => {
  await using opening = new AsyncDisposableStack()
  opening.defer(() => port.close())
  const store = opening.use(await openStoreToRead(storeAccess))
  const embeddings = endpoint && createEmbeddings({ ...endpoint, clock })
  opening.defer(async () => embeddings?.close())
  const turns = new Turns(clock)
  let cancelledId = 0

  async function runTest(id: number, request: RuleTestRequest): Promise<Reply> {
    const turn = turns.open()
    await turn.next()
    const pause = async (): Promise<void> => {
      await turn.spend()
      if (cancelledId === id) throw new TestCancelled()
    }
    try {
      return { id, kind: "tested", test: await testRule(request, { store, embeddings, pause }) }
    } catch (error) {
      if (error instanceof TestCancelled) return { id, kind: "cancelled" }
      if (error instanceof EmbeddingsUnavailable) return { id, kind: "unavailable", what: error.what }
      return { id, kind: "failed", error }
    }
  }

  port.on("message", (command: Command) => {
    if (command.kind === "cancel") cancelledId = command.id
    else void runTest(command.id, command.request).then((reply) => port.postMessage(reply))
  })
  return opening.move()
})
