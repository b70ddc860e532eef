/**
 * A relay in front of PostgreSQL, in a separate process, that counts statements, commits and bytes as a server really
 * sends them. Connections through it are not encrypted.
 *
 * After its first message, which has no type, a client sends messages of a type (a byte), a length that counts itself
 * (4 bytes), and the rest. `E` executes a prepared statement, `Q` sends one as text. Source: PostgreSQL's
 * documentation, "Frontend/Backend Protocol", "Message Formats".
 */
import { once } from "node:events"
import { connect, createServer, type AddressInfo } from "node:net"
import { replyToEach } from "./child.ts"
import { environment } from "./psql.ts"

/** A command to the relay. */
export type RelayMessage =
  /** Reply: `port`, at which it listens on 127.0.0.1. */
  | { readonly kind: "port" }
  /** Reply: the counts since the start, `RelayCounts`. */
  | { readonly kind: "counts" }

/** Counts of a relay. */
export interface RelayCounts {
  readonly statements: number
  /** COMMIT statements. */
  readonly commits: number
  /** Bytes from the server to PostgreSQL. */
  readonly bytesSent: number
}

/** Bytes of a message's length, and of its type before that. */
const [lengthBytes, typeBytes] = [4, 1]

/** Bytes of a message that the reader examines. */
const startBytes = 6

/** Finds the messages of a client in the bytes that it sends. */
class MessageReader {
  readonly #found: (type: string, start: string) => void
  /** Bytes not yet examined, fewer than the reader needs of a message. */
  #rest = Buffer.alloc(0)
  /** Bytes of the current message that are still to come. */
  #skip = 0
  #isFirst = true

  constructor(found: (type: string, start: string) => void) {
    this.#found = found
  }

  read(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    for (;;) {
      const skipped = Math.min(this.#skip, bytes.length)
      this.#skip -= skipped
      bytes = bytes.subarray(skipped)
      const before = this.#isFirst ? 0 : typeBytes
      const head = before + lengthBytes
      if (bytes.length < head) break
      const length = bytes.readUInt32BE(before)
      const seen = head + Math.min(startBytes, length - lengthBytes)
      if (bytes.length < seen) break
      if (!this.#isFirst) this.#found(bytes.toString("latin1", 0, typeBytes), bytes.toString("latin1", head, seen))
      this.#isFirst = false
      this.#skip = before + length
    }
    this.#rest = Buffer.from(bytes)
  }
}

let [statements, commits, bytesSent] = [0, 0, 0]

const server = createServer((client) => {
  const upstream = connect(Number(environment.PGPORT), environment.PGHOST)
  const reader = new MessageReader((type, start) => {
    if (type !== "E" && type !== "Q") return
    statements += 1
    if (start.startsWith("COMMIT")) commits += 1
  })
  client.on("data", (chunk: Buffer) => {
    bytesSent += chunk.length
    reader.read(chunk)
  })
  for (const [socket, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    socket.setNoDelay(true)
    socket.on("error", () => other.destroy())
    socket.pipe(other)
  }
})
server.listen(0, "127.0.0.1")
await once(server, "listening")

replyToEach<RelayMessage>(({ kind }): object =>
  kind === "port"
    ? { port: (server.address() as AddressInfo).port }
    : ({ statements, commits, bytesSent } satisfies RelayCounts),
)
