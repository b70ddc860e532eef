/**
 * A webhook receiver, as an app's owner would write one: it answers the challenge and believes nothing that is
 * not signed. Source: docs.x.com, "Securing webhooks".
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"
import { monotonicMs } from "../clock.ts"
import { messageOf } from "../failure.ts"

/** A delivery whose signature is right. */
export interface Delivery {
  /** The body, exactly as it came. */
  readonly body: string
  readonly atMs: number
}

/** A receiver that listens. */
export interface Receiver extends AsyncDisposable {
  readonly url: string
  /** Challenges answered so far. */
  readonly challenges: number
  /** Requests refused so far, each with its reason. */
  readonly refusals: readonly string[]
}

/** What a request is answered whose signature is wrong or missing. */
const forbidden = 403

/** Starts a receiver on a free port of this machine. `onDelivery` is called before the answer is sent. */
export async function startReceiver(
  consumerSecret: string,
  onDelivery: (delivery: Delivery) => void,
): Promise<Receiver> {
  let challenges = 0
  const refusals: string[] = []

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { searchParams } = new URL(request.url ?? "/", "http://receiver")
    const crcToken = searchParams.get("crc_token")
    if (request.method === "GET" && crcToken !== null) {
      challenges += 1
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ response_token: signature(consumerSecret, crcToken) }))
      return
    }
    const body = await buffer(request)
    const given = request.headers["x-twitter-webhooks-signature"]
    if (request.method !== "POST" || !isSame(String(given), signature(consumerSecret, body))) {
      refusals.push(`${request.method ?? "?"} with the signature ${String(given)}`)
      response.statusCode = forbidden
      response.end()
      return
    }
    onDelivery({ body: body.toString("utf8"), atMs: monotonicMs() })
    response.end()
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      refusals.push(messageOf(error))
      response.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve)
  })
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/webhook`,
    get challenges() {
      return challenges
    },
    refusals,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function signature(secret: string, bytes: string | Uint8Array): string {
  return `sha256=${createHmac("sha256", secret).update(bytes).digest("base64")}`
}

/** Takes as long whatever the difference, so that nobody can guess a signature character by character. */
function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
