/**
 * The barest sender of deliveries: a loop over undici's pools that signs each body and posts it. It has no log, no cursor
 * and no retries.
 */
import { Pool } from "undici"
import { deliver } from "./bare-delivery.ts"
import { replyToEach } from "./child.ts"

/** Sends this many deliveries in turn to the URLs, `concurrency` at once in all. Reply: nothing, after the last one. */
export interface SenderMessage {
  readonly urls: readonly string[]
  /** Sent in turn. */
  readonly bodies: readonly string[]
  readonly deliveries: number
  readonly concurrency: number
}

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
