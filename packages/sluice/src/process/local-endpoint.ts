import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"

/** A listening endpoint. Disposing of it closes its connections. */
export interface LocalEndpoint extends AsyncDisposable {
  readonly url: string
}

/**
 * Starts an endpoint of this machine at `path`, on a free port for `port` 0. `respond` gets the requests for every path.
 * Rejects with the system's error when the port is unavailable.
 */
export async function startLocalEndpoint(respond: RequestListener, path: string, port = 0): Promise<LocalEndpoint> {
  const server = createServer(respond).listen(port, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}${path}`,
    async [Symbol.asyncDispose]() {
      if (!server.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}
