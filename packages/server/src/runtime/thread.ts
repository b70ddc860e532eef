/** Threads of the server: how one starts, says that it is ready, fails and ends. */
import { once } from "node:events"
import { isMainThread, parentPort, Worker, workerData, type Transferable } from "node:worker_threads"

/** The first word of a thread: it is ready, or says why it cannot begin. */
type FirstWord = { readonly kind: "ready" } | { readonly kind: "refused"; readonly message: string }

/** Why a thread could not begin. Whoever starts it knows the class of that: errors lose it on the way. */
export class ThreadRefused extends Error {
  override readonly name = "ThreadRefused"
}

/** A running thread, seen from where it was started. */
export interface Thread {
  /** Gives it something that it waits for. */
  post(message: unknown, transfer?: readonly Transferable[]): void
  /** Rejects when the thread fails, or ends without having been told to; else pending for ever. */
  readonly failed: Promise<never>
  /** Has the thread end after what it is doing, and waits for that. */
  close(): Promise<void>
}

/** What a thread is told. */
type Told = { readonly kind: "post"; readonly message: unknown } | { readonly kind: "close" }

/** What a thread is started with. */
interface Started<Data> {
  /** Which file it runs. */
  readonly file: string
  readonly data: Data
}

/** Starts a thread that runs the file at `url`, and answers once it is ready. Throws `ThreadRefused`. */
export async function startThread(
  url: string,
  data: unknown,
  transfer: readonly Transferable[] = [],
): Promise<Thread> {
  const started: Started<unknown> = { file: url, data }
  const worker = new Worker(new URL(url), { workerData: started, transferList: [...transfer] })
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
  const [first] = (await Promise.race([once(worker, "message"), failed])) as [FirstWord]
  if (first.kind === "refused") {
    await exited
    throw new ThreadRefused(first.message)
  }
  return {
    post: (message, transferred = []) =>
      worker.postMessage({ kind: "post", message } satisfies Told, [...transferred]),
    failed,
    async close() {
      isClosing = true
      worker.postMessage({ kind: "close" } satisfies Told)
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
export async function serveThread<Data>(
  url: string,
  begin: (data: Data) => Promise<ThreadWork>,
): Promise<void> {
  const started = workerData as Partial<Started<Data>> | null
  if (isMainThread || parentPort === null || started?.file !== url) return
  const port = parentPort
  const say = (word: FirstWord): void => port.postMessage(word)
  let work: ThreadWork
  try {
    work = await begin(started.data as Data)
  } catch (error) {
    if (!(error instanceof ThreadRefused)) throw error
    say({ kind: "refused", message: error.message })
    return
  }
  port.on("message", (told: Told) => {
    if (told.kind === "post") {
      work.receive?.(told.message)
      return
    }
    port.close()
    void work[Symbol.asyncDispose]()
  })
  say({ kind: "ready" })
}
