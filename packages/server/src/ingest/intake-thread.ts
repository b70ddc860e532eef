/**
 * The intake thread reads and matches posts, so that neither HTTP nor the disk waits for that. Posts come in through a
 * port (`intake.ts`). The thread opens the store by an access of its own.
 */
import type { MessagePort } from "node:worker_threads"
import { RuleIndex } from "../matching/rule-index.ts"
import { systemClock } from "../runtime/clock.ts"
import { SharedClock } from "../runtime/shared-clock.ts"
import { createEmbeddings, type EmbeddingsEndpoint } from "../runtime/embeddings.ts"
import { systemRandom } from "../runtime/random.ts"
import { createSnowflakes } from "../runtime/snowflakes.ts"
import { loadThread, serveThread, type Thread } from "../runtime/thread.ts"
import { openStore, type StoreAccess } from "../store/engine.ts"
import { isReadFault } from "../store/store-faults.ts"
import { forgetRuleChanges } from "./forget-rule-changes.ts"
import { readRulesAgain } from "./read-rules-again.ts"
import { RuleMatchCounts } from "./rule-match-counts.ts"
import { serveIntake } from "./serve-intake.ts"

/** Settings of the thread. */
interface IntakeSettings {
  readonly storeAccess: StoreAccess
  /** Most bytes of a line. */
  readonly postBytesMax: number
  /** Most steps that the rules of one app may take for a post. */
  readonly ruleStepsPerAppMax: number
  readonly embeddings?: EmbeddingsEndpoint | undefined
}

/** An intake thread, seen from the main thread. Disposing of it ends it after its current work. */
export interface IntakeThread extends AsyncDisposable {
  /** To the thread; what is sent before the thread has begun waits there. */
  readonly intakePort: MessagePort
  /**
   * Begins its work, once, and resolves when the rules are indexed, or could not be read: then it accepts no posts until
   * they can be. Throws `EmbeddingsMissing` when a rule needs embeddings and there is no endpoint.
   */
  start(settings: IntakeSettings): Promise<Pick<Thread, "failed">>
}

/** Loads the modules of the thread, while the store that it needs may still be opened. */
export function loadIntakeThread(): IntakeThread {
  const loading = loadThread(import.meta.url)
  return {
    intakePort: loading.port,
    start: (settings) => loading.start(settings, settings.storeAccess.ports),
    [Symbol.asyncDispose]: () => loading[Symbol.asyncDispose](),
  }
}

serveThread(import.meta.url, async (settings: IntakeSettings, port) => {
  const { storeAccess, embeddings: endpoint, postBytesMax, ruleStepsPerAppMax } = settings
  await using opening = new AsyncDisposableStack()
  const store = opening.use(await openStore(storeAccess))
  const clock = storeAccess.epoch === undefined ? systemClock : new SharedClock(storeAccess.epoch)
  const embeddings = endpoint && createEmbeddings({ ...endpoint, clock })
  opening.defer(async () => embeddings?.close())
  const readFaults: unknown[] = []
  const survives = (error: unknown): boolean => isReadFault(error) && readFaults.push(error) > 0
  const rules = await RuleIndex.load(store, { embeddings, ruleStepsPerAppMax, survives })
  const ruleMatchCounts = new RuleMatchCounts({ store, clock })
  opening.defer(() => ruleMatchCounts.close())
  // Another generator may give the same id: then the second post gets the next free one.
  const snowflakes = createSnowflakes(clock, systemRandom)
  const { indexFailed } = serveIntake(port, { store, rules, ruleMatchCounts, clock, snowflakes, postBytesMax })
  for (const error of readFaults) indexFailed(error)
  const closing = new AbortController()
  const running = Promise.all([
    forgetRuleChanges({ store, rules, clock }, closing.signal),
    readRulesAgain({ rules, clock, failed: indexFailed }, closing.signal),
  ])
  opening.defer(async () => {
    closing.abort()
    await running
  })
  return opening.move()
})
