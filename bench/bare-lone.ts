/**
 * `bare-lone.ts FILE [URL]`: the barest server that stores each post durably before it responds. It parses the post, has a
 * thread insert it into a table with an index, each in a transaction of its own, and responds. Then it writes the post to
 * all streams that are open, and posts it to the URL, signed as the server signs. Prints its port.
 */
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { DatabaseSync } from "node:sqlite"
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads"
import { Pool } from "undici"
import { deliver } from "./bare-delivery.ts"

/** A post on its way to the thread that writes. */
interface Row {
  readonly number: number
  readonly id: string
  readonly authorId: string
  readonly json: string
}

if (isMainThread) serve()
else write(workerData as string)

function serve(): void {
  const [file = "", url] = process.argv.slice(2)
  const pool = url === undefined ? undefined : new Pool(url, { connections: 32, pipelining: 1 })
  const streams = new Set<ServerResponse>()
  const writer = new Worker(new URL(import.meta.url), { workerData: file, name: "writer" })
  const waiting = new Map<number, { readonly response: ServerResponse; readonly json: string }>()
  let last = 0
  writer.on("message", (number: number) => {
    const one = waiting.get(number)
    if (one === undefined) return
    waiting.delete(number)
    one.response.writeHead(200, { "content-type": "application/json", "content-length": 14 })
    one.response.end('{"accepted":1}')
    for (const stream of streams) stream.write(`${one.json}\r\n`)
    if (pool !== undefined) void deliver(pool, number, Buffer.from(one.json))
  })
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      response.flushHeaders()
      streams.add(response)
      response.on("close", () => streams.delete(response))
      return
    }
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const json = Buffer.concat(chunks).toString().trimEnd()
      const { data } = JSON.parse(json) as { data: { id: string; author_id: string } }
      last += 1
      waiting.set(last, { response, json })
      writer.postMessage({ number: last, id: data.id, authorId: data.author_id, json } satisfies Row)
    })
  })
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
  })
}

function write(file: string): void {
  const db = new DatabaseSync(file)
  db.exec("PRAGMA journal_mode = WAL")
  db.exec("PRAGMA synchronous = FULL")
  db.exec("CREATE TABLE posts (id INTEGER PRIMARY KEY, author_id INTEGER, json TEXT)")
  db.exec("CREATE INDEX posts_of_author ON posts (author_id, id)")
  const insert = db.prepare("INSERT INTO posts VALUES (?, ?, ?)")
  insert.setReadBigInts(true)
  parentPort?.on("message", ({ number, id, authorId, json }: Row) => {
    insert.run(BigInt(id), BigInt(authorId), json)
    parentPort?.postMessage(number)
  })
}
