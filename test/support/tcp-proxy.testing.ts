/**
 * A TCP proxy that fails on demand: the network between a process and PostgreSQL, or NATS.
 *
 *     cut          resets open connections, and new ones too
 *     half-open    passes nothing in either direction, and neither end learns of it: existing connections stay in this
 *                  state, even when the network is back, as when a router has forgotten them
 *     held         passes nothing until the network is back, and then all of it, as TCP sends lost segments again
 *     slow         delays all data by 200 ms
 */
import { once } from "node:events"
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from "node:net"

/** State of the network. */
export type Network = "good" | "cut" | "half-open" | "held" | "slow"

const slowMs = 200

/** One connection through the proxy. */
interface Pair {
  readonly client: Socket
  readonly server: Socket
  isLost: boolean
  /** The next response is the last of the connection, and lost. */
  isResponseCut: boolean
}

/** A proxy that listens on a port of this machine. */
export class TcpProxy implements AsyncDisposable {
  readonly #listener: Server
  readonly #pairs = new Set<Pair>()
  #network: Network = "good"
  #countdown: { left: number; readonly side: "before" | "after" } | undefined
  /** Number of connections and chunks that met a faulty network. */
  hits = 0

  static async to(port: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(port)
    proxy.#listener.listen(0, "127.0.0.1")
    await once(proxy.#listener, "listening")
    return proxy
  }

  private constructor(targetPort: number) {
    this.#listener = createServer((client) => this.#accept(client, targetPort))
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port
  }

  /** Open connections. */
  get open(): number {
    return this.#pairs.size
  }

  set(network: Network): void {
    this.#network = network
    for (const pair of this.#pairs) {
      if (network === "cut") this.#reset(pair)
      if (network === "half-open") pair.isLost = true
      for (const socket of [pair.client, pair.server]) {
        if (network === "held") socket.pause()
        else socket.resume()
      }
      if (network === "held") this.hits += 1
    }
  }

  /**
   * Resets the connection on which the message after `skip` others comes from a client: before the server receives it,
   * or when the server has responded, and the client does not receive the response. PostgreSQL's clients send a
   * statement as one message.
   */
  cutAtMessage(skip: number, side: "before" | "after"): void {
    this.#countdown = { left: skip, side }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#listener, "close")
    this.#listener.close()
    for (const pair of this.#pairs) this.#reset(pair)
    await closed
  }

  #accept(client: Socket, port: number): void {
    if (this.#network === "cut") {
      this.hits += 1
      client.resetAndDestroy()
      return
    }
    const pair = {
      client,
      server: createConnection(port, "127.0.0.1"),
      isLost: this.#network === "half-open",
      isResponseCut: false,
    }
    this.#pairs.add(pair)
    this.#forward(pair, pair.client, pair.server, () => this.#isCutBefore(pair))
    this.#forward(pair, pair.server, pair.client, () => pair.isResponseCut)
    if (this.#network === "held") for (const socket of [pair.client, pair.server]) socket.pause()
  }

  /** Counts a message of a client. */
  #isCutBefore(pair: Pair): boolean {
    const countdown = this.#countdown
    if (countdown === undefined || countdown.left-- > 0) return false
    this.#countdown = undefined
    pair.isResponseCut = countdown.side === "after"
    return countdown.side === "before"
  }

  #forward(pair: Pair, from: Socket, to: Socket, isCut: () => boolean): void {
    from.on("data", (chunk) => {
      if (isCut()) {
        this.#reset(pair)
        return
      }
      if (this.#network !== "good") this.hits += 1
      if (pair.isLost) return
      if (this.#network === "slow") setTimeout(() => to.write(chunk), slowMs)
      else to.write(chunk)
    })
    from.on("error", () => undefined)
    from.on("close", () => {
      // The other end of a lost connection learns nothing.
      if (pair.isLost) return
      this.#pairs.delete(pair)
      to.destroy()
    })
  }

  #reset(pair: Pair): void {
    this.hits += 1
    this.#pairs.delete(pair)
    for (const socket of [pair.client, pair.server]) socket.resetAndDestroy()
  }
}
