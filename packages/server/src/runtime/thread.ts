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

/** A message to a thread. */
type Instruction = { readonly kind: "post"; readonly message: unknown } | { readonly kind: "close" }

/** What a thread is started with. */
interface Started<Data> {
  /** Which file it runs. */
  readonly file: string
  readonly data: Data
}

/**
 * Starts a thread that runs the file at `url`, and answers once it is ready. Throws `ThreadRefused`. A thread that
 * needs more heap than `heapMbMax` fails, and nothing else with it.
 */
export async function startThread(
  url: string,
  data: unknown,
  transfer: readonly Transferable[] = [],
  { heapMbMax }: { readonly heapMbMax?: number } = {},
): Promise<Thread> {
  const started: Started<unknown> = { file: url, data }
  const worker = new Worker(new URL(url), {
    workerData: started,
    transferList: [...transfer],
    ...(heapMbMax !== undefined && { resourceLimits: { maxOldGenerationSizeMb: heapMbMax } }),
  })
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
  const [first] = (await Promise.race([once(worker, "message"), failed])) as [FirstMessage]
  if (first.kind === "refused") {
    worker.postMessage({ kind: "close" } satisfies Instruction)
    await exited
    throw new ThreadRefused(first.message, first.code)
  }
  return {
    post: (message, transferred = []) =>
      worker.postMessage({ kind: "post", message } satisfies Instruction, [...transferred]),
    failed,
    async close() {
      isClosing = true
      worker.postMessage({ kind: "close" } satisfies Instruction)
      await exited
    },
  }
}

/** What a thread does: it takes what it is given, and ends. */
export interface ThreadWork extends AsyncDisposable {
  receive?(message: unknown): void
}

/**
 * To be called by the file that a thread runs, with its own `import.meta.url`. Has `begin` called with the data in the
 * thread that was started on that file, and does nothing where the file is only imported.
 */
export async function serveThread<Data>(url: string, begin: (data: Data) => Promise<ThreadWork>): Promise<void> {
  const started = workerData as Partial<Started<Data>> | null
  if (isMainThread || parentPort === null || started?.file !== url) return
  const port = parentPort
  const report = (message: FirstMessage): void => port.postMessage(message)
  let work: ThreadWork
  try {
    work = await begin(started.data as Data)
  } catch (error) {
    if (!(error instanceof ThreadRefused)) throw error
    // It ends when the starter has this: the last message of a thread may arrive after the event of its end.
    port.once("message", () => port.close())
    report({ kind: "refused", message: error.message, code: error.code })
    return
  }
  port.on("message", (instruction: Instruction) => {
    if (instruction.kind === "post") {
      work.receive?.(instruction.message)
      return
    }
    port.close()
    void work[Symbol.asyncDispose]()
  })
  report({ kind: "ready" })
}
