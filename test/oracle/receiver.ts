/**
 * The endpoint of the oracle's webhooks: answers challenges, checks and records every delivery, and only then responds;
 * now and then badly, on purpose.
 */
import { createHash, createHmac } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import type { Journal, ReceiverAnswer } from "./journal.ts"
import type { MadePost } from "./made-posts.ts"
import { seededRandom } from "./seeded-random.ts"

/** A listening receiver. */
export interface Receiver extends AsyncDisposable {
  readonly port: number
}

/** Options of a receiver. */
export interface ReceiverOptions {
  /** 0 for a free one. */
  readonly port: number
  readonly seed: number
  /** Fraction of the deliveries that it refuses or drops. */
  readonly failRate: number
  /** One post in this many is always refused; 0 for none. */
  readonly poisonEvery: number
  /** Longest delay before a response. */
  readonly responseMsMax: number
  /** The secret that verifies signatures, once the oracle knows it. */
  readonly consumerSecret: () => string
  readonly postOf: (id: string) => MadePost | undefined
  /** Called for every recorded delivery. */
  readonly onReceived: () => void
  /** True while it holds deliveries: it responds to none before its connection ends. */
  readonly isHolding: () => boolean
  /** Called for every delivery that it holds. */
  readonly onHeld: () => void
}

/** Path of a link's endpoint. */
export function hookPath(link: number): string {
  return `/hooks/${link}`
}

/** Starts a receiver on this machine. */
export async function startReceiver(options: ReceiverOptions, journal: Journal): Promise<Receiver> {
  const random = seededRandom(options.seed + 1)
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://receiver")
    const handled = request.method === "GET" ? challenge(url, options, response) : receive(url, request, response)
    handled.catch((error: unknown) => {
      journal.append({ kind: "fault", text: `the receiver failed: ${String(error)}` })
      response.destroy()
    })
  })

  async function receive(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bytesOf(request)
    // The server ended in the middle of its request, so nothing was delivered.
    if (body === undefined) {
      journal.append({ kind: "delivery-cut" })
      return
    }
    const delivery = readDelivery(body)
    const link = Number(/^\/hooks\/(\d+)$/.exec(url.pathname)?.[1] ?? Number.NaN)
    const eventId = request.headers["webhook-id"]
    const fault = deliveryFault(request, body, delivery, options)
    if (fault !== undefined) journal.append({ kind: "fault", text: `a delivery to ${url.pathname} ${fault}` })
    if (delivery === undefined || typeof eventId !== "string" || Number.isNaN(link)) {
      response.writeHead(400).end()
      return
    }
    const answer = isPoison(delivery.postId, options) ? 500 : choose(random(), options.failRate)
    const hash = createHash("sha256").update(body).digest("hex")
    journal.append({ kind: "received", link, eventId, postId: delivery.postId, hash, answer })
    options.onReceived()
    response.once("close", () => {
      if (answer !== "dropped" && !response.writableFinished) journal.append({ kind: "delivery-cut" })
    })
    if (options.isHolding()) {
      const closed = new Promise((resolve) => response.once("close", resolve))
      options.onHeld()
      await closed
      return
    }
    await sleep(random() * options.responseMsMax)
    if (answer === "dropped") response.destroy()
    else response.writeHead(answer, { "content-type": "text/plain" }).end("noted")
  }

  await new Promise<void>((resolve) => server.listen(options.port, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

/** The upper part of a snowflake is its moment, and generated posts follow each other by a millisecond. */
function isPoison(postId: string, { poisonEvery }: ReceiverOptions): boolean {
  return poisonEvery > 0 && (BigInt(postId) >> 22n) % BigInt(poisonEvery) === 0n
}

function choose(chance: number, failRate: number): ReceiverAnswer {
  if (chance >= failRate) return 200
  return chance < failRate / 2 ? 500 : "dropped"
}

async function challenge(url: URL, { consumerSecret }: ReceiverOptions, response: ServerResponse): Promise<void> {
  const token = url.searchParams.get("crc_token") ?? ""
  const body = JSON.stringify({ response_token: sign(consumerSecret(), token) })
  response.writeHead(200, { "content-type": "application/json" }).end(body)
}

/** `undefined` when the connection ended before the body did. */
async function bytesOf(request: IncomingMessage): Promise<Buffer | undefined> {
  try {
    return Buffer.concat((await request.toArray()) as Buffer[])
  } catch {
    return undefined
  }
}

function sign(secret: string, bytes: string | Uint8Array): string {
  return `sha256=${createHmac("sha256", secret).update(bytes).digest("base64")}`
}

interface Delivery {
  readonly postId: string
  readonly text: unknown
  readonly tags: readonly unknown[]
}

function readDelivery(body: Buffer): Delivery | undefined {
  try {
    const { data, matching_rules: rules } = JSON.parse(body.toString()) as {
      data: { id: unknown; text: unknown }
      matching_rules: readonly { tag: unknown }[]
    }
    return { postId: String(data.id), text: data.text, tags: rules.map(({ tag }) => tag) }
  } catch {
    return undefined
  }
}

/** Describes a fault of a delivery by itself; undefined without one. */
function deliveryFault(
  { headers }: IncomingMessage,
  body: Buffer,
  delivery: Delivery | undefined,
  { consumerSecret, postOf }: ReceiverOptions,
): string | undefined {
  if (headers["x-twitter-webhooks-signature"] !== sign(consumerSecret(), body))
    return "is not signed by the app's secret"
  if (typeof headers["webhook-id"] !== "string") return "has no webhook-id"
  if (delivery === undefined) return `cannot be read: ${body.toString()}`
  const post = postOf(delivery.postId)
  if (post === undefined) return `has post ${delivery.postId}, which the oracle did not make`
  if (delivery.text !== post.text) return `has post ${post.id} with another text: ${String(delivery.text)}`
  const [tags, expected] = [delivery.tags.map(String).toSorted().join(), post.tags.toSorted().join()]
  return tags === expected ? undefined : `has post ${post.id} for rules [${tags}], and it matches [${expected}]`
}
