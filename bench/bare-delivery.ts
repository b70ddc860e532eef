/** A delivery by undici alone, signed as the server signs. It uses `dispatch`, the cheapest way to read only a status. */
import type { Dispatcher, Pool } from "undici"
import { clientSignatureHeader, signatureHeader, standardHeaders } from "../packages/api/src/signature.ts"
import { signature, standardSignature } from "../packages/server/src/runtime/signatures.ts"

const consumerSecret = "consumer secret"
const clientSecret = "client secret"
const signingKey = Buffer.alloc(32, 1)

/** Posts a body, and resolves when the endpoint has taken it. */
export function deliver(pool: Pool, number: number, body: Buffer): Promise<void> {
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
