/**
 * Makes `/openapi.json` in a thread of its own, which ends with it: that takes some 0.4 s, in which no request would be
 * handled. Anybody may ask for it, without a token.
 */
import { once } from "node:events"
import { MessageChannel, type MessagePort } from "node:worker_threads"
import { serveThread, startThread } from "../../runtime/thread.ts"
import type { DescribedRoute } from "./openapi.ts"

interface ThreadData {
  readonly routes: readonly DescribedRoute[]
  readonly port: MessagePort
}

/** The document of these routes as JSON. Rejects when the thread fails. */
export async function openApiBytes(routes: readonly DescribedRoute[]): Promise<Buffer> {
  const { port1, port2 } = new MessageChannel()
  const made = once(port1, "message")
  const data: ThreadData = { routes, port: port2 }
  const thread = await startThread(import.meta.url, data, [port2])
  try {
    const [json] = (await Promise.race([made, thread.failed])) as [string]
    return Buffer.from(json)
  } finally {
    port1.close()
    await thread.close()
  }
}

serveThread(import.meta.url, async ({ routes, port }: ThreadData) => {
  const { openApiDocument } = await import("./openapi.ts")
  port.postMessage(JSON.stringify(await openApiDocument(routes)))
  return {
    async [Symbol.asyncDispose]() {
      port.close()
    },
  }
})
