/** Three processes on one database, which fail in turn; the oracle judges from outside. */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { Cluster } from "./cluster.ts"
import { OracleProcess } from "./oracle-process.ts"
import { postgresMissing } from "./private-postgres.ts"

/** Links move within this time of the end of a process. */
const moveMsMax = 10_000

/** A module that makes a process one of the next version. */
const nextVersion = new URL("next-version.ts", import.meta.url).href

/** Time that the cluster works before a fault and after it. */
const workMs = 1_500

function oracleFor(cluster: Cluster): OracleProcess {
  return new OracleProcess(["--journal", join(cluster.directory, "oracle"), "--settle-seconds", "60"])
}

/** Lets the oracle judge: nothing may be lost, and this many ends of processes bound the repeats. */
async function expectKept(oracle: OracleProcess, cluster: Cluster, ends: number): Promise<void> {
  const { verdict, code } = await oracle.verdict(ends)
  console.log(JSON.stringify(verdict))
  // Processes may report an unavailable database, and no other error.
  expect(cluster.unexpectedErrors).toEqual([])
  expect(verdict.faults).toEqual([])
  expect(code).toBe(0)
  expect(verdict.acknowledged).toBeGreaterThan(0)
  for (const link of verdict.links) expect(link.events).toBeGreaterThan(0)
}

test.skipIf(postgresMissing !== undefined)(
  "two of three processes are killed in turn under load: links move within 10 s, nothing is lost",
  async () => {
    await using cluster = await Cluster.start()
    await using oracle = oracleFor(cluster)
    oracle.serve(cluster.readyLine)
    await oracle.feeding()
    await oracle.working()
    for (const number of [0, 1]) {
      await sleep(workMs)
      const killedAtMs = performance.now()
      await cluster.end(number, "SIGKILL")
      // Each of the two remaining processes drives one of the two links.
      await waitFor(
        () => cluster.spread(),
        (counts) => counts.join() === "1,1",
      )
      expect(performance.now() - killedAtMs).toBeLessThan(moveMsMax)
      await sleep(workMs)
      await cluster.startAgain(number)
    }
    await expectKept(oracle, cluster, 2)
  },
)

test.skipIf(postgresMissing !== undefined)(
  "a process that is paused for longer than its lease is fenced off when it resumes: nothing is lost",
  async () => {
    await using cluster = await Cluster.start()
    await using oracle = oracleFor(cluster)
    oracle.serve(cluster.readyLine)
    await oracle.feeding()
    await oracle.working()
    for (const number of [0, 1, 0]) {
      await sleep(workMs)
      const { process } = cluster.member(number)
      const pausedAtMs = performance.now()
      process.pause()
      await waitFor(
        () => cluster.spread(),
        (counts) => counts.join() === "1,1",
      )
      expect(performance.now() - pausedAtMs).toBeLessThan(moveMsMax)
      process.resume()
      await waitFor(
        () => cluster.spread(),
        (counts) => counts.join() === "0,1,1",
      )
    }
    await expectKept(oracle, cluster, 3)
  },
)

test.skipIf(postgresMissing !== undefined).each(["cut", "half-open", "held", "slow"] as const)(
  "the network between a process and PostgreSQL is %s under load, and recovers: nothing is lost",
  async (network) => {
    await using cluster = await Cluster.start()
    await using oracle = oracleFor(cluster)
    oracle.serve(cluster.readyLine)
    await oracle.feeding()
    await oracle.working()
    const { network: ofFirst } = cluster.member(0)
    await sleep(workMs)
    ofFirst.set(network)
    if (network === "slow") await sleep(10_000)
    else {
      await waitFor(
        () => cluster.spread(),
        (counts) => counts.join() === "1,1",
      )
    }
    expect(ofFirst.hits).toBeGreaterThan(0)
    ofFirst.set("good")
    const goodAtMs = performance.now()
    await waitFor(
      () => cluster.spread(),
      (counts) => counts.join() === "0,1,1",
    )
    // The process works again, too.
    const app = new AppClient(cluster.member(0).readyLine)
    await waitFor(
      () => app.tryIngest([postLine(7, "after the fault")]).catch(() => undefined),
      (response) => response?.status === 200,
    )
    console.log(`${network}: ready again after ${(performance.now() - goodAtMs).toFixed()} ms`)
    await sleep(workMs)
    await expectKept(oracle, cluster, 2)
  },
)

test.skipIf(postgresMissing !== undefined)(
  "PostgreSQL crashes in the middle of commits and recovers: every process resumes by itself, nothing is lost",
  async () => {
    await using cluster = await Cluster.start()
    await using oracle = oracleFor(cluster)
    oracle.serve(cluster.readyLine)
    await oracle.feeding()
    await oracle.working()
    const rounds = 3
    for (let round = 0; round < rounds; round += 1) {
      await sleep(workMs)
      await oracle.acknowledgement()
      await cluster.postgres.crash()
      if (round === 1) await sleep(8_000)
      await cluster.postgres.begin()
      const backAtMs = performance.now()
      await oracle.acknowledgement()
      await waitFor(
        () => cluster.spread(),
        (counts) => counts.join() === "0,1,1",
      )
      expect(cluster.members.every(({ process }) => process.isRunning)).toBe(true)
      console.log(`PostgreSQL: back after ${(performance.now() - backAtMs).toFixed()} ms`)
    }
    await expectKept(oracle, cluster, rounds * 3)
  },
)

test.skipIf(postgresMissing !== undefined)(
  "a rolling upgrade under load replaces each process by one of the next version: a retry heals every failed request",
  async () => {
    await using cluster = await Cluster.start()
    await using oracle = oracleFor(cluster)
    oracle.serve(cluster.readyLine)
    await oracle.feeding()
    await oracle.working()
    const [version = ""] = await cluster.postgres.query("SELECT version FROM store_version")
    for (const number of [0, 1, 2]) {
      await sleep(workMs)
      const askedAtMs = performance.now()
      await cluster.end(number, "SIGTERM")
      expect((await cluster.member(number).process.ended()).code).toBe(0)
      await waitFor(
        () => cluster.spread(),
        (counts) => counts.join() === "1,1",
      )
      console.log(`upgrade: links moved after ${(performance.now() - askedAtMs).toFixed()} ms`)
      await cluster.startAgain(number, ["--import", nextVersion])
      expect(await cluster.postgres.query("SELECT version FROM store_version")).toEqual([String(Number(version) + 1)])
      // Threads opened after the upgrade work on the newer store, too: a test of a rule runs in a new thread.
      const { readyLine } = cluster.member(2)
      await new AppClient(readyLine).json("POST", "/sluice/v1/rules/test", { value: "cat", recent: 10 })
    }
    await cluster.end(0, "SIGTERM")
    await expect(cluster.startAgain(0)).rejects.toThrow("Install the newer Sluice.")
    await cluster.startAgain(0, ["--import", nextVersion])
    await expectKept(oracle, cluster, 4)
  },
)
