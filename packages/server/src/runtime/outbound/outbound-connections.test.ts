import { EventEmitter } from "node:events"
import type { Client } from "undici"
import { expect, test } from "vitest"
import { Connections, type Connection } from "./outbound-connections.ts"

/** A connection that notes what is done to it. */
class NotedClient extends EventEmitter {
  readonly done: string[] = []

  dispatch(): boolean {
    this.done.push("dispatch")
    return true
  }

  close(closed: () => void): void {
    this.done.push("close")
    closed()
  }

  destroy(): Promise<void> {
    this.done.push("destroy")
    return Promise.resolve()
  }
}

/** A request that never ends by itself. */
class HeldExchange {
  connection: Connection | undefined
  readonly errors: Error[] = []

  onResponseError(_controller: unknown, error: Error): void {
    this.errors.push(error)
  }
}

function start() {
  const clients: NotedClient[] = []
  const open = (): Client => {
    const client = new NotedClient()
    clients.push(client)
    return client as unknown as Client
  }
  const connections = new Connections(open, () => new Error("closed"))
  const send = (origin = "http://a"): HeldExchange => {
    const exchange = new HeldExchange()
    connections.dispatch(origin, { path: "/", method: "POST" }, exchange)
    return exchange
  }
  const done = (): readonly string[] => clients.map((client) => client.done.join(" "))
  return { clients, connections, send, done }
}

test("a request uses the free connection to its origin that was used last, and otherwise a new one", () => {
  const { send, done } = start()
  const [first, second] = [send(), send()]
  send("http://b")
  expect(done()).toEqual(["dispatch", "dispatch", "dispatch"])
  first.connection?.free()
  second.connection?.free()
  send()
  expect(done()).toEqual(["dispatch", "dispatch dispatch", "dispatch"])
  send()
  send()
  expect(done()).toEqual(["dispatch dispatch", "dispatch dispatch", "dispatch", "dispatch"])
})

test("a free connection that ends is closed and not used again; one in use stays with its request", () => {
  const { clients, send, done } = start()
  const [first, second] = [send(), send()]
  first.connection?.free()
  for (const client of clients) client.emit("disconnect")
  expect(done()).toEqual(["dispatch close", "dispatch"])
  second.connection?.close()
  send()
  expect(done()).toEqual(["dispatch close", "dispatch close", "dispatch"])
})

test("closing ends the remaining connections, free or in use, and no request is sent after it", async () => {
  const { connections, send, done } = start()
  const [first, second] = [send(), send()]
  send()
  first.connection?.free()
  second.connection?.close()
  await connections.close()
  expect(done()).toEqual(["dispatch destroy", "dispatch close", "dispatch destroy"])
  expect(send().errors.map(({ message }) => message)).toEqual(["closed"])
  expect(done()).toHaveLength(3)
})
