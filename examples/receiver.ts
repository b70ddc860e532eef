/**
 * A webhook receiver in TypeScript: answers challenges, and handles each delivery of a post once.
 *
 *     npm install @sluice/client
 *     CLIENT_SECRET=… PORT=3000 node receiver.ts
 *
 * `@sluice/client/receiver` checks signatures over the raw body, bounds its size, and drops repeated deliveries.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { nodeHandler, receiver } from "@sluice/client/receiver"

const receive = receiver({
  // As `sluice app create` prints it. X's applications have one too.
  clientSecret: process.env["CLIENT_SECRET"] ?? "",
  // With the webhook's own keys (`sluice webhooks key`), a delivery must also have been signed within five minutes.
  signingKeys: process.env["SIGNING_KEYS"]?.split(" "),
  // Handled deliveries are remembered in memory. To drop repeats after a restart too, pass `repeats`: the README of
  // @sluice/client has it for Redis and for SQL.
  onDelivery(delivery) {
    // A replay ends with a message of its own.
    if (delivery.kind !== "match") return
    const { data: post, matching_rules: rules } = delivery.event
    // The work goes here. When it throws, the response is 500, and the server tries again later. It waits for 10 s at
    // most: what takes longer belongs in a queue of yours.
    const tags = rules?.map(({ tag }) => tag)
    console.log(JSON.stringify({ post: post.id, text: post.text, tags }))
  },
  onRefusal: (reason, error) => console.error("refused:", reason, error ?? ""),
})

// In production a proxy with TLS stands in front of this: `sluice serve` and X send to https alone.
const server = createServer(nodeHandler(receive)).listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1")
await once(server, "listening")
console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`)

// A graceful stop: requests that have begun get their response, and the process ends by itself.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => server.close())
