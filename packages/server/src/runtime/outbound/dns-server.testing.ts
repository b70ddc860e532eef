/**
 * A DNS server for tests, over UDP and TCP on 127.0.0.1. Its responses are set by the test, and so may be slow, wrong,
 * missing, or bytes that are no response at all. Responses that do not fit a datagram of 512 bytes are sent over TCP.
 *
 * Source: RFC 1035, 4; RFC 3596.
 */
import { createSocket, type Socket as UdpSocket } from "node:dgram"
import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import { Resolver } from "node:dns/promises"
import {
  decode,
  encode,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
  type Answer,
  type Packet,
} from "dns-packet"
import { portOf } from "./endpoint-cases.testing.ts"

/** Types of records. */
const recordTypes = { A: 1, CNAME: 5, AAAA: 28 } as const

/** A record of an answer. `name` is the one that was asked for, unless given; `data` an address or a name. */
export interface DnsRecord {
  readonly name?: string
  readonly type: keyof typeof recordTypes
  readonly data: string | Uint8Array
}

/** A question, as it came. */
export interface DnsQuery {
  readonly name: string
  readonly type: "A" | "AAAA"
  readonly over: "udp" | "tcp"
  /** From 0: how many of this type were asked before it. */
  readonly earlier: number
}

/**
 * The response: records (under an id that is not the query's, if `isOfAnother`), a code of failure, bytes as they are
 * (the query's id in front), or none.
 */
export type DnsAnswer =
  | { readonly records: readonly DnsRecord[]; readonly isOfAnother?: true; readonly question?: string }
  | { readonly code: number }
  | { readonly bytes: Uint8Array }
  | "nothing"

/** A server at work. */
export interface DnsServer extends AsyncDisposable {
  /** Every question, in order. */
  readonly queries: readonly DnsQuery[]
  /** Asks this server alone, once. */
  readonly resolver: Resolver
}

/** Starts a server. `resolver` gives up after `timeoutMs`; long, since most of what is asked here must be answered. */
export async function dnsServer(
  answer: (query: DnsQuery) => DnsAnswer | Promise<DnsAnswer>,
  timeoutMs = 10_000,
): Promise<DnsServer> {
  const queries: DnsQuery[] = []
  const sockets = new Set<Socket>()

  const answerTo = async (packet: Packet, over: DnsQuery["over"]): Promise<Buffer | undefined> => {
    const { name, type } = questionOf(packet)
    const earlier = queries.filter((query) => query.type === type && query.over === over).length
    const query: DnsQuery = { name, type, over, earlier }
    queries.push(query)
    return encoded(packet, await answer(query))
  }

  const sendOverTcp = async (socket: Socket, message: Buffer): Promise<void> => {
    const bytes = await answerTo(decode(message), "tcp")
    if (bytes !== undefined) socket.write(withLength(bytes))
  }

  const createTcp = (): Server =>
    createServer((socket) => {
      sockets.add(socket)
      socket.on("error", () => undefined)
      socket.on("close", () => sockets.delete(socket))
      let received = Buffer.alloc(0)
      socket.on("data", (chunk: Buffer) => {
        received = Buffer.concat([received, chunk])
        while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
          const end = 2 + received.readUInt16BE(0)
          const message = Buffer.from(received.subarray(2, end))
          received = received.subarray(end)
          void sendOverTcp(socket, message)
        }
      })
    })
  const { port, tcp, udp } = await listeningTwice(createTcp)
  let isOpen = true
  const sendOverUdp = async (message: Buffer, from: { port: number; address: string }): Promise<void> => {
    const query = decode(message)
    const bytes = await answerTo(query, "udp")
    if (bytes === undefined || !isOpen) return
    const truncated = encode(responseTo(query, { flags: TRUNCATED_RESPONSE }))
    udp.send(bytes.length <= 512 ? bytes : truncated, from.port, from.address)
  }
  udp.on("message", (message, from) => void sendOverUdp(message, from))

  const resolver = new Resolver({ timeout: timeoutMs, tries: 1 })
  resolver.setServers([`127.0.0.1:${port}`])
  return {
    queries,
    resolver,
    async [Symbol.asyncDispose]() {
      isOpen = false
      resolver.cancel()
      udp.close()
      for (const socket of sockets) socket.destroy()
      tcp.close()
      await once(tcp, "close")
    },
  }
}

/** An answer of these addresses: those of them that are of the type that was asked for. */
export function addressesFor({ type }: DnsQuery, addresses: readonly string[]): DnsAnswer {
  const records = addresses.map((data): DnsRecord => ({ type: data.includes(":") ? "AAAA" : "A", data }))
  return { records: records.filter((record) => record.type === type) }
}

/** Listens over TCP and UDP on one port. The one that is free for TCP may be taken for UDP; then it is another. */
async function listeningTwice(createTcp: () => Server): Promise<{ port: number; tcp: Server; udp: UdpSocket }> {
  for (;;) {
    const tcp = createTcp()
    tcp.listen(0, "127.0.0.1")
    await once(tcp, "listening")
    const port = portOf(tcp)
    const udp = createSocket("udp4")
    udp.bind(port, "127.0.0.1")
    try {
      await once(udp, "listening")
      return { port, tcp, udp }
    } catch (error) {
      udp.close()
      tcp.close()
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error
    }
  }
}

/** A message over TCP has its length in front. */
function withLength(bytes: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** The first question of a query. */
function questionOf(query: Packet): { name: string; type: "A" | "AAAA" } {
  const [{ name, type } = { name: "", type: "" }] = query.questions ?? []
  return { name, type: type === "A" ? "A" : "AAAA" }
}

/** The answer as bytes; `undefined` for none. */
function encoded(query: Packet, answer: DnsAnswer): Buffer | undefined {
  if (answer === "nothing") return undefined
  if ("bytes" in answer) {
    const id = Buffer.alloc(2)
    id.writeUInt16BE(query.id ?? 0)
    return Buffer.concat([id, answer.bytes])
  }
  if ("code" in answer) return encode(responseTo(query, { flags: answer.code }))
  const { records, isOfAnother = false, question } = answer
  const [asked] = query.questions ?? []
  return encode({
    ...responseTo(query, {
      ...(isOfAnother && { id: (query.id ?? 0) ^ 1 }),
      ...(question !== undefined && asked !== undefined && { questions: [{ ...asked, name: question }] }),
    }),
    answers: records.map((record) => answerOf(record, asked?.name ?? "")),
  })
}

/** The head of a response, and the question, which every response repeats. */
function responseTo({ id = 0, questions = [] }: Packet, more: Packet): Packet {
  const flags = RECURSION_DESIRED | RECURSION_AVAILABLE | (more.flags ?? 0)
  return { id, questions, ...more, flags, type: "response" }
}

function answerOf({ name, type, data }: DnsRecord, asked: string): Answer {
  const common = { name: name ?? asked, ttl: 60 }
  if (typeof data === "string") return { ...common, type, data }
  // Bytes as they are, which the encoder takes only for a type that it does not know.
  return { ...common, type: `UNKNOWN_${recordTypes[type]}`, data: Buffer.from(data) } as unknown as Answer
}
