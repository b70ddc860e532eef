/**
 * The intake thread of the embedded store: the one writer. It owns ingest, matching and every write; the main
 * thread owns HTTP, delivery and all reading. They share no objects, only two ports: one for writes, one for
 * posts.
 */
import { once } from "node:events"
import {
  Worker,
  isMainThread,
  parentPort,
  workerData,
  MessageChannel,
  type MessagePort,
} from "node:worker_threads"
import { EmbeddingsMissing, RuleIndex } from "../matching/rule-index.ts"
import { systemClock } from "../runtime/clock.ts"
import { armCrashPoint } from "../runtime/crash-points.ts"
import { createEmbeddings, type EmbeddingsEndpoint } from "../runtime/embeddings.ts"
import { openEmbeddedStore } from "../store/embedded/embedded-store.ts"
import { serveWrites } from "../store/embedded/write-port.ts"
import { StoreTooNew } from "../store/store-faults.ts"
import type { Store } from "../store/store.ts"
import { serveIntake } from "./serve-intake.ts"

/** What the thread works on. */
interface IntakeSettings {
  /** Of the store. */
  readonly file: string
  readonly embeddings?: EmbeddingsEndpoint | undefined
  /** Where a test has the process killed. */
  readonly crashPoint?: string | undefined
}

interface ThreadData extends IntakeSettings {
  readonly writePort: MessagePort
  readonly intakePort: MessagePort
}

/** A running intake thread, seen from the main thread. */
export interface IntakeThread {
  readonly writePort: MessagePort
  readonly intakePort: MessagePort
  /** Rejects when the thread fails; else pending for ever. */
  readonly failed: Promise<never>
  /** Ends the thread after what it is doing. Whoever needs an answer has waited for it before. */
  close(): Promise<void>
}

/** The first word of a thread. Errors lose their class on the way between threads. */
type FirstWord =
  | { readonly kind: "ready" }
  | { readonly kind: "embeddings-missing" | "store-too-new"; readonly message: string }

/**
 * Starts the thread on a store, and answers once it is open and its rules are indexed. Throws `EmbeddingsMissing`
 * when a rule needs embeddings and there is no endpoint, and `StoreTooNew`.
 */
export async function startIntakeThread(settings: IntakeSettings): Promise<IntakeThread> {
  const [writes, intake] = [new MessageChannel(), new MessageChannel()]
  const data: ThreadData = { ...settings, writePort: writes.port2, intakePort: intake.port2 }
  const worker = new Worker(new URL(import.meta.url), {
    workerData: data,
    transferList: [writes.port2, intake.port2],
  })
  const exited = once(worker, "exit")
  const failed = new Promise<never>((_, reject) => worker.once("error", reject))
  // Nobody may be listening yet when it fails; the race below and the server do.
  failed.catch(() => undefined)
  const [first] = (await Promise.race([once(worker, "message"), failed])) as [FirstWord]
  if (first.kind !== "ready") {
    await exited
    throw first.kind === "store-too-new"
      ? new StoreTooNew(first.message)
      : new EmbeddingsMissing(first.message)
  }
  return {
    writePort: writes.port1,
    intakePort: intake.port1,
    failed,
    async close() {
      worker.postMessage("close")
      await exited
      writes.port1.close()
      intake.port1.close()
    },
  }
}

function say(word: FirstWord): void {
  parentPort?.postMessage(word)
}

async function run(data: ThreadData): Promise<void> {
  const { file, embeddings: endpoint, crashPoint, writePort, intakePort } = data
  armCrashPoint(crashPoint)
  await using resources = new AsyncDisposableStack()
  let opened: Store
  try {
    opened = await openEmbeddedStore({ file })
  } catch (error) {
    if (!(error instanceof StoreTooNew)) throw error
    say({ kind: "store-too-new", message: error.message })
    return
  }
  const store = resources.use(opened)
  const embeddings = endpoint && createEmbeddings({ ...endpoint, clock: systemClock })
  resources.defer(async () => embeddings?.close())
  resources.defer(() => {
    writePort.close()
    intakePort.close()
  })
  let rules: RuleIndex
  try {
    rules = await RuleIndex.load(store, { embeddings })
  } catch (error) {
    if (!(error instanceof EmbeddingsMissing)) throw error
    say({ kind: "embeddings-missing", message: error.message })
    return
  }
  // This index is the only one that follows them.
  await store.forgetRuleChanges(rules.seq)
  serveWrites(writePort, store)
  serveIntake(intakePort, { store, rules, clock: systemClock })
  const running = resources.move()
  say({ kind: "ready" })
  parentPort?.once("message", () => void running.disposeAsync())
}

if (!isMainThread && isThreadData(workerData)) await run(workerData)

/** False in a worker of somebody else's that merely imports this file, such as a test runner's. */
function isThreadData(data: unknown): data is ThreadData {
  return typeof data === "object" && data !== null && "writePort" in data && "intakePort" in data
}
