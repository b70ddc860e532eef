/**
 * The connections of a server and the answers under way on each, so that a server that closes does not wait for
 * ever for its clients.
 *
 *     no answer under way (idle, or its head not finished) ─► closed at once
 *     an answer under way ─► finished ─► closed
 *                            └─ not within the time ─► cut
 *
 * Node's own `close` looks at nothing but idle connections, and stops its clock for slow heads.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Clock } from "../runtime/clock.ts"

/** How long a client that was answered in the middle of its body has to take the answer in. Ours. */
const lingerMs = 1_000

/** Follows the connections of servers. */
export class OpenConnections {
  readonly #clock: Clock
  readonly #answers = new Map<Socket, Set<ServerResponse>>()
  readonly #allClosed = new AbortController()
  #isDraining = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Follows those of a server that does not listen yet. Several when one name stands for several addresses. */
  follow(server: Server): void {
    server.on("connection", (socket: Socket) => this.#add(socket))
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#begin(request.socket, response)
    })
  }

  /** Ends every connection, those with an answer under way after it, and whatever is left after `msMax`. */
  async drain(msMax: number): Promise<void> {
    this.#isDraining = true
    for (const [socket, answers] of this.#answers) {
      const last = [...answers].at(-1)
      if (last === undefined) socket.destroy()
      else announceEnd(last)
    }
    if (this.#answers.size === 0) return
    await this.#clock.sleep(msMax, this.#allClosed.signal)
    for (const socket of this.#answers.keys()) socket.destroy()
  }

  #add(socket: Socket): void {
    if (this.#isDraining) {
      socket.destroy()
      return
    }
    this.#answers.set(socket, new Set())
    socket.once("close", () => {
      this.#answers.delete(socket)
      if (this.#isDraining && this.#answers.size === 0) this.#allClosed.abort()
    })
  }

  #begin(socket: Socket, response: ServerResponse): void {
    const answers = this.#answers.get(socket)
    answers?.add(response)
    response.once("close", () => {
      answers?.delete(response)
      if (this.#isDraining && answers?.size === 0) this.#end(socket, response)
    })
  }

  #end(socket: Socket, { req }: ServerResponse): void {
    if (req.complete || socket.destroyed) {
      socket.destroySoon()
      return
    }
    // Closing with bytes unread would reset the connection, and take the answer from whoever still sends.
    socket.end()
    const closed = new AbortController()
    socket.once("close", () => closed.abort())
    void this.#clock.sleep(lingerMs, closed.signal).then(() => socket.destroy())
  }
}

/** Says in an answer that it is the connection's last. */
function announceEnd(response: ServerResponse): void {
  const announce = (): void => {
    if (!response.headersSent) response.setHeader("connection", "close")
  }
  if (response.req.complete) announce()
  // An answer that says so before its request has come would be cut with the rest of the request.
  else response.req.once("end", announce)
}
