/**
 * Sends generated posts in small bodies, and records which were acknowledged.
 *
 * It repeats a body without a response until it gets one, in whichever life of the server; now and then it repeats an
 * acknowledged body, which must contain no new post.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { Journal } from "./journal.ts"
import type { Lives } from "./lives.ts"
import { makePost } from "./made-posts.ts"
import { seededRandom } from "./seeded-random.ts"
import { Hanging } from "./sluice-client.ts"

/** Options of a feeder. */
export interface FeederOptions {
  readonly seed: number
  readonly postsPerBody: number
  /** Bodies in flight at a time. */
  readonly concurrency: number
  /** Mean pause of each sender after a response. */
  readonly pauseMs: number
}

/** Dependencies of a feeder. */
interface FeederDeps {
  readonly journal: Journal
  readonly lives: Lives
  /** Called on every acknowledgement at once. */
  readonly onAcknowledged: () => void
  /** Called on every acknowledgement once it is recorded. */
  readonly onNoted: () => void
}

/** Fraction of the acknowledged bodies that are sent again. */
const againRate = 0.05

/** Wait before a body is tried again in the same life of the server. */
const retryMs = 50

/** Sends until `signal`, and resolves when every begun body is acknowledged. */
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
      const response = await life.client.send("POST", "/sluice/v1/posts", {
        type: "application/x-ndjson",
        text,
      })
      if (response.status === 200) {
        onAcknowledged()
        const again = journal.ledger.acknowledgedBodies.has(body)
        const fault = countsFault(response.text, ids.length, again)
        if (fault !== undefined) journal.append({ kind: "fault", text: `body ${body}: ${fault}` })
        journal.append({ kind: "acknowledged", body, ids, again })
        onNoted()
        return
      }
      // Only a closing server may refuse such a body, and says so.
      if (response.status !== 503) {
        journal.append({ kind: "fault", text: `body ${body} got ${response.status}: ${response.text}` })
      }
    } catch (error) {
      if (error instanceof Hanging) journal.append({ kind: "fault", text: error.message })
      else if (!isRefusedConnection(error)) journal.append({ kind: "body-cut", body })
    }
    await Promise.race([lives.after(life), sleep(retryMs)])
  }
}

/** True when nothing listened, so that nothing was sent. */
function isRefusedConnection(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED"
}

/** Describes a fault in the counts of a response; undefined without one. */
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
