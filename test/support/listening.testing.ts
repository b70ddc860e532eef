import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"

/** An HTTP server on a free port, closed by its disposal. */
export async function listening(listener: RequestListener): Promise<{ readonly url: string } & AsyncDisposable> {
  const endpoint = createServer(listener).listen(0, "127.0.0.1")
  await once(endpoint, "listening")
  return {
    url: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      endpoint.closeAllConnections()
      endpoint.close()
      await once(endpoint, "close")
    },
  }
}
