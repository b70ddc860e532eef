/**
 * A DNS server for tests, over UDP and TCP on 127.0.0.1. It answers as it is told, and so may be slow, wrong,
 * silent, or send bytes that are no answer at all. What does not fit a datagram of 512 bytes is sent over TCP.
 *
 * Source: RFC 1035, 4; RFC 3596.
 */
import { createSocket, type Socket as UdpSocket } from "node:dgram"
import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import { Resolver } from "node:dns/promises"
import ipaddr from "ipaddr.js"
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
 * What is sent back: records (under an id that is not the query's, if `isOfAnother`), a code of failure, bytes as they are (the
 * query's id in front), or nothing.
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

  const answerTo = async (message: Buffer, over: DnsQuery["over"]): Promise<Buffer | undefined> => {
    const { name, type, end } = questionOf(message)
    const earlier = queries.filter((query) => query.type === type && query.over === over).length
    const query: DnsQuery = { name, type, over, earlier }
    queries.push(query)
    return encode(message.subarray(0, end), query, await answer(query))
  }

  const sendOverTcp = async (socket: Socket, message: Buffer): Promise<void> => {
    const bytes = await answerTo(message, "tcp")
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
    const bytes = await answerTo(message, "udp")
    if (bytes === undefined || !isOpen) return
    udp.send(bytes.length <= 512 ? bytes : truncated(message), from.port, from.address)
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
async function listeningTwice(
  createTcp: () => Server,
): Promise<{ port: number; tcp: Server; udp: UdpSocket }> {
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

/** The question of a query, and where it ends. */
function questionOf(message: Buffer): { name: string; type: "A" | "AAAA"; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = message.readUInt16BE(at + 1) === recordTypes.A ? "A" : "AAAA"
  return { name: labels.join("."), type, end: at + 5 }
}

/** `query` is the query's head and question, which every answer repeats. */
function encode(query: Buffer, asked: DnsQuery, answer: DnsAnswer): Buffer | undefined {
  if (answer === "nothing") return undefined
  if ("bytes" in answer) return Buffer.concat([query.subarray(0, 2), answer.bytes])
  if ("code" in answer) return Buffer.concat([head(query, { code: answer.code }), query.subarray(12)])
  const { records, isOfAnother = false, question } = answer
  const asking =
    question === undefined ? query.subarray(12) : Buffer.concat([encodedName(question), query.subarray(-4)])
  const encoded = records.map((record) => encodeRecord(record, asked.name))
  return Buffer.concat([head(query, { records: records.length, isOfAnother }), asking, ...encoded])
}

function head(
  query: Buffer,
  {
    code = 0,
    records = 0,
    isOfAnother = false,
    isTruncated = false,
  }: {
    code?: number
    records?: number
    isOfAnother?: boolean
    isTruncated?: boolean
  },
): Buffer {
  const flags = 0x8180 | code | (isTruncated ? 0x0200 : 0)
  const id = query.readUInt16BE(0)
  return numbers(isOfAnother ? id ^ 1 : id, flags, 1, records, 0, 0)
}

function encodeRecord({ name: of, type, data }: DnsRecord, asked: string): Buffer {
  const bytes: Uint8Array = typeof data === "string" ? recordData(type, data) : data
  return Buffer.concat([encodedName(of ?? asked), numbers(recordTypes[type], 1, 0, 60, bytes.length), bytes])
}

function recordData(type: DnsRecord["type"], data: string): Uint8Array {
  return type === "CNAME" ? encodedName(data) : Uint8Array.from(ipaddr.parse(data).toByteArray())
}

function encodedName(text: string): Buffer {
  const labels = text.split(".").map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`))
  return Buffer.concat([...labels, Buffer.of(0)])
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2)
  return bytes
}

function truncated(message: Buffer): Buffer {
  const { end } = questionOf(message)
  return Buffer.concat([head(message, { isTruncated: true }), message.subarray(12, end)])
}

function withLength(bytes: Buffer): Buffer {
  return Buffer.concat([numbers(bytes.length), bytes])
}
