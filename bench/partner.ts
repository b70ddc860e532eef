/** Processes that do a bench's work beside it: each answers one message with one. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

/** A process at work. */
export interface Partner<Ask extends object> extends AsyncDisposable {
  /** What it answers. Ask again when it has. */
  ask(message: Ask): Promise<unknown>
}

/** Starts a file of this folder as a process. */
export function startPartner<Ask extends object>(file: string, args: readonly string[] = []): Partner<Ask> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args)
  const exited = once(child, "exit")
  return {
    async ask(message) {
      const answered = once(child, "message")
      child.send(message)
      const [answer] = (await Promise.race([
        answered,
        exited.then(() => Promise.reject(new Error(`${file} has ended`))),
      ])) as [unknown]
      return answer
    },
    async [Symbol.asyncDispose]() {
      child.disconnect()
      await exited
    },
  }
}

/** The other side: answers each message, until the one that asks is gone. */
export function answerEach<Ask>(answer: (message: Ask) => Promise<object> | object): void {
  process.on("message", (message: Ask) => {
    void (async () => process.send?.(await answer(message)))()
  })
  // What is still open must not keep the process.
  process.on("disconnect", () => process.exit())
}
