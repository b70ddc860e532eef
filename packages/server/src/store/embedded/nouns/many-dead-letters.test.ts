/** Reads that are frequent cost the same, however many dead letters there are and however many replays have ended. */
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { AppId, LinkId, MatchSeq, WebhookId } from "../../../model/ids.ts"
import { createManualClock } from "../../../runtime/manual-clock.testing.ts"
import { aLink, anApp, aPost, aWebhook } from "../../contract/fixtures.ts"
import type { StoreReads } from "../../store.ts"
import { FollowedLogs } from "../serving/appended-entries.ts"
import { openForWriting } from "../connection/database.ts"
import { createReads } from "../serving/reads.ts"
import type { SyncWrites } from "../serving/sync-store.ts"
import { createWrites } from "../serving/writes.ts"
import {
  temporaryDirectory,
  type TemporaryDirectory,
} from "../../../../../../test/support/temporary-directory.testing.ts"

const appId = "100" as AppId
const linkId = "31" as LinkId
const retriesMax = 1_000
const none = { linkId, retries: [], settled: [], dead: [], delivered: 0 }

/** A store whose link has a gap, all the retries there may be, and dead letters; everything old is trimmed. */
class Loaded {
  readonly #db: DatabaseSync
  readonly writes: SyncWrites
  readonly reads: StoreReads
  readonly #last: MatchSeq

  constructor(file: string, deadLetters: number) {
    this.#db = openForWriting(file)
    this.writes = createWrites(this.#db, {
      announce: () => undefined,
      followed: new FollowedLogs(),
      clock: createManualClock(1_000),
    })
    this.reads = createReads(this.#db)
    this.#last = (deadLetters + retriesMax + 1) as MatchSeq
    this.transaction(() => this.#fill(deadLetters))
  }

  #fill(deadLetters: number): void {
    const { writes } = this
    writes.createApp(anApp(appId), [])
    writes.createWebhook(aWebhook(appId, "1"), { webhooksMax: 5 })
    writes.createLink(aLink(appId, linkId, "1"))
    const matches = [{ appId, rules: [{ id: "5", tag: "" }] }]
    const posts = Array.from({ length: this.#last }, (_, index) => ({ post: aPost(`${index + 1}`), matches }))
    writes.append(posts, 1)
    writes.trimMatches(appId, { beforeMs: 2, limit: 1 })
    const dead = Array.from({ length: deadLetters + retriesMax }, (_, index) => ({
      seq: (index + 2) as MatchSeq,
      failures: 9,
      outcome: "server_error" as const,
      deadLetteredAtMs: index,
    }))
    writes.saveProgress([{ ...none, position: this.#last, dead }])
    writes.redeliver({ kind: "all" })
    writes.trimMatches(appId, { beforeMs: 2, limit: this.#last })
    this.#db.exec(`
      WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < ${deadLetters})
      INSERT INTO replays SELECT value, 200, 2, ${linkId}, 0, 0, 0, 0, 0, 0, 0, 'complete', 0, 0, NULL, NULL, NULL FROM number`)
  }

  transaction(work: () => unknown): void {
    this.#db.exec("BEGIN IMMEDIATE")
    work()
    this.#db.exec("COMMIT")
  }

  save(): void {
    this.writes.saveProgress([{ ...none, position: this.#last }])
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}

let directory: TemporaryDirectory
let few: Loaded
let many: Loaded

beforeAll(async () => {
  directory = await temporaryDirectory()
  few = new Loaded(join(directory.path, "few.db"), 10)
  many = new Loaded(join(directory.path, "many.db"), 30_000)
})

afterAll(async () => {
  few[Symbol.dispose]()
  many[Symbol.dispose]()
  await directory.remove()
})

/** Tries of each, and most of them when the machine does other work too: sooner or later one is not interrupted. */
const tries = 20
const triesMax = 2_000

async function tookMs(work: () => unknown): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}

test.each<[what: string, work: (loaded: Loaded) => unknown]>([
  ["a save", (loaded) => loaded.save()],
  ["where the matches of a link went", ({ reads }) => reads.linkTally(linkId)],
  ["which replays run", ({ reads }) => reads.replays({ state: "running" })],
  ["redelivery to a link without room", ({ writes }) => writes.redeliver({ kind: "all" })],
  [
    "redelivery to a webhook without room",
    ({ writes }) => writes.redeliver({ kind: "all", appId, webhookId: "1" as WebhookId }),
  ],
  ["a step of retention that finds nothing", ({ writes }) => writes.trimMatches(appId, { beforeMs: 2, limit: 500 })],
])("%s costs the same with few and with many dead letters", async (_, work) => {
  let [withFew, withMany] = [Infinity, Infinity]
  const costsTheSame = (): boolean => withMany < 4 * withFew + 0.05
  for (let tried = 0; tried < tries || (tried < triesMax && !costsTheSame()); tried += 1) {
    // In turns, and the shortest of each: what else the machine does only makes them longer.
    withFew = Math.min(withFew, await tookMs(() => work(few)))
    withMany = Math.min(withMany, await tookMs(() => work(many)))
  }
  expect(costsTheSame(), `${withMany} ms with many, ${withFew} ms with few`).toBe(true)
})

test("a step of retention after a link with many rows is deleted scans no more than its bound", async () => {
  many.transaction(() => many.writes.deleteLink(appId, "1" as WebhookId))
  const steps: number[] = []
  many.transaction(() => {
    for (let isDone = false; !isDone;) {
      const step = many.writes.trimMatches(appId, { beforeMs: 2, limit: 500 })
      steps.push(step.trimmed)
      isDone = step.isDone
    }
  })
  expect(steps.slice(0, -1)).toEqual(Array.from({ length: 62 }, () => 500))
  expect(steps.at(-1)).toBe(0)
  many.transaction(() => {
    const posts = many.writes.trimPosts({ after: undefined, beforeMs: 99_999, limit: 50_000 })
    expect(posts).toEqual({ trimmed: 31_001 })
  })
})
