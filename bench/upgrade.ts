/**
 * The upgrade of a store of 1,000,000 posts (50,000 with `--quick`) from before posts had an order of arrival and before
 * users were kept: the time until the server is ready, then how fast it takes the users of the stored posts and fills the
 * index, and ingest meanwhile.
 *
 *     start ─► ready ─► ingest of some bodies ─► users are taken, the index has all ─► ingest of as many bodies ─► start
 *
 * The limit of the start is the next start on the same store. The limit of users and index is one thread that reads and
 * parses each stored post.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { sendPosts } from "./app-client.ts"
import { figure, median, type Figure } from "./figure.ts"
import { indexed, indexOf } from "./index-progress.ts"
import { fillOldStore } from "./old-store.ts"
import { SearchedPosts } from "./searched-posts.ts"
import { startSluice, storeFileOf, type MeasuredSluice } from "./servers.ts"

const perBody = 10_000
const bodies = 6
const settings = { SLUICE_SEARCH: "on" }

/** Prints the figures of an upgrade. */
export async function upgrade(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  const stored = isQuick ? 50_000 : 1_000_000
  const posts = new SearchedPosts({ count: stored + 2 * bodies * perBody, endMs: Date.now() })
  const data = await mkdtemp(join(tmpdir(), "sluice-upgrade-"))
  try {
    await fillOldStore(data, posts, stored)
    const seen = await measureUpgrade(data, posts, stored)
    const restartSeconds = await measureStart(data)
    const parsedPerSecond = measureParsing(seen.file)
    process.stderr.write(
      `(of ${stored} posts: ready after ${seen.readySeconds.toFixed(1)} s; after that, users after ` +
        `${seen.usersSeconds.toFixed(0)} s and the index after ${seen.indexSeconds.toFixed(0)} s)\n`,
    )
    const unit = "posts/s"
    const parsing = { unit, limit: parsedPerSecond, limitIs: "one thread that reads and parses each post" }
    print(
      figure({
        name: "upgrade-ready",
        value: seen.readySeconds,
        unit: "s",
        limit: restartSeconds,
        limitIs: "the next start",
      }),
    )
    print(figure({ name: "upgrade-users", value: stored / seen.usersSeconds, ...parsing }))
    print(figure({ name: "upgrade-index", value: stored / seen.indexSeconds, ...parsing }))
    print(
      figure({
        name: "upgrade-ingest",
        value: seen.ingestMeanwhile,
        unit,
        limit: seen.ingestAfterwards,
        limitIs: "the same server afterwards",
      }),
    )
  } finally {
    await rm(data, { recursive: true, force: true })
  }
}

async function measureUpgrade(data: string, posts: SearchedPosts, stored: number) {
  const startMs = performance.now()
  const sinceMs = (): number => performance.now() - startMs
  await using sluice = await startSluice({ data, settings })
  const readyMs = sinceMs()
  const file = storeFileOf(sluice)
  using index = indexOf(sluice)
  const ingestMeanwhile = await measureIngest(sluice, posts, stored)
  const afterMs = async (work: Promise<void>): Promise<number> => work.then(() => sinceMs() - readyMs)
  const [usersMs, indexMs] = await Promise.all([
    afterMs(usersTaken(file)),
    afterMs(indexed(index, stored + bodies * perBody)),
  ])
  const ingestAfterwards = await measureIngest(sluice, posts, stored + bodies * perBody)
  return {
    file,
    readySeconds: readyMs / 1_000,
    usersSeconds: usersMs / 1_000,
    indexSeconds: indexMs / 1_000,
    ingestMeanwhile,
    ingestAfterwards,
  }
}

/** Posts per second of bodies from the post of this number on, one after the other. The first one warms up. */
async function measureIngest(sluice: MeasuredSluice, posts: SearchedPosts, from: number): Promise<number> {
  const perSecond: number[] = []
  for (let body = 0; body < bodies; body++) {
    const first = from + body * perBody
    const lines = posts.lines(first, first + perBody)
    const startMs = performance.now()
    await sendPosts(sluice, lines, perBody)
    perSecond.push((perBody / (performance.now() - startMs)) * 1_000)
  }
  return median(perSecond.slice(1))
}

/** Resolves when no users of stored posts are still to be taken. */
async function usersTaken(file: string): Promise<void> {
  using db = new DatabaseSync(file, { readOnly: true })
  const toTake = db.prepare("SELECT 1 FROM user_fill")
  while (toTake.get() !== undefined) await sleep(250)
}

/** Seconds until a server on this directory is ready. */
async function measureStart(data: string): Promise<number> {
  const startMs = performance.now()
  const sluice = await startSluice({ data, settings })
  const readyMs = performance.now() - startMs
  await sluice[Symbol.asyncDispose]()
  return readyMs / 1_000
}

/** Stored posts that this thread reads and parses in a second. */
function measureParsing(file: string): number {
  using db = new DatabaseSync(file, { readOnly: true })
  const startMs = performance.now()
  let count = 0
  for (const { envelope } of db.prepare("SELECT envelope FROM posts").iterate()) {
    const { data } = JSON.parse(envelope as string) as { readonly data?: object }
    if (data !== undefined) count += 1
  }
  return (count / (performance.now() - startMs)) * 1_000
}
