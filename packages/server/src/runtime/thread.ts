/** Threads of the server: how one starts, reports that it is ready, fails and ends. */
import { once } from "node:events"
import { isMainThread, parentPort, Worker, workerData, type Transferable } from "node:worker_threads"

/** The first message of a thread: it is ready, or why it cannot begin. */
type FirstMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "refused"; readonly message: string; readonly code: string | undefined }

/** Why a thread could not begin. Errors lose their class between threads; the starter restores it. */
export class ThreadRefused extends Error {
  override readonly name = "ThreadRefused"
  /** Names its class, where there are several. */
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}

/** A running thread, seen from where it was started. */
export interface Thread {
  /** Gives it something that it waits for. */
  post(message: unknown, transfer?: readonly Transferable[]): void
  /** Rejects when the thread fails, or ends without a request to; otherwise it stays pending. */
  readonly failed: Promise<never>
  /** Has the thread end after what it is doing, and waits for that. */
  close(): Promise<void>
}

/** A thread that loads what it runs and then waits for what it is to work on. Disposing of it ends it, started or not. */
export interface LoadingThread extends AsyncDisposable {
  /** Has it begin, once, and answers when it is ready. Throws `ThreadRefused`. */
  start(data: unknown, transfer?: readonly Transferable[]): Promise<Thread>
}

/** A message to a thread. */
type Instruction =
  | { readonly kind: "begin"; readonly data: unknown }
  | { readonly kind: "post"; readonly message: unknown }
  | { readonly kind: "close" }

/** What a thread is created with. */
interface Created {
  /** Which file it runs. */
  readonly file: string
}

interface ThreadLimits {
  /** A thread that needs more heap than this fails, and nothing else with it. */
  readonly heapMbMax?: number
}

/** Starts a thread that runs the file at `url`, and answers once it is ready. Throws `ThreadRefused`. */
export async function startThread(
  url: string,
  data: unknown,
  transfer: readonly Transferable[] = [],
  limits: ThreadLimits = {},
): Promise<Thread> {
  return loadThread(url, limits).start(data, transfer)
}

/** Has a thread load the file at `url`, while its data may still be in the making. */
export function loadThread(url: string, { heapMbMax }: ThreadLimits = {}): LoadingThread {
  const worker = new Worker(new URL(url), {
    workerData: { file: url } satisfies Created,
    ...(heapMbMax !== undefined && { resourceLimits: { maxOldGenerationSizeMb: heapMbMax } }),
  })
  const instruct = (instruction: Instruction, transfer: readonly Transferable[] = []): void =>
    worker.postMessage(instruction, [...transfer])
  // Not `once`, which would reject when the thread fails.
  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()))
  let isClosing = false
  const failed = new Promise<never>((_, reject) => {
    worker.once("error", reject)
    worker.once("exit", () => {
      if (!isClosing) reject(new Error("The thread has ended."))
    })
  })
  // Nobody may be listening yet when it fails; the race below and the server do.
  failed.catch(() => undefined)
  const close = async (): Promise<void> => {
    isClosing = true
    instruct({ kind: "close" })
    await exited
  }
  return {
    async start(data, transfer) {
      instruct({ kind: "begin", data }, transfer)
      const [first] = (await Promise.race([once(worker, "message"), failed])) as [FirstMessage]
      if (first.kind === "refused") {
        await close()
        throw new ThreadRefused(first.message, first.code)
      }
      return { post: (message, transferred) => instruct({ kind: "post", message }, transferred), failed, close }
    },
    [Symbol.asyncDispose]: close,
  }
}

/** What a thread does: it takes what it is given, and ends. */
export interface ThreadWork extends AsyncDisposable {
  receive?(message: unknown): void
}

/**
 * To be called by the file that a thread runs, with its own `import.meta.url`. Has `begin` called with the data in the
 * thread that was created for that file, and does nothing where the file is only imported.
 */
export function serveThread<Data>(url: string, begin: (data: Data) => Promise<ThreadWork>): void {
  const created = workerData as Partial<Created> | null
  if (isMainThread || parentPort === null || created?.file !== url) return
  const port = parentPort
  const report = (message: FirstMessage): void => port.postMessage(message)
  let work: ThreadWork | undefined
  const beginWith = async (data: Data): Promise<void> => {
    try {
      work = await begin(data)
    } catch (error) {
      if (!(error instanceof ThreadRefused)) throw error
      // It ends when the starter has this: the last message of a thread may arrive after the event of its end.
      report({ kind: "refused", message: error.message, code: error.code })
      return
    }
    report({ kind: "ready" })
  }
  port.on("message", (instruction: Instruction) => {
    switch (instruction.kind) {
      case "begin":
        // What it throws fails the thread.
        void beginWith(instruction.data as Data)
        break
      case "post":
        work?.receive?.(instruction.message)
        break
      case "close":
        port.close()
        void work?.[Symbol.asyncDispose]()
    }
  })
}
