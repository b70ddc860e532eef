/**
 * Makes `/openapi.json` in a thread of its own, which ends with it: that takes some 0.4 s, in which no request would be
 * handled. Anyone may ask for it, without a token.
 */
import { PortCalls, servePort } from "../../runtime/port-calls.ts"
import { serveThread, startThread } from "../../runtime/thread.ts"
import { runBehindOthers } from "../../runtime/thread-priority.ts"
import type { DescribedRoute } from "./openapi.ts"

/** Functions of the thread. */
interface Functions {
  json(routes: readonly DescribedRoute[]): Promise<string>
}

/** The document of these routes as JSON. Rejects when the thread fails. */
export async function openApiBytes(routes: readonly DescribedRoute[]): Promise<Buffer> {
  const thread = await startThread(import.meta.url, undefined)
  try {
    const port = new PortCalls<Functions>(thread.port, {}, { reason: () => thread.ended })
    return Buffer.from(await port.call("json", [routes]))
  } finally {
    await thread.close()
  }
}

serveThread(import.meta.url, async (_, port) => {
  runBehindOthers()
  const { openApiDocument } = await import("./openapi.ts")
  servePort<Functions>(port, { json: async (routes) => JSON.stringify(await openApiDocument(routes)) })
  return { [Symbol.asyncDispose]: async () => undefined }
})
