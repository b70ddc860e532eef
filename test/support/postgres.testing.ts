/** The PostgreSQL server that tests use, and whether it is available. */
import { createConnection } from "node:net"

const address = { host: "127.0.0.1", port: 5432 } as const

/**
 * The reason for skipping tests on PostgreSQL; `undefined` when they can run. In CI it throws instead: there they fail.
 */
export async function whyNoPostgres(): Promise<string | undefined> {
  const socket = createConnection(address)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  socket.once("connect", () => resolve(true))
  socket.once("error", () => resolve(false))
  const isThere = await promise
  socket.destroy()
  if (isThere) return undefined
  const reason = `No PostgreSQL at ${address.host}:${address.port}, where the user postgres may create databases.`
  if (process.env["CI"] !== undefined) throw new Error(reason)
  return reason
}
