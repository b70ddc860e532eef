/**
 * Ingest: posts per second that are read, matched against 10,000 rules, stored and logged, durable when acknowledged,
 * through HTTP. The posts are real ones, sent again and again under new ids, two bodies at a time.
 *
 * The limit is bare inserts of the resulting rows, into a store of the same shape and settings, in the same batches, by
 * a separate process: it reads and matches nothing and uses no HTTP. A third server runs with syncs of the disk that do
 * nothing, which shows the cost of durability.
 *
 * Source of the goals, ours: 0.8 of bare inserts with the narrow index of authors; 0.95 of not durable; the main thread's event loop late by at most 3 ms.
 */
import { execFileSync } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { addRules, loopLagMs, metrics } from "./app-client.ts"
import type { InsertsMessage } from "./bare-inserts.ts"
import { Envelopes } from "./envelopes.ts"
import { figure, median, type Figure } from "./figure.ts"
import { startChild } from "./child.ts"
import { bodiesOf, sentPerSecond, someRules } from "./real-ingest.ts"
import { startSluice, storeFileOf } from "./servers.ts"

const perBody = 4_000
/** Rounds that warm up: caches fill, and the server's memory grows. */
const warmUpRounds = 4

/** Prints the figures of ingest. */
export async function ingest(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  const envelopes = Envelopes.read()
  const rules = someRules(envelopes)
  await using resources = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), "sluice-inserts-"))
  resources.defer(() => rm(directory, { recursive: true, force: true }))
  const sluice = resources.use(await startSluice())
  const shim = buildShim(directory)
  const forgetful =
    shim === undefined ? undefined : resources.use(await startSluice({ settings: { LD_PRELOAD: shim } }))
  const bare = resources.use(startChild<InsertsMessage>("bare-inserts.ts", [join(directory, "bare.db")]))
  for (const server of [sluice, forgetful]) if (server !== undefined) await addRules(server, rules)

  const seen = {
    sluice: [] as number[],
    forgetful: [] as number[],
    bare: [] as number[],
    lag: [] as number[],
  }
  let bytesWarm = 0
  const rounds = isQuick ? 3 : 9
  for (let round = -warmUpRounds; round < rounds; round++) {
    const posts = bodiesOf(envelopes, { round: round + warmUpRounds, perBody })
    // The event loop is watched from one reading to the next.
    const before = await metrics(sluice)
    if (round === 0) bytesWarm = before.get("process_resident_memory_bytes") ?? Number.NaN
    const perSecond = await sentPerSecond([sluice], posts.bodies)
    const lagMs = await loopLagMs(sluice)
    const ofForgetful = forgetful === undefined ? 0 : await sentPerSecond([forgetful], posts.bodies)
    const { firstId, lastId } = posts
    const inserted = (await bare.request({ file: storeFileOf(sluice), firstId, lastId })) as {
      perSecond: number
    }
    if (round < 0) continue
    seen.sluice.push(perSecond)
    seen.lag.push(lagMs)
    seen.bare.push(inserted.perSecond)
    seen.forgetful.push(ofForgetful)
  }

  const unit = "posts/s"
  const value = median(seen.sluice)
  const limitIs = "bare inserts of the same rows"
  print(figure({ name: "ingest", value, unit, limit: median(seen.bare), limitIs }, { atLeast: 0.8 }))
  if (forgetful === undefined) {
    process.stderr.write("(no C compiler: the cost of durability is not measured)\n")
  } else {
    const limit = { limit: median(seen.forgetful), limitIs: "syncs of the disk that do nothing" }
    print(figure({ name: "ingest-durability", value, unit, ...limit }, { atLeast: 0.95 }))
  }
  print(
    figure(
      { name: "ingest-loop-lag-p99", value: median(seen.lag), unit: "ms", limit: 3, limitIs: "allowed" },
      { atMost: 1 },
    ),
  )
  const bytesAtEnd = (await metrics(sluice)).get("process_resident_memory_bytes") ?? Number.NaN
  print(
    figure(
      {
        name: "ingest-memory",
        value: bytesAtEnd / 1e6,
        unit: "MB",
        limit: bytesWarm / 1e6,
        limitIs: `resident before the last ${rounds * envelopes.count} posts`,
      },
      { atMost: 1.2 },
    ),
  )
}

/** A library that makes syncs of the disk do nothing; undefined without a C compiler. */
function buildShim(directory: string): string | undefined {
  const [source, library] = [fileURLToPath(new URL("no-sync.c", import.meta.url)), join(directory, "no-sync.so")]
  try {
    execFileSync("cc", ["-shared", "-fPIC", "-o", library, source], { stdio: "ignore" })
    return library
  } catch {
    return undefined
  }
}
