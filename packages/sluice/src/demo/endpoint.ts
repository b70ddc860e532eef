import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { nodeHandler, receiver, type ReceiverOptions } from "@sluice/client/receiver"

/** Starts a webhook endpoint on a free port of this machine. Disposing of it closes every connection. */
export async function startEndpoint(options: ReceiverOptions): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer(nodeHandler(receiver(options))).listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/webhook`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}
