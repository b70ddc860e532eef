import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { systemClock } from "../runtime/clock.ts"
import { openTestedStore } from "../store/tested-store.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { pausable } from "./pausable-source.ts"

test("a source of a broker ends while it is paused, begins again when it is resumed, and ends for good", async () => {
  await using directory = await temporaryDirectory()
  await using store = await openTestedStore(directory.path)
  const runs: string[] = []
  const source = {
    async run(signal: AbortSignal): Promise<void> {
      runs.push("begun")
      await systemClock.sleep(60_000, signal)
      runs.push("ended")
    },
  }
  const closing = new AbortController()
  const running = pausable("pond", source, { store, clock: systemClock }).run(closing.signal)
  await expect.poll(() => runs).toEqual(["begun"])
  await store.pauseSource("another", true)
  await store.pauseSource("pond", true)
  await expect.poll(() => runs).toEqual(["begun", "ended"])
  await sleep(100)
  expect(runs).toEqual(["begun", "ended"])
  await store.pauseSource("pond", false)
  await expect.poll(() => runs).toEqual(["begun", "ended", "begun"])
  closing.abort()
  await running
  expect(runs).toEqual(["begun", "ended", "begun", "ended"])
})
