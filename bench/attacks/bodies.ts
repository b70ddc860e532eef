/** Attacks with bodies: invalid lines, chunks of one byte, and bodies that never end. */
import { once } from "node:events"
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { paths } from "../../packages/api/src/paths.ts"
import type { MeasuredApp } from "../app-client.ts"
import { gzipped, repeated, send, type Attack } from "./traffic.ts"

/** Sends as many invalid lines as fit into a body. */
export const shortLines: Attack = {
  async run(app, signal) {
    const plain = Buffer.from("x\n".repeat(2_000_000))
    const bomb = gzipped(Buffer.from("x\n".repeat(100_000_000)))
    const blank = gzipped(Buffer.from("\n".repeat(200_000_000)))
    await Promise.all(
      [plain, bomb, blank].flatMap((body) => repeated(2, signal, () => send(app, "POST", paths.posts, body, signal))),
    )
  },
}

/** Sends a body of one line that never ends, one byte a chunk. */
export const byteChunks: Attack = {
  async run(app, signal) {
    const chunks = Buffer.from("1\r\n{\r\n".repeat(1_500_000))
    await Promise.all(
      repeated(6, signal, async () => {
        const { hostname, port } = new URL(app.url)
        const socket = connect({ port: Number(port), host: hostname, signal })
        socket.on("error", () => undefined)
        socket.write(
          `POST ${paths.posts} HTTP/1.1\r\nHost: attack\r\nAuthorization: Bearer ${app.token}\r\n` +
            "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        socket.write(chunks)
        await Promise.race([once(socket, "close"), sleep(5_000, undefined, { signal })]).catch(() => undefined)
        socket.destroy()
      }),
    )
  },
}

/** Sends bodies of the sign-in in chunks of one byte, on many connections at once. No token needed. */
export const sessionByteChunks: Attack = {
  run: (app, signal) => bodiesAtOnce(app, signal, Buffer.from("1\r\n \r\n".repeat(10_900))),
}

/** Sends a megabyte of each sign-in body and never the end. No token needed. */
export const unendingJson: Attack = {
  run: (app, signal) => bodiesAtOnce(app, signal, chunkOf(Buffer.alloc(1_000_000, " "))),
}

/** Sends the same to a route that needs the app's token. */
export const unendingJsonOfApp: Attack = {
  run: (app, signal) => bodiesAtOnce(app, signal, chunkOf(Buffer.alloc(1_000_000, " ")), app.token),
}

/** Connections of an attack with bodies. */
const bodyCount = 1_500

/**
 * Opens many connections, sends the head of a chunked JSON body on each, and then this part of the body on all at once.
 */
async function bodiesAtOnce(app: MeasuredApp, signal: AbortSignal, part: Buffer, token?: string): Promise<void> {
  const { hostname, port } = new URL(app.url)
  const path = token === undefined ? paths.session : paths.rules
  const authorization = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`
  const head =
    `POST ${path} HTTP/1.1\r\nHost: attack\r\n${authorization}` +
    "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
  while (!signal.aborted) {
    const sockets = Array.from({ length: bodyCount }, () => {
      const socket = connect({ port: Number(port), host: hostname, signal })
      socket.on("error", () => undefined)
      socket.write(head)
      return socket
    })
    await sleep(1_000, undefined, { signal }).catch(() => undefined)
    for (const socket of sockets) socket.write(part)
    await sleep(5_000, undefined, { signal }).catch(() => undefined)
    for (const socket of sockets) socket.destroy()
  }
}

function chunkOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")])
}
