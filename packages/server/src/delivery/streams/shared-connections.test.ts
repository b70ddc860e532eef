/** Stream connections to several processes that share a store. */
import { createServer, get } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, beforeEach, expect, test } from "vitest"
import { ConnectionShares } from "../../store/cluster/connection/connection-shares.ts"
import { defaultSelection } from "../../model/field-selection.ts"
import type { Events } from "../../runtime/events/events.ts"
import { createSnowflakes } from "../../runtime/snowflakes.ts"
import { systemRandom } from "../../runtime/random.ts"
import { systemClock } from "../../runtime/clock.ts"
import { openClusterStore } from "../../store/cluster/serving/cluster-store.ts"
import type { ClusterSettings } from "../../store/cluster/connection/connections.ts"
import type { ClusterDatabase } from "../../store/cluster/connection/database.ts"
import { listenForHints } from "../../store/cluster/serving/hints.ts"
import { ClusterLeases } from "../../store/cluster/serving/leases.ts"
import { createTestDatabase, type TestDatabase } from "../../store/cluster/connection/postgres.testing.ts"
import { ClusterLimits } from "../../store/cluster/nouns/shared-limits.ts"
import { allOlder, anApp, app, aRule } from "../../store/contract/fixtures.ts"
import { deliveryFormat } from "./line-format.ts"
import { createStreamConnections, type StreamConnections } from "./stream-connections.ts"

interface Process {
  readonly streams: StreamConnections
  /** Connects a client. Resolves with the status, and how to leave. */
  connect(): Promise<{ readonly status: number; readonly leave: () => void; readonly hasEnded: () => boolean }>
  /** From then on it renews nothing, as a process that is stopped, until the function that it returns is called. */
  stop(): () => void
}

let server: TestDatabase
let settings: ClusterSettings
let database: ClusterDatabase
let resources: AsyncDisposableStack

beforeEach(async () => {
  server = await createTestDatabase()
  settings = { url: server.url, poolMax: 2, statementMsMax: 30_000 }
  resources = new AsyncDisposableStack()
  const store = resources.use(await openClusterStore(settings, { sender: "test" }))
  ;({ database } = store)
  await store.createApp(anApp(app), [])
  await store.addRules(app, [aRule(app, "1", "cat")], { rulesMax: 10 })
})

afterEach(async () => {
  await resources.disposeAsync()
  await server[Symbol.asyncDispose]()
})

const part = { kind: "live", backfillMinutes: 0 } as const
const options = { part, format: deliveryFormat(defaultSelection), clientIp: "127.0.0.1" }
const events = new Proxy({} as Events, { get: () => () => undefined })

async function begin(
  sender: string,
  connectionsOver: "refuse" | "replace",
  connectionsPerAppMax = 2,
): Promise<Process> {
  let goesOn: Promise<void> | undefined
  const clock = {
    ...systemClock,
    sleep: async (ms: number, signal?: AbortSignal) => {
      await systemClock.sleep(ms, signal)
      await goesOn
    },
  }
  const store = resources.use(await openClusterStore(settings, { sender }))
  const { database: own } = store
  const failed = (): undefined => undefined
  const leases = resources.use(await ClusterLeases.begin({ database: own, store, clock, failed }))
  const processNumber = (): number => leases.processNumber
  const sharedLimits = resources.use(
    new ClusterLimits({
      shares: new ConnectionShares(5),
      database: own,
      store,
      clock,
      processNumber,
      failed,
    }),
  )
  const closing = new AbortController()
  const heard = store.announce.bind(store)
  const listening = listenForHints({ settings, clock, sender, heard }, closing.signal)
  resources.defer(async () => {
    closing.abort()
    await listening
  })
  const streams = createStreamConnections({
    store,
    sharedLimits,
    clock: systemClock,
    events,
    limitsOf: () => ({ connectionsMax: connectionsPerAppMax, hasComplianceStreams: false }),
    usage: { count: () => undefined, isCapped: async () => false },
    snowflakes: createSnowflakes(systemClock, systemRandom),
    connectionsOver,
    stalledMsMax: 30_000,
    matchRetentionMs: 3_600_000,
    deletionsRememberedMs: 172_800_000,
  })
  const http = createServer((_, response) => {
    streams.open(anApp(app), options).then(
      (connection) => connection.run(response),
      (error: { status: number }) => response.writeHead(error.status).end(),
    )
  })
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  resources.defer(async () => {
    await streams.close()
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  })
  const { port } = http.address() as AddressInfo
  return {
    streams,
    stop() {
      const { promise, resolve } = Promise.withResolvers<void>()
      goesOn = promise
      return resolve
    },
    connect: () =>
      new Promise((resolve, reject) => {
        const request = get({ port, host: "127.0.0.1", agent: false }, (response) => {
          let isEnded = false
          response.on("data", () => undefined)
          response.on("end", () => (isEnded = true))
          response.on("error", () => undefined)
          resolve({
            status: response.statusCode ?? 0,
            leave: () => request.destroy(),
            hasEnded: () => isEnded,
          })
        })
        request.on("error", reject)
      }),
  }
}

