/**
 * The time of a move to PostgreSQL: a store of 1,000,000 posts (20,000 with `--quick`), 1,000,000 matches, 10,000 rules
 * and 100 links in mid-delivery, each with retries and dead letters. Its limit is the time in which PostgreSQL's own
 * tools move the result into another database: `pg_dump` and `pg_restore`, which examine, convert and compare nothing.
 */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { endWithBench } from "./child-processes.ts"
import { figure, type Figure } from "./figure.ts"
import { fillMidDelivery } from "./mid-delivery-store.ts"

const serverUrl = "postgres://postgres@127.0.0.1:5432"
const program = fileURLToPath(new URL("../packages/sluice/src/sluice.ts", import.meta.url))

/** Prints the figure of a move. */
export async function migrate(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  const posts = isQuick ? 20_000 : 1_000_000
  const data = await mkdtemp(join(tmpdir(), "sluice-migrate-"))
  const [database, copy] = ["", "_copy"].map((end) => `sluice_bench_${process.pid}${end}`)
  try {
    await fillMidDelivery(data, posts)
    await sql(`CREATE DATABASE ${database}`, `CREATE DATABASE ${copy}`)
    const moved = await move(data, `${serverUrl}/${database}`)
    const limit = await seconds(() =>
      promisify(execFile)("bash", [
        "-c",
        `set -o pipefail; pg_dump --format=custom --compress=0 ${serverUrl}/${database} | pg_restore --dbname=${serverUrl}/${copy}`,
      ]),
    )
    process.stderr.write(
      `${posts} posts: ${moved.seconds.toFixed(1)} s, ${moved.residentMegabytes} MB resident at most\n`,
    )
    const rate = { unit: "posts/s", limitIs: "pg_dump and pg_restore" }
    print(figure({ name: "migrate", value: posts / moved.seconds, limit: posts / limit, ...rate }))
  } finally {
    await sql(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`, `DROP DATABASE IF EXISTS ${copy} WITH (FORCE)`)
    await rm(data, { recursive: true })
  }
}

/** Runs `sluice migrate`, which must succeed, and samples its memory until it ends. */
async function move(data: string, url: string): Promise<{ seconds: number; residentMegabytes: number }> {
  let residentMegabytes = 0
  const taken = await seconds(async () => {
    const child = endWithBench(
      spawn(process.execPath, [program, "migrate", "--from", data], {
        env: { ...process.env, SLUICE_DATABASE: url },
        stdio: ["ignore", "ignore", "inherit"],
      }),
    )
    const timer = setInterval(() => {
      residentMegabytes = Math.max(residentMegabytes, residentOf(child.pid))
    }, 100)
    const [status] = (await once(child, "exit")) as [number | null]
    clearInterval(timer)
    if (status !== 0) throw new Error(`sluice migrate ended with ${status}`)
  })
  return { seconds: taken, residentMegabytes }
}

/** The peak resident memory of a process, in MB; 0 after its end. */
function residentOf(pid: number | undefined): number {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
    return Math.round(Number(kilobytes ?? 0) / 1_000)
  } catch {
    return 0
  }
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1_000
}

async function sql(...statements: readonly string[]): Promise<void> {
  for (const statement of statements) await promisify(execFile)("psql", ["-qc", statement, `${serverUrl}/postgres`])
}
