/** Whether the servers that tests of sources use are there. */
import { createConnection } from "node:net"
import { describe } from "vitest"

/** The address of a server. */
interface Address {
  readonly host: string
  readonly port: number
}

/**
 * As `describe`, for tests that need a server. If it cannot be reached they are skipped with a line that says so; in CI
 * they fail. `program` starts one.
 */
export async function describeWithServer(
  name: string,
  address: Address,
  program: string,
): Promise<typeof describe | typeof describe.skip> {
  if (await isListening(address)) return describe
  const reason = `No ${name} server at ${address.host}:${address.port}. Start one with: ${program}`
  if (process.env.CI !== undefined) throw new Error(reason)
  console.warn(`Skipped: ${reason}`)
  return describe.skip
}

/** Whether a connection to the address is accepted. */
export async function isListening(address: Address): Promise<boolean> {
  const socket = createConnection(address)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
  const isThere = await promise
  socket.destroy()
  return isThere
}
