/**
 * The store is away for a minute while a source gives posts at full rate: what is read waits within bounds, the rest waits at
 * the other side, the process's memory stays flat, and afterwards everything is stored.
 */
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { webSocketPeer } from "../../packages/server/src/sources/source-peers.testing.ts"
import { whyNoPostgres } from "../support/postgres.testing.ts"
import { TcpProxy } from "../support/tcp-proxy.testing.ts"
import { SourceScenario } from "./source-scenario.ts"

const awayMs = 60_000

/** Characters of a post. Many come at once, and then 1.5 MB a second: 130 MB while the store is away. */
const postCharacters = 10_000
const burstPosts = 4_000
const momentPosts = 15
const momentMs = 100

/** Posts before, so that the process has reached its usual memory. */
const warmPosts = 2_000

/** Allowed growth of the process's memory. */
const grownBytesMax = 100_000_000

/** Most bytes that a source has in flight, and the kernel may hold of a connection on this machine. Source: sources/flow-bounds.ts; tcp(7). */
const takenBytesMax = 16 * 2 ** 20 + 16 * 2 ** 20

test.skipIf((await whyNoPostgres()) !== undefined).each(["cut", "held"] as const)(
  "the network to PostgreSQL is %s for a minute at full rate: memory stays flat, the peer waits, nothing is lost",
  { timeout: 500_000 },
  async (network) => {
    await using peer = await webSocketPeer(postCharacters)
    await using storeNetwork = await TcpProxy.to(5432)
    await using scenario = await SourceScenario.start("websocket", { store: "postgres", peer, isDirect: true })
    await using server = scenario.spawn(storeNetwork.port)
    await server.mustBeReady()
    await scenario.give(warmPosts)
    await scenario.delivered()

    const [beforeBytes, givenBefore] = [residentBytes(server.pid), scenario.given]
    let [mostBytes, mostWaiting] = [beforeBytes, 0]
    storeNetwork.set(network)
    await scenario.give(burstPosts)
    const until = performance.now() + awayMs
    while (performance.now() < until) {
      await scenario.give(momentPosts)
      await sleep(momentMs)
      mostBytes = Math.max(mostBytes, residentBytes(server.pid))
      mostWaiting = Math.max(mostWaiting, peer.waitingBytes)
      if (peer.waitingBytes > 0) {
        const sentBytes = (scenario.given - givenBefore) * postCharacters - peer.waitingBytes
        expect(sentBytes).toBeLessThan(takenBytesMax)
      }
    }
    expect(storeNetwork.hits).toBeGreaterThan(0)
    const { numbers } = await scenario.contents()
    storeNetwork.set("good")
    console.log(
      `store away (${network}): ${scenario.given - numbers.length} posts waited, ` +
        `${(mostWaiting / 1e6).toFixed()} MB of them in the peer's socket, the process had ` +
        `${(beforeBytes / 1e6).toFixed()} MB, and ${(mostBytes / 1e6).toFixed()} MB at most`,
    )
    expect(mostBytes - beforeBytes).toBeLessThan(grownBytesMax)
    // A network that only stands still is no reason to leave the peer: it is held back.
    if (network === "held") expect(mostWaiting).toBeGreaterThan(0)
    await scenario.expectAll(server, 1)
  },
)

/** Source: proc(5), `VmRSS`, in units of 1,024 bytes. */
function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1_024
}
