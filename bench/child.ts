/** Child processes that do a part of a bench: each returns one message for each message it receives. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { endWithBench } from "./child-processes.ts"

/** A child process. */
export interface Child<Message extends object> extends AsyncDisposable {
  /** Sends a message and returns the reply. One message at a time. */
  request(message: Message): Promise<unknown>
}

/** Starts a file of this folder as a child process. */
export function startChild<Message extends object>(file: string, args: readonly string[] = []): Child<Message> {
  const child = endWithBench(fork(fileURLToPath(new URL(file, import.meta.url)), args))
  const exited = once(child, "exit")
  return {
    async request(message) {
      const replied = once(child, "message")
      child.send(message)
      const [reply] = (await Promise.race([
        replied,
        exited.then(() => Promise.reject(new Error(`${file} has ended`))),
      ])) as [unknown]
      return reply
    },
    async [Symbol.asyncDispose]() {
      child.disconnect()
      await exited
    },
  }
}

/** The child's side: replies to each message until the parent ends. */
export function replyToEach<Message>(reply: (message: Message) => Promise<object> | object): void {
  process.on("message", (message: Message) => {
    void (async () => process.send?.(await reply(message)))()
  })
  // Open handles must not keep the process alive.
  process.on("disconnect", () => process.exit())
}
