import type { MessagePort } from "node:worker_threads"
import { serveThread, ThreadRefused } from "./thread.ts"

/** What a thread of the tests is to do. */
export interface ThreadTask {
  readonly kind: "echo" | "refuse" | "fail" | "fail-later" | "end" | "end-later" | "fill"
}

/** What such threads run. */
export const threadFile = import.meta.url

serveThread(import.meta.url, async ({ kind }: ThreadTask) => {
  if (kind === "refuse") throw new ThreadRefused("It is too late.")
  if (kind === "fail") throw new Error("It fails.")
  if (kind === "end") process.exit()
  if (kind === "fill") {
    const kept: string[][] = []
    setInterval(() => kept.push(Array.from({ length: 100_000 }, (_, at) => `${kept.length} ${at}`)), 1)
  }
  if (kind === "end-later") setTimeout(() => process.exit(), 20)
  if (kind === "fail-later") {
    setTimeout(() => {
      throw new Error("It fails later.")
    }, 20)
  }
  let answers: MessagePort | undefined
  return {
    receive(message) {
      const { port, text } = message as { readonly port: MessagePort; readonly text: string }
      answers = port
      port.postMessage(text)
    },
    async [Symbol.asyncDispose]() {
      answers?.postMessage("closed")
      answers?.close()
    },
  }
})
