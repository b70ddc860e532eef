/**
 * Threads of the server: how one starts, reports that it is ready, fails and ends.
 *
 *     the starter                                     the thread
 *     loadThread(url) ──────────────────────────────► loads the file, which calls serveThread
 *     thread.start(data) ── data, one end of a port ► begin(data, port)
 *       resolves, or rejects  ◄── ready | refused ──  with what `begin` throws, of its class
 *     thread.port ◄──────── calls (`port-calls.ts`) ► port
 *     thread.close() ───────────────────────────────► ends its work, then the port, then itself
 */
import { once } from "node:events"
import { basename, extname } from "node:path"
import {
  isMainThread,
  MessageChannel,
  parentPort,
  Worker,
  workerData,
  type MessagePort,
  type Transferable,
} from "node:worker_threads"
import { receivedError, sentError, type SentError } from "./error-codec.ts"

/** The first message of a thread: it is ready, or why it cannot begin. */
type FirstMessage = { readonly kind: "ready" } | { readonly kind: "refused"; readonly error: SentError }

/** A running thread, seen from where it was started. */
export interface Thread {
  /** To the thread. It closes when the thread ends. */
  readonly port: MessagePort
  /** Rejects when the thread fails, or ends without a request to; otherwise it stays pending. */
  readonly failed: Promise<never>
  /** Resolves when the thread has ended, with the reason for which its pending calls reject. */
  readonly ended: Promise<Error>
  /** Ends the thread after its current work, and waits for that. */
  close(): Promise<void>
  /** Ends the thread at once, which may be in a loop. `failed` stays pending. */
  kill(): Promise<void>
}

/** A thread that loads what it runs and then waits for what it is to work on. Disposing of it ends it, started or not. */
export interface LoadingThread extends Pick<Thread, "port">, AsyncDisposable {
  /** Begins its work, once, and resolves when it is ready. Throws what its `begin` throws. */
  start(data: unknown, transfer?: readonly Transferable[]): Promise<Thread>
}

/** A message to a thread. */
type Instruction =
  | { readonly kind: "begin"; readonly data: unknown; readonly port: MessagePort }
  | { readonly kind: "close" }

interface ThreadLimits {
  /** The thread sees no environment variables, which may hold secrets. */
  readonly hidesEnvironment?: boolean
  /** A thread that needs more heap than this fails, and nothing else with it. */
  readonly heapMbMax?: number
  /** Most of its heap that is for objects just made; V8's default is 48. They are collected when it is full. */
  readonly youngHeapMb?: number
}

/** Starts a thread that runs the file at `url`, and resolves when it is ready. Throws what its `begin` throws. */
export async function startThread(
  url: string,
  data: unknown,
  transfer: readonly Transferable[] = [],
  limits: ThreadLimits = {},
): Promise<Thread> {
  return loadThread(url, limits).start(data, transfer)
}

/** Loads the file at `url` in a thread, while its data may still be in the making. */
export function loadThread(
  url: string,
  { heapMbMax, youngHeapMb, hidesEnvironment = false }: ThreadLimits = {},
): LoadingThread {
  const worker = new Worker(new URL(url), {
    // By this name `top -H` shows it.
    name: basename(url, extname(url)),
    ...(hidesEnvironment && { env: {} }),
    // By this a file knows that the thread is its own.
    workerData: url,
    resourceLimits: {
      ...(heapMbMax !== undefined && { maxOldGenerationSizeMb: heapMbMax }),
      ...(youngHeapMb !== undefined && { maxYoungGenerationSizeMb: youngHeapMb }),
    },
  })
  // Messages that are posted before the thread has begun wait in the channel.
  const { port1: port, port2: itsPort } = new MessageChannel()
  const instruct = (instruction: Instruction, transfer: readonly Transferable[] = []): void =>
    worker.postMessage(instruction, [...transfer])
  let hasBegun = false
  let isClosing = false
  let reason = new Error("The thread has ended.")
  worker.once("error", (error: Error) => {
    reason = error
  })
  // Not `once`, which would reject when the thread fails.
  const ended = new Promise<Error>((resolve) => worker.once("exit", () => resolve(reason)))
  const failed = new Promise<never>((_, reject) => {
    worker.once("error", reject)
    worker.once("exit", () => {
      if (!isClosing) reject(reason)
    })
  })
  // It may fail before anything waits for it.
  failed.catch(() => undefined)
  const close = async (): Promise<void> => {
    isClosing = true
    instruct({ kind: "close" })
    await ended
    // Once it has begun, the port closes with its end: closing it here would discard the last messages of the thread.
    if (!hasBegun) port.close()
  }
  return {
    port,
    async start(data, transfer = []) {
      hasBegun = true
      instruct({ kind: "begin", data, port: itsPort }, [...transfer, itsPort])
      const [first] = (await Promise.race([once(worker, "message"), failed])) as [FirstMessage]
      if (first.kind === "refused") {
        isClosing = true
        await worker.terminate()
        throw receivedError(first.error)
      }
      const kill = async (): Promise<void> => {
        isClosing = true
        await worker.terminate()
      }
      return { port, failed, ended, close, kill }
    },
    [Symbol.asyncDispose]: close,
  }
}

/**
 * To be called by the file that a thread runs, with its own `import.meta.url`. Calls `begin` in the thread that was created
 * for that file, with the data and the thread's end of the port, and does nothing where the file is only imported. The
 * result of `begin` is disposed of when the thread is to end.
 */
export function serveThread<Data>(
  url: string,
  begin: (data: Data, port: MessagePort) => Promise<AsyncDisposable>,
): void {
  if (isMainThread || parentPort === null || workerData !== url) return
  const boot = parentPort
  const report = (message: FirstMessage): void => boot.postMessage(message)
  let begun: Promise<void> | undefined
  let end = async (): Promise<void> => undefined
  const beginWith = async (data: Data, port: MessagePort): Promise<void> => {
    try {
      const work = await begin(data, port)
      end = async () => {
        await work[Symbol.asyncDispose]()
        port.close()
      }
      report({ kind: "ready" })
    } catch (error) {
      // The starter ends the thread: the last message of a thread may arrive after the event of its end.
      report({ kind: "refused", error: sentError(error) })
    }
  }
  boot.on("message", (instruction: Instruction) => {
    if (instruction.kind === "begin") begun = beginWith(instruction.data as Data, instruction.port)
    else {
      boot.close()
      // An error here fails the thread.
      void Promise.resolve(begun).then(() => end())
    }
  })
}
