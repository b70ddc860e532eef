/**
 * The barest sender of deliveries: a loop over undici's pools that signs each body twice and posts it. It has no log,
 * no cursor and no retries. It uses `dispatch`, the cheapest way to read only a status.
 */
import { Pool, type Dispatcher } from "undici"
import { clientSignatureHeader, signatureHeader, standardHeaders } from "../packages/api/src/signature.ts"
import { signature, standardSignature } from "../packages/server/src/runtime/signatures.ts"
import { replyToEach } from "./child.ts"

/** Sends this many deliveries in turn to the URLs, `concurrency` at once in all. Reply: nothing, after the last one. */
export interface SenderMessage {
  readonly urls: readonly string[]
  /** Sent in turn. */
  readonly bodies: readonly string[]
  readonly deliveries: number
  readonly concurrency: number
}

const consumerSecret = "consumer secret"
const clientSecret = "client secret"
const signingKey = Buffer.alloc(32, 1)
const pools = new Map<string, Pool>()

replyToEach<SenderMessage>(async ({ urls, bodies, deliveries, concurrency }) => {
  const targets = urls.map((url) => {
    const pool = pools.get(url) ?? new Pool(url, { connections: concurrency, pipelining: 1 })
    pools.set(url, pool)
    return pool
  })
  const payloads = bodies.map((body) => Buffer.from(body))
  let sent = 0
  const worker = async (): Promise<void> => {
    while (sent < deliveries) {
      const number = sent++
      const pool = targets[number % targets.length] as Pool
      await deliver(pool, number, payloads[Math.floor(number / targets.length) % payloads.length] as Buffer)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return {}
})

function deliver(pool: Pool, number: number, body: Buffer): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const id = `msg_${number}`
  const timestamp = String(Math.floor(Date.now() / 1000))
  const headers = {
    "content-type": "application/json",
    [signatureHeader]: signature(consumerSecret, body),
    [clientSignatureHeader]: signature(clientSecret, body),
    [standardHeaders.id]: id,
    [standardHeaders.timestamp]: timestamp,
    [standardHeaders.signatures]: standardSignature(signingKey, { id, timestamp, body }),
  }
  pool.dispatch({ path: "/", method: "POST", headers, body }, new Delivery(resolve, reject))
  return promise
}

class Delivery implements Dispatcher.DispatchHandler {
  readonly #resolve: () => void
  readonly #reject: (error: Error) => void

  constructor(resolve: () => void, reject: (error: Error) => void) {
    this.#resolve = resolve
    this.#reject = reject
  }

  onRequestStart(): void {}

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    if (status !== 200) this.#reject(new Error(`status ${status}`))
  }

  onResponseData(): void {}

  onResponseEnd(): void {
    this.#resolve()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reject(error)
  }
}
