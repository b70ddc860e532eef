import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../../../test/support/temporary-directory.testing.ts"
import { createManualClock } from "../../../runtime/manual-clock.testing.ts"
import { openForWriting } from "../connection/database.ts"
import { createSessionReads, createSessionWrites } from "./sessions.ts"

const hourMs = 3_600_000

test("at most 100,000 sign-outs are remembered in the end, and at most 5,000 are forgotten in a minute", async () => {
  await using directory = await temporaryDirectory()
  using db = openForWriting(join(directory.path, "store.db"))
  const clock = createManualClock(1_000 * hourMs)
  const { endSession } = createSessionWrites(db, { clock })
  const { isSessionEnded } = createSessionReads(db)
  const count = db.prepare("SELECT count(*) AS ended FROM ended_sessions")
  const remembered = (): unknown => count.get()?.["ended"]
  const lasting = randomBytes(32)
  const first = randomBytes(32)
  db.exec("BEGIN")
  endSession(first, clock.nowMs() + hourMs)
  endSession(lasting, clock.nowMs() + 12 * hourMs)
  for (let index = 2; index < 107_000; index += 1) endSession(randomBytes(32), clock.nowMs() + 2 * hourMs)
  expect(remembered()).toBe(107_000)
  await clock.advance(60_000)
  endSession(randomBytes(32), clock.nowMs() + 2 * hourMs)
  expect(remembered()).toBe(102_001)
  await clock.advance(60_000)
  endSession(randomBytes(32), clock.nowMs() + 2 * hourMs)
  expect(remembered()).toBe(100_000)
  expect([isSessionEnded(first), isSessionEnded(lasting)]).toEqual([false, true])
  db.exec("COMMIT")
})
