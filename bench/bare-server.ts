/**
 * `node bare-server.ts KIND FILE`: the barest server that responds with the JSON of a file. Prints its port. The kind
 * `node-durable` first appends the body of a POST to a file in the same directory and flushes it.
 */
import { readFileSync } from "node:fs"
import { open } from "node:fs/promises"
import { createServer, type RequestListener, type ServerResponse } from "node:http"
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
  const bodies = kind === "node-durable" ? await open(`${file ?? ""}.bodies`, "a") : undefined
  const respond =
    kind === "node-bytes" || kind === "node-durable" ? () => bytes : () => Buffer.from(JSON.stringify(value))
  const keep = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) await bodies?.write(chunk)
    await bodies?.datasync()
  }
  const send = (response: ServerResponse): void => {
    const body = respond()
    response.writeHead(200, {
      "content-type": "application/json; charset=utf-8",
      "content-length": body.length,
    })
    response.end(body)
  }
  const listener: RequestListener = (request, response) => {
    if (request.method === "POST") void keep(request as AsyncIterable<Buffer>).then(() => send(response))
    else send(response)
  }
  const server = createServer(listener)
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
  })
}
