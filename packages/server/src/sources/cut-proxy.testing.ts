/** A TCP proxy that cuts connections, before a server that stays. */
import { once } from "node:events"
import { connect, createServer, type AddressInfo, type Socket } from "node:net"

/** The proxy. */
export interface CutProxy extends AsyncDisposable {
  readonly port: number
  /** Connections that were made through it. */
  readonly connections: number
  /** Refuses connections until `open`, and cuts those that there are. */
  close(): Promise<void>
  /** Lets connections through again, at the same port. */
  open(): Promise<void>
}

/** Starts one that is open. */
export async function startCutProxy(to: { readonly host: string; readonly port: number }): Promise<CutProxy> {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((client) => {
    connections += 1
    const upstream = connect(to)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      // What is cut fails on the other side, too.
      socket.on("error", () => undefined)
      socket.once("close", () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream).pipe(client)
  })
  const listen = async (port: number): Promise<void> => {
    server.listen(port, "127.0.0.1")
    await once(server, "listening")
  }
  const close = async (): Promise<void> => {
    const closed = once(server, "close")
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    port,
    get connections() {
      return connections
    },
    close,
    open: () => listen(port),
    [Symbol.asyncDispose]: () => (server.listening ? close() : Promise.resolve()),
  }
}
