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
import { RuleIndex } from "../matching/rule-index.ts"
import { systemClock } from "../runtime/clock.ts"
import { openEmbeddedStore } from "../store/embedded/embedded-store.ts"
import { serveWrites } from "../store/embedded/write-port.ts"
import { serveIntake } from "./serve-intake.ts"

interface ThreadData {
  readonly file: string
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

/** Starts the thread on a store, and answers once it is open and its rules are indexed. */
export async function startIntakeThread({ file }: { file: string }): Promise<IntakeThread> {
  const [writes, intake] = [new MessageChannel(), new MessageChannel()]
  const data: ThreadData = { file, writePort: writes.port2, intakePort: intake.port2 }
  const worker = new Worker(new URL(import.meta.url), {
    workerData: data,
    transferList: [writes.port2, intake.port2],
  })
  const exited = once(worker, "exit")
  const failed = new Promise<never>((_, reject) => worker.once("error", reject))
  // Nobody may be listening yet when it fails; the race below and the server do.
  failed.catch(() => undefined)
  await Promise.race([once(worker, "message"), failed])
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

async function run({ file, writePort, intakePort }: ThreadData): Promise<void> {
  const store = await openEmbeddedStore({ file })
  const rules = await RuleIndex.load(store)
  // This index is the only one that follows them.
  await store.forgetRuleChanges(rules.seq)
  serveWrites(writePort, store)
  serveIntake(intakePort, { store, rules, clock: systemClock })
  parentPort?.postMessage("ready")
  parentPort?.once("message", () => {
    writePort.close()
    intakePort.close()
    void store[Symbol.asyncDispose]()
  })
}

if (!isMainThread && isThreadData(workerData)) await run(workerData)

/** False in a worker of somebody else's that merely imports this file, such as a test runner's. */
function isThreadData(data: unknown): data is ThreadData {
  return typeof data === "object" && data !== null && "writePort" in data && "intakePort" in data
}
