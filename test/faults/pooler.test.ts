/**
 * A pooler between the processes and PostgreSQL: its session mode works, and a server refuses to start on its other
 * modes.
 */
import { spawn } from "node:child_process"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { examine } from "../../packages/server/src/index.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { Cluster } from "./cluster.ts"
import { OracleProcess } from "./oracle-process.ts"
import { Pooler, poolerMissing } from "./pooler.ts"
import { postgresMissing, PrivatePostgres } from "./private-postgres.ts"

const isMissing = postgresMissing !== undefined || poolerMissing !== undefined

/** Time that the cluster works before a fault and after it. */
const workMs = 1_500

test.skipIf(isMissing)(
  "processes behind a pgbouncer in session mode that is killed under load lose nothing",
  async () => {
    await using postgres = await PrivatePostgres.start()
    await using pooler = await Pooler.start(postgres, "session")
    await using cluster = await Cluster.start({ processes: 2, postgres, database: pooler.url })
    await using oracle = new OracleProcess(["--journal", join(cluster.directory, "oracle"), "--settle-seconds", "60"])
    oracle.serve(cluster.readyLine)
    await oracle.feeding()
    await oracle.working()
    await sleep(workMs)
    await pooler.kill()
    await pooler.begin()
    await oracle.acknowledgement()
    await sleep(workMs)
    // The sessions have Sluice's settings, which pgbouncer would not accept while connecting.
    const direct = await postgres.query("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sluice%'")
    expect(Number(direct[0])).toBeGreaterThan(0)
    const { verdict, code } = await oracle.verdict(cluster.members.length)
    console.log(JSON.stringify(verdict))
    expect(cluster.unexpectedErrors).toEqual([])
    expect(verdict.faults).toEqual([])
    expect(code).toBe(0)
    for (const link of verdict.links) expect(link.events).toBeGreaterThan(0)
  },
)

test.skipIf(isMissing).each([
  ["transaction", "idle"],
  ["transaction", "busy"],
  ["statement", "idle"],
  ["statement", "busy"],
] as const)("the server and the doctor refuse a pgbouncer in %s mode that is %s", async (mode, load) => {
  await using directory = await temporaryDirectory()
  await using postgres = await PrivatePostgres.start()
  await using pooler = await Pooler.start(postgres, mode)
  using neighbours = load === "busy" ? busyNeighbours(pooler.url) : undefined
  const data = join(directory.path, "data")
  await mkdir(data)
  await using refused = new SluiceProcess(data, { database: pooler.url })
  expect(await refused.ready).toBeUndefined()
  const { code, errors } = await refused.ended()
  const reason = `is behind a pooler in ${mode} mode`
  expect(errors).toContain(reason)
  expect(errors).toContain("Set pool_mode = session")
  expect(code).toBe(1)
  // The server made nothing in the database.
  expect(await postgres.query("SELECT relname FROM pg_class WHERE relname = 'apps'")).toEqual([])
  const env = { SLUICE_MASTER_KEY: "ab".repeat(32) }
  const { findings } = await examine({ flags: { database: pooler.url }, env, isOffline: true })
  expect(findings.filter(({ level }) => level === "error").map(({ text }) => text)[0]).toContain(reason)
  expect(neighbours?.areBusy ?? true).toBe(true)
})

/** Other clients of the pooler, which run one statement after the other until their disposal. */
function busyNeighbours(url: string): Disposable & { readonly areBusy: boolean } {
  const command = `yes "SELECT pg_sleep(random() / 100);" | psql -XAtq -v ON_ERROR_STOP=1 "$0" >/dev/null`
  const shells = Array.from({ length: 4 }, () =>
    spawn("bash", ["-c", command, url], { detached: true, stdio: "ignore" }),
  )
  return {
    get areBusy() {
      return shells.every(({ exitCode }) => exitCode === null)
    },
    [Symbol.dispose]() {
      for (const { pid, exitCode } of shells) if (pid !== undefined && exitCode === null) process.kill(-pid, "SIGKILL")
    },
  }
}
