import { beforeEach, expect, test, vi } from "vitest"
import { createManualClock, type ManualClock } from "../runtime/manual-clock.testing.ts"
import type { StoreChange } from "../store/store.ts"
import { ControlWatch } from "./control-watch.ts"

let clock: ManualClock
let version: number
let hint: (change: StoreChange) => void
let watch: ControlWatch
const failed = vi.fn<(event: { where: string; error: unknown }) => void>()
const reconcile = vi.fn<(signal: AbortSignal) => Promise<void>>(() => Promise.resolve())
const stopping = new AbortController()

beforeEach(async () => {
  vi.clearAllMocks()
  clock = createManualClock()
  version = 1
  const store = {
    controlVersion: () => Promise.resolve(version),
    onChange: (listener: (change: StoreChange) => void) => {
      hint = listener
      return () => undefined
    },
  }
  watch = new ControlWatch("a reader", reconcile, { store, clock, events: { failed } })
  void watch.run(stopping.signal)
  await clock.advance(0)
})

/** Changes control data, with a hint or without. */
async function change({ isHinted }: { isHinted: boolean }): Promise<void> {
  version += 1
  if (isHinted) hint({ kind: "control" })
  await clock.advance(0)
}

test("it reconciles when it starts, and not again while nothing changes", async () => {
  expect(reconcile).toHaveBeenCalledTimes(1)
  await clock.advance(60_000)
  expect(reconcile).toHaveBeenCalledTimes(1)
})

test("a hint of a control change causes a reconcile at once", async () => {
  await change({ isHinted: true })
  expect(reconcile).toHaveBeenCalledTimes(2)
})

test("a change whose hint is lost causes a reconcile within 10 s", async () => {
  await change({ isHinted: false })
  await clock.advance(9_999)
  expect(reconcile).toHaveBeenCalledTimes(1)
  await clock.advance(1)
  expect(reconcile).toHaveBeenCalledTimes(2)
})

test("a reconcile that fails is reported, and repeated after a second", async () => {
  reconcile.mockRejectedValueOnce(new Error("disk"))
  await change({ isHinted: true })
  expect(failed).toHaveBeenCalledExactlyOnceWith({ where: "a reader", error: new Error("disk") })
  await clock.advance(999)
  expect(reconcile).toHaveBeenCalledTimes(2)
  await clock.advance(1)
  expect(reconcile).toHaveBeenCalledTimes(3)
})

test("a requested reconcile runs even if nothing has changed, also when it is requested during another", async () => {
  watch.requestReconcile()
  await clock.advance(0)
  expect(reconcile).toHaveBeenCalledTimes(2)
  const { promise, resolve } = Promise.withResolvers<void>()
  reconcile.mockReturnValueOnce(promise)
  await change({ isHinted: true })
  watch.requestReconcile()
  resolve()
  await clock.advance(0)
  expect(reconcile).toHaveBeenCalledTimes(4)
})

test("after a long reconcile it pauses four times as long, however many changes come", async () => {
  reconcile.mockImplementationOnce(async (signal) => clock.sleep(100, signal))
  await change({ isHinted: true })
  await clock.advance(100)
  await change({ isHinted: true })
  await clock.advance(399)
  expect(reconcile).toHaveBeenCalledTimes(2)
  await clock.advance(1)
  expect(reconcile).toHaveBeenCalledTimes(3)
})

test("after a reconcile of a minute it pauses ten seconds", async () => {
  reconcile.mockImplementationOnce(async (signal) => clock.sleep(60_000, signal))
  await change({ isHinted: true })
  await clock.advance(60_000)
  await change({ isHinted: true })
  await clock.advance(9_999)
  expect(reconcile).toHaveBeenCalledTimes(2)
  await clock.advance(1)
  expect(reconcile).toHaveBeenCalledTimes(3)
})
