import { EarlierPosts } from "@sluice/rules"
import { expect, test } from "vitest"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import type { ArrivalPosition } from "../store/port/arrival-store.ts"
import type { PostId } from "../model/ids.ts"
import { IndexFiller } from "./index-filler.ts"

/** A filler of posts that never end, of which a step takes so long; and the steps that it has taken. */
function fillerOf(stepMs: number) {
  const clock = createManualClock()
  const taken = { steps: 0 }
  const filler = new IndexFiller({
    clock,
    earlier: new EarlierPosts(),
    pause: () => undefined,
    failed: (error) => expect.fail(String(error)),
    store: {
      postsById: () => expect.fail("No post was deleted."),
      deletions: async () => [],
      deletionsAt: async () => [],
      async arrivedPosts() {
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
      eraseRemoved: async () => undefined,
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
