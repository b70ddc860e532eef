/**
 * The tail of the write-ahead log is torn, as a power cut during an unfinished flush may leave it.
 *
 *     …acknowledged…│ an unacknowledged body       │
 *                   └── cut, garbled, or followed by rubbish, anywhere in here
 */
import { cpSync, closeSync, openSync, rmSync, statSync, truncateSync, writeSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { makePost } from "../oracle/made-posts.ts"
import { seededRandom } from "../oracle/seeded-random.ts"
import { AppClient } from "./app-client.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const rounds = Math.ceil(Number(process.env.SLUICE_FAULT_ROUNDS ?? 6) / 2)
const seed = Number(process.env.SLUICE_FAULT_SEED ?? Date.now() % 1_000_000)

const bodyPosts = 60

/** Longest rubbish: some pages of the log. */
const rubbishBytesMax = 40_000

/** Fewer bytes than these might be zeros already. */
const tornBytesMin = 1_000

/** Ways to tear a tail, between the end of the acknowledged part and the end of the log. */
const tears = ["cut", "cut and followed by rubbish", "garbled", "zeroed", "followed by rubbish"] as const

test(
  `the server ignores a torn tail of the log, and has every acknowledged post: ${rounds} times`,
  { timeout: 180_000 + rounds * 10_000 },
  async () => {
    await using directory = await temporaryDirectory()
    const random = seededRandom(seed)
    console.log(`torn log: ${rounds} rounds, SLUICE_FAULT_SEED=${seed}`)
    const data = join(directory.path, "data")
    const [first, second, last] = [0, 1, 2].map((body) =>
      Array.from({ length: bodyPosts }, (_, index) => makePost(seed, body * bodyPosts + index).line),
    ) as [string[], string[], string[]]
    let acknowledgedEnd: number
    using reader = new DisposableStack()
    {
      await using server = new SluiceProcess(data, { env: { SLUICE_CRASH_POINT: "after-commit:3" } })
      const app = new AppClient(await server.mustBeReady())
      await app.addRule("lighthouse")
      startLog(reader.use(new DatabaseSync(join(data, "sluice.db"))))
      for (const body of [first, second]) expect(await app.ingest(body)).toEqual({ accepted: bodyPosts, duplicates: 0 })
      acknowledgedEnd = statSync(logOf(data)).size
      await expect(app.tryIngest(last)).rejects.toThrow("fetch failed")
      expect((await server.ended()).errors).toContain("crash point after-commit\n")
    }
    const logEnd = statSync(logOf(data)).size
    expect(logEnd).toBeGreaterThan(acknowledgedEnd)

    let tornAway = 0
    for (let round = 0; round < rounds; round += 1) {
      const torn = join(directory.path, `torn-${round}`)
      cpSync(data, torn, { recursive: true })
      // A power cut leaves the index of the log, which is in memory, in any state.
      if (random() < 0.5) rmSync(join(torn, "sluice.db-shm"), { force: true })
      const way = tears[round % tears.length] as (typeof tears)[number]
      const at = acknowledgedEnd + Math.floor(random() * (logEnd - tornBytesMin - acknowledgedEnd))
      tear(logOf(torn), way, at, random)

      await using server = new SluiceProcess(torn)
      const app = new AppClient(await server.mustBeReady())
      expect(await app.ingest([...first, ...second]), way).toEqual({ accepted: 0, duplicates: 2 * bodyPosts })
      const { accepted, duplicates } = await app.ingest(last)
      // Stored completely or not at all.
      expect(
        [accepted, duplicates].toSorted((a, b) => a - b),
        way,
      ).toEqual([0, bodyPosts])
      expect(accepted > 0, way).toBe(way !== "followed by rubbish")
      if (accepted > 0) tornAway += 1
    }
    // The fault happened.
    expect(tornAway).toBeGreaterThan(0)
  },
)

/** Makes the log begin with the next write and only grow from there, since this connection is reading meanwhile. */
function startLog(db: DatabaseSync): void {
  db.exec("PRAGMA busy_timeout = 5000; PRAGMA wal_checkpoint(TRUNCATE); BEGIN; SELECT count(*) FROM posts")
}

function logOf(data: string): string {
  return join(data, "sluice.db-wal")
}

function tear(file: string, way: (typeof tears)[number], at: number, random: () => number): void {
  const { size } = statSync(file)
  const rubbish = (length: number): Buffer => Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)))
  const rubbishLength = 1 + Math.floor(random() * rubbishBytesMax)
  switch (way) {
    case "cut":
      truncateSync(file, at)
      return
    case "cut and followed by rubbish":
      truncateSync(file, at)
      put(file, at, rubbish(rubbishLength))
      return
    case "garbled":
      put(file, at, rubbish(size - at))
      return
    case "zeroed":
      put(file, at, Buffer.alloc(size - at))
      return
    case "followed by rubbish":
      put(file, size, rubbish(rubbishLength))
  }
}

function put(file: string, at: number, bytes: Buffer): void {
  const handle = openSync(file, "r+")
  writeSync(handle, bytes, 0, bytes.length, at)
  closeSync(handle)
}
