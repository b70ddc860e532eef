/**
 * The intake thread: posts are read and matched in it, so that neither HTTP nor the disk waits for that. It has a
 * door for posts (`intake.ts`), reads the store through a connection of its own, and writes to it through a port.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads"
import { EmbeddingsMissing, RuleIndex } from "../matching/rule-index.ts"
import { systemClock } from "../runtime/clock.ts"
import { createEmbeddings, type EmbeddingsEndpoint } from "../runtime/embeddings.ts"
import { serveThread, startThread, ThreadRefused } from "../runtime/thread.ts"
import { openEmbeddedStoreThrough } from "../store/embedded/embedded-store.ts"
import { serveIntake } from "./serve-intake.ts"

/** What the thread works on. */
interface IntakeSettings {
  /** Of the store. */
  readonly file: string
  /** To the writer of the store; it has to tell of control changes. */
  readonly writePort: MessagePort
  readonly embeddings?: EmbeddingsEndpoint | undefined
}

interface ThreadData extends IntakeSettings {
  readonly intakePort: MessagePort
}

/** A running intake thread, seen from the main thread. */
export interface IntakeThread {
  readonly intakePort: MessagePort
  /** Rejects when the thread fails; else pending for ever. */
  readonly failed: Promise<never>
  /** Ends the thread after what it is doing. Whoever needs an answer has waited for it before. */
  close(): Promise<void>
}

/**
 * Starts the thread on a store, and answers once its rules are indexed. Throws `EmbeddingsMissing` when a rule needs
 * embeddings and there is no endpoint.
 */
export async function startIntakeThread(settings: IntakeSettings): Promise<IntakeThread> {
  const { port1, port2 } = new MessageChannel()
  const data: ThreadData = { ...settings, intakePort: port2 }
  const thread = await startThread(import.meta.url, data, [settings.writePort, port2]).catch(
    (error: unknown) => {
      throw error instanceof ThreadRefused ? new EmbeddingsMissing(error.message) : error
    },
  )
  return {
    intakePort: port1,
    failed: thread.failed,
    async close() {
      await thread.close()
      port1.close()
    },
  }
}

await serveThread(import.meta.url, async (data: ThreadData) => {
  const { file, embeddings: endpoint, writePort, intakePort } = data
  await using opening = new AsyncDisposableStack()
  opening.defer(() => intakePort.close())
  const store = opening.use(await openEmbeddedStoreThrough(writePort, { file }))
  const embeddings = endpoint && createEmbeddings({ ...endpoint, clock: systemClock })
  opening.defer(async () => embeddings?.close())
  const rules = await RuleIndex.load(store, { embeddings }).catch((error: unknown) => {
    throw error instanceof EmbeddingsMissing ? new ThreadRefused(error.message) : error
  })
  // This index is the only one that follows them.
  await store.forgetRuleChanges(rules.seq)
  serveIntake(intakePort, { store, rules, clock: systemClock })
  return opening.move()
})