test("an app's connections are counted over all processes, and one that leaves makes room on each", async () => {
  const [one, two] = [await begin("one", "refuse"), await begin("two", "refuse")]
  const first = await one.connect()
  expect((await two.connect()).status).toBe(200)
  expect((await one.connect()).status).toBe(429)
  expect((await two.connect()).status).toBe(429)
  expect([one.streams.count, two.streams.count]).toEqual([1, 1])
  first.leave()
  await expect.poll(async () => (await two.connect()).status).toBe(200)
  expect((await one.connect()).status).toBe(429)
})

test("when many connections open to all processes at the same moment, only the configured number is accepted", async () => {
  const processes = [await begin("one", "refuse", 5), await begin("two", "refuse", 5)]
  const opened = await Promise.all(
    Array.from({ length: 30 }, async (_, at) => (await processes[at % 2]?.connect())?.status),
  )
  expect(opened.filter((status) => status === 200)).toHaveLength(5)
})

test("a new connection replaces the oldest wherever it is", async () => {
  const [one, two] = [await begin("one", "replace"), await begin("two", "replace")]
  const clients = [await one.connect(), await one.connect(), await two.connect(), await two.connect()]
  expect(clients.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  await expect.poll(() => clients.map(({ hasEnded }) => hasEnded())).toEqual([true, true, false, false])
  await expect.poll(() => [one.streams.count, two.streams.count]).toEqual([0, 2])
})

test("connections to a process that has died count no longer, and again when it was only stopped", async () => {
  const [dying, living] = [await begin("dying", "refuse"), await begin("living", "refuse")]
  await dying.connect()
  await dying.connect()
  expect((await living.connect()).status).toBe(429)
  const goOn = dying.stop()
  await expect.poll(async () => (await living.connect()).status, { timeout: 15_000 }).toBe(200)
  expect((await living.connect()).status).toBe(200)
  expect((await living.connect()).status).toBe(429)
  goOn()
  const ofProcesses = (): Promise<readonly unknown[]> =>
    database.rows("SELECT count(*) AS count FROM stream_connections GROUP BY process")
  await expect.poll(ofProcesses, { timeout: 15_000 }).toEqual([{ count: 2 }, { count: 2 }])
}, 60_000)

test("connections of a process that was only stopped are listed again, unless their app has ended them", async () => {
  const [stopped, living] = [await begin("stopped", "refuse"), await begin("living", "refuse")]
  const [kept, forced] = [await stopped.connect(), await stopped.connect()]
  const listed = async (): Promise<readonly unknown[]> => {
    const connections = await living.streams.list({ appId: app }, allOlder)
    return connections.map(({ ended }) => ended?.reason)
  }
  await expect.poll(listed).toEqual([undefined, undefined])
  const goOn = stopped.stop()
  const lost = "UpstreamUncleanDisconnect"
  await expect.poll(listed, { timeout: 30_000 }).toEqual([lost, lost])
  const newest = "(SELECT max(id) FROM connection_history)"
  // As if the app had ended it just before it was noted as lost.
  await database.run(`UPDATE connection_history SET disconnect_reason = 'ForceDisconnect' WHERE id = ${newest}`)
  goOn()
  await expect.poll(listed, { timeout: 15_000 }).toEqual(["ForceDisconnect", undefined])
  await expect.poll(() => [kept.hasEnded(), forced.hasEnded()], { timeout: 15_000 }).toEqual([false, true])
}, 90_000)
