/**
 * The intake thread reads and matches posts, so that neither HTTP nor the disk waits for that. Posts come in through a
 * port (`intake.ts`). The thread opens the store by an access of its own.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads"
import { EmbeddingsMissing, RuleIndex } from "../matching/rule-index.ts"
import { systemClock } from "../runtime/clock.ts"
import { SharedClock } from "../runtime/shared-clock.ts"
import { createEmbeddings, type EmbeddingsEndpoint } from "../runtime/embeddings.ts"
import { loadThread, serveThread, ThreadRefused, type Thread } from "../runtime/thread.ts"
import { openStore, type StoreAccess } from "../store/engine.ts"
import { isReadFault, storeFaultCode } from "../store/store-faults.ts"
import { forgetRuleChanges } from "./forget-rule-changes.ts"
import type { IntakeReply } from "./intake-messages.ts"
import { readRulesAgain } from "./read-rules-again.ts"
import { RuleMatchCounts } from "./rule-match-counts.ts"
import { serveIntake } from "./serve-intake.ts"

/** What the thread works on. */
interface IntakeSettings {
  readonly storeAccess: StoreAccess
  /** Most bytes of a line. */
  readonly postBytesMax: number
  /** Most steps that the rules of one app may take for a post. */
  readonly ruleStepsPerAppMax: number
  readonly embeddings?: EmbeddingsEndpoint | undefined
}

interface ThreadData extends IntakeSettings {
  readonly intakePort: MessagePort
}

/** An intake thread, seen from the main thread. Disposing of it ends it after its current work. */
export interface IntakeThread extends AsyncDisposable {
  /** What is posted before the thread has started waits there. */
  readonly intakePort: MessagePort
  /**
   * Has it begin, once, and returns when the rules are indexed, or could not be read: then it takes no posts until they
   * can. Throws `EmbeddingsMissing` when a rule needs embeddings
   * and there is no endpoint.
   */
  start(settings: IntakeSettings): Promise<Pick<Thread, "failed">>
}

/** Has the thread load its modules, while the store that it needs may still be opened. */
export function loadIntakeThread(): IntakeThread {
  const { port1, port2 } = new MessageChannel()
  const loading = loadThread(import.meta.url)
  return {
    intakePort: port1,
    async start(settings) {
      const data: ThreadData = { ...settings, intakePort: port2 }
      return loading.start(data, [...settings.storeAccess.ports, port2]).catch((error: unknown) => {
        throw error instanceof ThreadRefused ? new EmbeddingsMissing(error.message) : error
      })
    },
    async [Symbol.asyncDispose]() {
      await loading[Symbol.asyncDispose]()
      port1.close()
    },
  }
}

serveThread(import.meta.url, async (data: ThreadData) => {
  const { storeAccess, embeddings: endpoint, postBytesMax, ruleStepsPerAppMax, intakePort } = data
  await using opening = new AsyncDisposableStack()
  opening.defer(() => intakePort.close())
  const store = opening.use(await openStore(storeAccess))
  const clock = storeAccess.epoch === undefined ? systemClock : new SharedClock(storeAccess.epoch)
  const embeddings = endpoint && createEmbeddings({ ...endpoint, clock })
  opening.defer(async () => embeddings?.close())
  const reportReadFault = (error: unknown): void =>
    intakePort.postMessage({ kind: "index-failed", error, code: storeFaultCode(error) } satisfies IntakeReply)
  const survives = (error: unknown): boolean => {
    if (isReadFault(error)) reportReadFault(error)
    return isReadFault(error)
  }
  const rules = await RuleIndex.load(store, { embeddings, ruleStepsPerAppMax, survives }).catch((error: unknown) => {
    throw error instanceof EmbeddingsMissing ? new ThreadRefused(error.message) : error
  })
  const closing = new AbortController()
  const running = Promise.all([
    forgetRuleChanges({ store, rules, clock }, closing.signal),
    readRulesAgain({ rules, clock, failed: reportReadFault }, closing.signal),
  ])
  opening.defer(async () => {
    closing.abort()
    await running
  })
  const ruleMatchCounts = new RuleMatchCounts({ store, clock })
  opening.defer(() => ruleMatchCounts.close())
  serveIntake(intakePort, { store, rules, ruleMatchCounts, clock, postBytesMax })
  return opening.move()
})
