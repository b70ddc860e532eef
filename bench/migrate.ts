/**
 * What a move to PostgreSQL takes: a store of 1,000,000 posts (20,000 with `--quick`), 1,000,000 matches, 10,000 rules
 * and 100 links in mid-delivery, each with retries and dead letters. Its limit is what PostgreSQL's own tools take to
 * move the result into another database: `pg_dump` and `pg_restore`, with nothing to examine, to convert or to compare.
 */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { storeFile } from "../packages/server/src/store/embedded/database.ts"
import { masterKey } from "../packages/server/src/startup/master-key.ts"
import { loadConfig, openApps } from "../packages/server/src/index.ts"
import {
  asId,
  type AppId,
  type LinkId,
  type MatchSeq,
  type PostId,
  type UserId,
} from "../packages/server/src/model/ids.ts"
import type { RuleId, WebhookId } from "../packages/server/src/model/ids.ts"
import { systemRandom } from "../packages/server/src/runtime/random.ts"
import { createSecretBox } from "../packages/server/src/runtime/secret-box.ts"
import { openEmbeddedStore } from "../packages/server/src/store/embedded/embedded-store.ts"
import type { Store } from "../packages/server/src/store/store.ts"
import { figure, type Figure } from "./figure.ts"
import { madeAuthor, madeEnvelope } from "./made-posts.ts"

const appCount = 10
const linksPerApp = 10
const rulesPerApp = 1_000
const [retriesPerLink, deadPerLink] = [100, 50]
const postsPerBatch = 1_000

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
    await fill(data, posts)
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

/** Runs `sluice migrate`, which must succeed. Its memory is looked at until it ends. */
async function move(data: string, url: string): Promise<{ seconds: number; residentMegabytes: number }> {
  let residentMegabytes = 0
  const taken = await seconds(async () => {
    const child = spawn(process.execPath, [program, "migrate", "--from", data], {
      env: { ...process.env, SLUICE_DATABASE: url },
      stdio: ["ignore", "ignore", "inherit"],
    })
    const timer = setInterval(() => {
      residentMegabytes = Math.max(residentMegabytes, residentOf(child.pid))
    }, 100)
    const [status] = (await once(child, "exit")) as [number | null]
    clearInterval(timer)
    if (status !== 0) throw new Error(`sluice migrate ended with ${status}`)
  })
  return { seconds: taken, residentMegabytes }
}

/** The most memory that a process has had resident, in MB; 0 when it is gone. */
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

async function fill(data: string, posts: number): Promise<void> {
  await using opened = await openApps(loadConfig({ posture: "serve", flags: { data }, env: {} }))
  const created = await Promise.all(
    Array.from({ length: appCount }, (_, number) => opened.apps.create(`app ${number}`)),
  )
  const apps = created.map(({ application_id: id }) => asId<AppId>(id))
  await using store = await openEmbeddedStore({ file: storeFile(data) })
  const links = (await Promise.all(apps.map((appId, index) => addControl(store, data, appId, index)))).flat()
  const firstMs = Date.now() - posts
  for (let first = 0; first < posts; first += postsPerBatch) {
    const batch = Array.from({ length: postsPerBatch }, (_, at) => {
      const appId = apps[at % appCount]
      const matches = appId === undefined ? [] : [{ appId, rules: [{ id: "1" }] }]
      return { post: postOf(first + at), matches }
    })
    await store.append(batch, firstMs + first)
  }
  const position = Math.floor(posts / appCount / 2)
  const seq = (value: number): MatchSeq => value as MatchSeq
  const each = (count: number, from: number) => Array.from({ length: count }, (_, index) => seq(from + index))
  await store.saveProgress(
    links.map((linkId) => ({
      linkId,
      position: seq(position),
      delivered: position - retriesPerLink - deadPerLink,
      retries: each(retriesPerLink, 1).map((one) => ({ seq: one, failures: 2, dueAtMs: Date.now() })),
      settled: [],
      dead: each(deadPerLink, retriesPerLink + 1).map((one) => ({
        seq: one,
        failures: 9,
        outcome: "server_error" as const,
        status: 500,
        diedAtMs: Date.now(),
      })),
    })),
  )
}

/** Rules, webhooks and links of an app; the links' ids. */
async function addControl(store: Store, data: string, appId: AppId, index: number): Promise<readonly LinkId[]> {
  const rules = Array.from({ length: rulesPerApp }, (_, number) => ({
    id: asId<RuleId>(String(1 + index * rulesPerApp + number)),
    appId,
    value: `word${number} lang:en -is:retweet`,
  }))
  await store.addRules(appId, rules, { rulesMax: rulesPerApp })
  const box = createSecretBox(masterKey(data, undefined, systemRandom, { mayCreate: false }), systemRandom)
  const common = { appId, createdAtMs: Date.now() }
  const ids = Array.from({ length: linksPerApp }, (_, number) => String(100_000 + index * linksPerApp + number))
  for (const id of ids) {
    const url = `https://example.com/${id}`
    const key = { valid: true, checkedAtMs: common.createdAtMs, signingKeySealed: box.seal("a key") }
    await store.createWebhook({ ...common, ...key, id: asId<WebhookId>(id), url }, { webhooksMax: linksPerApp })
    await store.createLink({ ...common, id: asId<LinkId>(id), webhookId: asId<WebhookId>(id), query: "" })
  }
  return ids.map((id) => asId<LinkId>(id))
}

function postOf(index: number) {
  const envelope = madeEnvelope(index).trimEnd()
  const { data } = JSON.parse(envelope) as { data: { id: string; text: string; created_at: string } }
  return {
    id: asId<PostId>(data.id),
    authorId: asId<UserId>(madeAuthor),
    createdAtMs: Date.parse(data.created_at),
    isReply: false,
    isRepost: false,
    core: JSON.stringify({ id: data.id, text: data.text }),
    envelope,
    userIds: [asId<UserId>(madeAuthor)],
  }
}
