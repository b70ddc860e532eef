/** The primary of the database fails or is replaced under load, and its synchronous standby is promoted. */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { aMatch, anApp, aPost, app } from "../../packages/server/src/store/contract/fixtures.ts"
import { openClusterStore } from "../../packages/server/src/store/cluster/serving/cluster-store.ts"
import { TcpProxy } from "../support/tcp-proxy.testing.ts"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { Cluster } from "./cluster.ts"
import { OracleProcess } from "./oracle-process.ts"
import { postgresMissing, PrivatePostgres } from "./private-postgres.ts"

/** Links resume within this time of the promotion. */
const failoverMsMax = 30_000

/** Time that the cluster works before the failover and after it. */
const workMs = 1_500

/** Ways in which a primary loses its role; `network` is the one between it and the processes. */
const ends: Readonly<Record<string, (primary: PrivatePostgres, network: TcpProxy) => Promise<void>>> = {
  crashes: (primary) => primary.crash(),
  // Nothing reports that its connections are gone, and new ones get no response.
  "is cut off from the network": async (primary, network) => {
    network.set("half-open")
    await primary.crash()
  },
  // Its processes and its connections stay: Sluice's connections must leave it by themselves.
  "becomes read-only and stays": (primary) => primary.set("default_transaction_read_only", "on"),
}

test.skipIf(postgresMissing !== undefined).each(Object.entries(ends))(
  "the primary %s under load and its synchronous standby is promoted: nothing is lost, links resume within 30 s",
  async (_, end) => {
    await using primary = await PrivatePostgres.start()
    await using standby = await primary.startStandby({ isSynchronous: true })
    await using network = await TcpProxy.to(primary.port)
    const database = `postgres://postgres@127.0.0.1:${network.port},127.0.0.1:${standby.port}/postgres?target_session_attrs=read-write`
    await using cluster = await Cluster.start({ postgres: primary, database })
    await using oracle = new OracleProcess(["--journal", join(cluster.directory, "oracle"), "--settle-seconds", "60"])
    oracle.serve(cluster.readyLine)
    await oracle.feeding()
    await oracle.working()
    await sleep(workMs)
    await oracle.acknowledgement()
    await end(primary, network)
    await standby.promote()
    cluster.postgres = standby
    const promotedAtMs = performance.now()
    const before = await deliveredOn(standby)
    await oracle.acknowledgement()
    await waitFor(
      () => cluster.spread(),
      (counts) => counts.join() === "0,1,1",
    )
    await waitFor(
      () => deliveredOn(standby),
      (delivered) => delivered.every((count, index) => count > (before[index] ?? 0)),
    )
    const tookMs = performance.now() - promotedAtMs
    console.log(`failover: links resumed after ${tookMs.toFixed()} ms`)
    expect(tookMs).toBeLessThan(failoverMsMax)
    // Each process listens for hints on the new primary, and none keeps a connection to the old one.
    await waitFor(
      () => sessionsOn(standby, "sluice hints"),
      (count) => count === cluster.members.length,
    )
    if (primary.isRunning) {
      await waitFor(
        async () => (await sessionsOn(primary, "sluice")) + (await sessionsOn(primary, "sluice hints")),
        (count) => count === 0,
      )
    }
    for (const { process, readyLine } of cluster.members) {
      expect(process.isRunning).toBe(true)
      const member = new AppClient(readyLine)
      await waitFor(
        // A process that is restarting refuses connections.
        () => member.tryIngest([postLine(7, "after the failover")]).catch(() => undefined),
        (response) => response?.status === 200,
      )
    }
    await sleep(workMs)
    const { verdict, code } = await oracle.verdict(cluster.members.length)
    console.log(JSON.stringify(verdict))
    expect(cluster.unexpectedErrors).toEqual([])
    expect(verdict.faults).toEqual([])
    expect(code).toBe(0)
    for (const link of verdict.links) expect(link.events).toBeGreaterThan(0)
  },
)

test.skipIf(postgresMissing !== undefined)(
  "a commit whose wait for the synchronous standby was cancelled is not acknowledged",
  async () => {
    await using postgres = await PrivatePostgres.start()
    const settings = { url: postgres.url(), poolMax: 1, statementMsMax: 10_000 }
    await using store = await openClusterStore(settings, { sender: "test" })
    await store.createApp(anApp(app), [])
    const append = (id: string): Promise<unknown> => store.append([{ post: aPost(id), matches: [aMatch(app, "5")] }], 1)
    await append("1")
    await postgres.set("synchronous_standby_names", "a_standby_that_is_gone")
    const refused = expect(append("2")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" })
    await waitFor(
      () => postgres.query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"),
      (cancelled) => cancelled.length > 0,
    )
    await refused
    await postgres.set("synchronous_standby_names", "")
    await append("3")
  },
)

/**
 * Counts the sessions of an application, without those that wait for the standby: they do not notice that their client
 * has left.
 */
async function sessionsOn(server: PrivatePostgres, application: string): Promise<number> {
  const [count] = await server.query(
    `SELECT count(*) FROM pg_stat_activity
     WHERE application_name = '${application}' AND wait_event IS DISTINCT FROM 'SyncRep'`,
  )
  return Number(count)
}

/** Number of deliveries of each link. */
async function deliveredOn(server: PrivatePostgres): Promise<readonly number[]> {
  return (await server.query("SELECT delivered FROM links ORDER BY id")).map(Number)
}
