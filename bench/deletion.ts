/**
 * A user with 100,000 posts is deleted while posts are ingested as fast as they can be: the share of its own rate that ingest
 * keeps, the lag of the server's event loop, and the time until the posts are gone, and until their bytes are.
 *
 * Every second stored post is of the user, so each deleted one has neighbours to write again. Source of the goals, ours: 0.8
 * of ingest without a deletion, a lag of 10 ms for the 99th percentile, and a minute.
 */
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { createClient } from "../packages/client/src/index.ts"
import { storeFile } from "../packages/server/src/store/embedded/connection/database.ts"
import { loopLagMs, metrics, sendPosts } from "./app-client.ts"
import { figure, type Figure } from "./figure.ts"
import { madeAuthor, madeEnvelope } from "./made-posts.ts"
import { startSluice, type MeasuredSluice } from "./servers.ts"

const userId = "99"
const posts = 100_000
const perBody = 2_000
const secondsMax = 60
const lagMsMax = 10

/** Prints the figures of ingest during the deletion of a user. */
export async function deletion(
  print: (figure: Figure) => void,
  { isQuick }: { readonly isQuick: boolean },
): Promise<void> {
  const owned = isQuick ? posts / 10 : posts
  await using sluice = await startSluice({ settings: { SLUICE_SEARCH: "on" } })
  let next = 0
  const body = (): string => {
    const lines = Array.from({ length: perBody }, () => madeEnvelope(next++, { wordCount: 10 }))
    return lines.join("")
  }
  for (let sent = 0; sent < 2 * owned; sent += perBody) {
    await sendPosts(sluice, ofUser(body()), perBody)
  }
  using store = new DatabaseSync(storeFile(sluice.data), { readOnly: true })
  const left = () =>
    Number(store.prepare("SELECT count(*) AS left FROM posts WHERE author_id = ?").get(userId)?.["left"])
  const isPending = () => store.prepare("SELECT 1 FROM deletions WHERE is_pending LIMIT 1").get() !== undefined
  const isNoted = () => store.prepare("SELECT 1 FROM erasures LIMIT 1").get() !== undefined

  await metrics(sluice)
  const alone = await rateUntil(sluice, body, async () => sleep(isQuick ? 5_000 : 20_000))
  const aloneLagMs = await loopLagMs(sluice)
  const client = createClient({ url: sluice.url, token: sluice.operatorToken })
  const startedMs = performance.now()
  let goneMs = Number.NaN
  const during = await rateUntil(sluice, body, async () => {
    await client.request("POST", "deletions", { body: { user_ids: [userId] } })
    while (isPending() || left() > 0) await sleep(100)
    goneMs = performance.now() - startedMs
  })
  const duringLagMs = await loopLagMs(sluice)
  const rewriting = await rateUntil(sluice, body, async () => {
    while (isNoted()) await sleep(100)
  })
  const erasedMs = performance.now() - startedMs
  const limitIs = "ingest without a deletion"
  const rate = (name: string, value: number): Figure =>
    figure({ name, value, unit: "posts/s", limit: alone, limitIs }, { atLeast: 0.8 })
  print(rate("deletion-ingest", during))
  print(rate("deletion-ingest-rewriting", rewriting))
  const within = (name: string, value: number, unit: string, limit: number): Figure =>
    figure({ name, value, unit, limit, limitIs: "the goal" }, { atMost: 1 })
  print(within("deletion-loop-lag-p99", duringLagMs, "ms", lagMsMax))
  print(within("deletion-loop-lag-p99-without", aloneLagMs, "ms", lagMsMax))
  print(within("deletion-seconds", goneMs / 1_000, "s", secondsMax))
  print(
    figure({
      name: "deletion-bytes-seconds",
      value: erasedMs / 1_000,
      unit: "s",
      limit: goneMs / 1_000,
      limitIs: "until the posts are gone",
    }),
  )
}

/** Every second line with the user as its author. */
function ofUser(lines: string): string {
  return lines
    .split("\n")
    .map((line, index) =>
      index % 2 === 0 ? line.replaceAll(`"author_id":"${madeAuthor}"`, `"author_id":"${userId}"`) : line,
    )
    .join("\n")
}

/** Posts per second that two clients send, one body after the other, until `work` has ended. */
async function rateUntil(sluice: MeasuredSluice, body: () => string, work: () => Promise<unknown>): Promise<number> {
  const over = new AbortController()
  let sent = 0
  const startedMs = performance.now()
  const clients = Array.from({ length: 2 }, async () => {
    while (!over.signal.aborted) {
      await sendPosts(sluice, body(), perBody)
      sent += perBody
    }
  })
  await work()
  over.abort()
  await Promise.all(clients)
  return sent / ((performance.now() - startedMs) / 1_000)
}
