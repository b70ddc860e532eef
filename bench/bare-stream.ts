/**
 * `bare-stream.ts FILE`: the barest server that streams the lines of a file to every client, again and again. Each line
 * is a chunk; up to a hundred leave in one turn, as long as the socket accepts them. Prints its port.
 *
 * The response to `/held` begins with the next request for `/go`.
 */
import { readFileSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

const perTurn = 100
const records = readFileSync(process.argv[2] ?? "", "latin1")
  .split("\n")
  .map((record) => `${record}\r\n`)

let held: ServerResponse[] = []

const server = createServer(({ url }, response) => {
  if (url === "/go") {
    for (const one of held) writeFrom(0, one)
    held = []
    response.end()
    return
  }
  response.flushHeaders()
  response.on("error", () => undefined)
  if (url === "/held") held.push(response)
  else writeFrom(0, response)
})
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})

function writeFrom(first: number, response: ServerResponse): void {
  if (response.destroyed) return
  const { socket } = response
  socket?.cork()
  let next = first
  for (let written = 0; written < perTurn && !response.writableNeedDrain; written++) {
    response.write(records[next], "latin1")
    next = (next + 1) % records.length
  }
  socket?.uncork()
  if (response.writableNeedDrain) response.once("drain", () => writeFrom(next, response))
  else setImmediate(() => writeFrom(next, response))
}
