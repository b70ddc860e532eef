/** `node bare-server.ts KIND FILE`: the barest server that responds with the JSON of a file. Prints its port. */
import { readFileSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import fastify from "fastify"

const [kind, file] = process.argv.slice(2)
const bytes = readFileSync(file ?? "")
const value = JSON.parse(bytes.toString("utf8")) as unknown

if (kind === "fastify") {
  const server = fastify()
  server.get("/*", () => value)
  await server.listen({ host: "127.0.0.1", port: 0 })
  process.stdout.write(`${(server.server.address() as AddressInfo).port}\n`)
} else {
  const respond = kind === "node-bytes" ? () => bytes : () => Buffer.from(JSON.stringify(value))
  const listener: RequestListener = (_, response) => {
    const body = respond()
    response.writeHead(200, {
      "content-type": "application/json; charset=utf-8",
      "content-length": body.length,
    })
    response.end(body)
  }
  const server = createServer(listener)
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
  })
}
