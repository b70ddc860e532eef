/**
 * Sends made posts in, in small bodies, and writes down which were acknowledged.
 *
 * A body that got no answer is sent again until it gets one, whatever life the server is in then; and now and
 * then one that was acknowledged is sent again, and must hold nothing new.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Journal } from "./journal.ts"
import type { Lives } from "./lives.ts"
import { makePost } from "./made-posts.ts"
import { seededRandom } from "./seeded-random.ts"
import { Hanging } from "./sluice-client.ts"

/** How a feeder feeds. */
export interface FeederOptions {
  readonly seed: number
  readonly postsPerBody: number
  /** Bodies under way at a time. */
  readonly concurrency: number
  /** Rest of each of them after an answer, on average. */
  readonly pauseMs: number
}

/** What a feeder works with. */
interface FeederDeps {
  readonly journal: Journal
  readonly lives: Lives
  /** Hears of every acknowledgement at once. */
  readonly onAcknowledged: () => void
  /** Hears of every acknowledgement once it is written down. */
  readonly onNoted: () => void
}

/** Part of the acknowledged bodies that are sent again. */
const againRate = 0.05

/** Wait before a body is tried again in the same life of the server. */
const retryMs = 50

/** Sends until `signal`, and ends when every body that was begun is acknowledged. */
export async function feed(options: FeederOptions, deps: FeederDeps, signal: AbortSignal): Promise<void> {
  const { journal } = deps
  const { seed, concurrency, pauseMs } = options
  const random = seededRandom(seed)
  let next = 0
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      while (journal.ledger.acknowledgedBodies.has(next)) next += 1
      const body = next
      next += 1
      await send(options, deps, body)
      if (random() < againRate) await send(options, deps, body)
      await sleep(2 * pauseMs * random())
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}

/** Sends one body until it is acknowledged. */
async function send(
  { seed, postsPerBody }: FeederOptions,
  { journal, lives, onAcknowledged, onNoted }: FeederDeps,
  body: number,
): Promise<void> {
  const posts = Array.from({ length: postsPerBody }, (_, index) => makePost(seed, body * postsPerBody + index))
  const text = posts.map(({ line }) => `${line}\n`).join("")
  const ids = posts.map(({ id }) => id)
  for (;;) {
    const life = lives.current
    try {
      const answer = await life.client.send("POST", "/sluice/v1/posts", {
        type: "application/x-ndjson",
        text,
      })
      if (answer.status === 200) {
        onAcknowledged()
        const again = journal.ledger.acknowledgedBodies.has(body)
        const fault = countsFault(answer.text, ids.length, again)
        if (fault !== undefined) journal.append({ kind: "fault", text: `body ${body}: ${fault}` })
        journal.append({ kind: "acknowledged", body, ids, again })
        onNoted()
        return
      }
      // A server that is closing says so; it is the only refusal that such a body may get.
      if (answer.status !== 503) {
        journal.append({ kind: "fault", text: `body ${body} was answered ${answer.status}: ${answer.text}` })
      }
    } catch (error) {
      if (error instanceof Hanging) journal.append({ kind: "fault", text: error.message })
      else if (!isRefusedConnection(error)) journal.append({ kind: "body-cut", body })
    }
    await Promise.race([lives.after(life), sleep(retryMs)])
  }
}

/** True when nobody listened, so that nothing was sent. */
function isRefusedConnection(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED"
}

/** What is wrong with the counts of an answer, or undefined. */
function countsFault(text: string, posts: number, again: boolean): string | undefined {
  const counts = JSON.parse(text) as Record<string, unknown>
  const { accepted, duplicates, rejected } = counts
  const rejectedCount = counts.rejected_count
  const addsUp = typeof accepted === "number" && typeof duplicates === "number" && accepted + duplicates === posts
  if (!addsUp || rejectedCount !== 0 || !Array.isArray(rejected) || rejected.length > 0) {
    return `the counts of ${posts} good posts do not add up: ${text}`
  }
  return again && accepted > 0 ? `${accepted} posts that were acknowledged were new when sent again` : undefined
}
