import { expect, test } from "vitest"
import { PostBatches, type SourceNotes } from "./post-batches.ts"

test("a position alone is saved once a second, also while the clock goes back", async () => {
  let [nowMs, monotonicMs] = [Date.UTC(2026, 2, 14), 0]
  const saved: (string | undefined)[] = []
  const batches = new PostBatches(
    {
      store: { append: () => expect.unreachable(), delete: () => expect.unreachable() },
      sourceAppend: async (_posts, { position }: SourceNotes) => {
        saved.push(position)
        return []
      },
      ruleMatchCounts: { note: () => undefined },
      clock: { nowMs: () => nowMs, monotonicMs: () => monotonicMs },
    },
    { appending: () => undefined, appended: () => undefined, failed: expect.unreachable },
    () => false,
  )
  const move = async (position: string): Promise<void> => {
    batches.ignore()
    batches.moveTo(position, undefined)
    await batches.flushWhenFree()
    await batches.free()
  }
  await move("1")
  await move("2")
  monotonicMs += 1_000
  nowMs -= 3_600_000
  await move("3")
  expect(saved).toEqual(["1", "3"])
})
