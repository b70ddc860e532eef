import { keepErrorClasses } from "./error-codec.ts"
import { PortCalls } from "./port-calls.ts"
import { serveThread } from "./thread.ts"

/** Task of a thread in tests. */
export interface ThreadTask {
  readonly kind: "echo" | "refuse" | "fail" | "fail-later" | "end" | "end-later" | "fill"
}

/** Functions of such a thread. */
export interface TaskFunctions {
  echo(text: string): string
}

/** Why a thread of the tests refuses to begin. */
export class TaskRefused extends Error {
  override readonly name = "TaskRefused"
  readonly code = "TOO_LATE"
}

keepErrorClasses(TaskRefused)

/** Number of messages that such a thread sends when it is closed. */
export const lastMessages = 1_000

/** The file that such threads run. */
export const threadFile = import.meta.url

serveThread(import.meta.url, async ({ kind }: ThreadTask, port) => {
  if (kind === "refuse") throw new TaskRefused("It is too late.")
  if (kind === "fail") throw new Error("It fails.")
  if (kind === "end") process.exit()
  if (kind === "fill") {
    const kept: string[][] = []
    setInterval(() => kept.push(Array.from({ length: 100_000 }, (_, at) => `${kept.length} ${at}`)), 1)
  }
  if (kind === "end-later") setTimeout(() => process.exit(), 500)
  if (kind === "fail-later") {
    setTimeout(() => {
      throw new Error("It fails later.")
    }, 500)
  }
  const functions: TaskFunctions = { echo: (text) => text }
  const starter = new PortCalls<{ closed(): void }>(port, functions)
  return {
    async [Symbol.asyncDispose]() {
      for (let count = 0; count < lastMessages; count += 1) starter.tell("closed", [])
    },
  }
})
