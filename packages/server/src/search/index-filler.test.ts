import { EarlierPosts } from "@sluice/rules"
import { expect, test } from "vitest"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import type { ArrivalPosition } from "../store/port/arrival-store.ts"
import type { Deletion } from "../model/deletion.ts"
import type { PostId } from "../model/ids.ts"
import { IndexFiller, type FillerDeps } from "./index-filler.ts"

/** A clock that the steps move. */
type FillerClock = FillerDeps["clock"] & { advance(ms: number): Promise<void> }

/** A filler of posts that never end unless a number says so, of which a step takes so long; and what it has done. */
function fillerOf(
  stepMs: number,
  {
    clock = createManualClock(),
    deletions = [],
    isBehindOthers = false,
    stepsMax = Infinity,
    compactions = 0,
  }: {
    clock?: FillerClock
    deletions?: readonly Deletion[]
    isBehindOthers?: boolean
    stepsMax?: number
    compactions?: number
  } = {},
) {
  const taken = { steps: 0, erasures: 0, compactions: 0 }
  const filler = new IndexFiller({
    postRetentionMs: 0,
    clock,
    isBehindOthers,
    earlier: new EarlierPosts(),
    pause: () => undefined,
    failed: (error) => expect.fail(String(error)),
    store: {
      postsById: () => expect.fail("No post shows a deleted one."),
      deletions: async ({ after }) => deletions.filter(({ seq }) => seq > after),
      deletionsAt: async () => [],
      async arrivedPosts() {
        if (taken.steps === stepsMax) return { posts: [], damaged: [] }
        const id = String(taken.steps) as PostId
        return {
          posts: [{ id, json: JSON.stringify({ data: { id, text: "cat" } }) }],
          damaged: [],
          position: at(taken.steps),
        }
      },
    },
    index: {
      position: async () => at(taken.steps),
      async add() {
        taken.steps += 1
        await clock.advance(stepMs)
      },
      find: async () => [],
      remove: async () => undefined,
      replace: async () => undefined,
      async eraseRemoved() {
        taken.erasures += 1
      },
      async compact() {
        taken.compactions += 1
        await clock.advance(stepMs)
        return taken.compactions < compactions
      },
    },
  })
  return { filler, taken }
}

function at(position: number): ArrivalPosition {
  return String(position) as ArrivalPosition
}

test("a search waits 50 ms for the index to catch up, and for the end of the step that has begun", async () => {
  for (const [stepMs, steps] of [
    [10, 5],
    [20, 3],
    [200, 1],
  ] as const) {
    const { filler, taken } = fillerOf(stepMs)
    await filler.catchUp()
    expect(taken.steps).toBe(steps)
  }
})

/** A minute of which each step and each rest takes its part, and the signal of its end. */
function aMinute(): { readonly clock: FillerClock; readonly over: AbortSignal } {
  const over = new AbortController()
  let nowMs = 0
  const advance = async (ms: number): Promise<void> => {
    nowMs += ms
    if (nowMs > 60_000) over.abort()
  }
  return { clock: { nowMs: () => nowMs, monotonicMs: () => nowMs, sleep: advance, advance }, over: over.signal }
}

test("while posts arrive without a pause, the files are cleared of deleted ones within 30 s, and not again", async () => {
  const { clock, over } = aMinute()
  const deleted: Deletion = { seq: 1, kind: "post", id: "9" as PostId, atMs: 0 }
  const { filler, taken } = fillerOf(100, { clock, deletions: [deleted] })
  await filler.run(over)
  expect(taken).toMatchObject({ steps: 190, erasures: 1 })
})

test("while posts arrive without a pause, every sixteenth step is followed by one that compacts", async () => {
  const { clock, over } = aMinute()
  const { filler, taken } = fillerOf(100, { clock, compactions: Infinity })
  await filler.run(over)
  // 16 steps and a compaction take 5.1 s with their rests.
  expect(taken).toEqual({ steps: 190, erasures: 0, compactions: 11 })
})

test("a filler rests for two of its steps, and behind others for a fifth of one", async () => {
  for (const [isBehindOthers, steps] of [
    [false, 190],
    [true, 470],
  ] as const) {
    const { clock, over } = aMinute()
    const { filler, taken } = fillerOf(100, { clock, isBehindOthers })
    await filler.run(over)
    expect(taken.steps).toBeCloseTo(steps, -1)
  }
})

test("once all posts are added, a filler compacts the index step by step, and looks for posts between any two", async () => {
  const { clock, over } = aMinute()
  const { filler, taken } = fillerOf(100, { clock, stepsMax: 3, compactions: 40 })
  await filler.run(over)
  // 3 steps and 40 compactions take 300 ms each with their rests; then it polls each 500 ms, and finds nothing to do.
  expect(taken).toEqual({ steps: 3, erasures: 0, compactions: expect.closeTo(39 + (60_000 - 12_900) / 600, -1) })
})
