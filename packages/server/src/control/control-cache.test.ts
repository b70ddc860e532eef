import { expect, test } from "vitest"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import type { StoreChange } from "../store/store.ts"
import { ControlCache } from "./control-cache.ts"

/** A cache whose reads end when the test ends them. */
function cacheUnderTest() {
  const listeners: ((change: StoreChange) => void)[] = []
  const onChange = (listener: (change: StoreChange) => void): (() => void) => {
    listeners.push(listener)
    return () => undefined
  }
  const clock = createManualClock()
  const cache = new ControlCache<string>({ onChange }, clock)
  const reads: PromiseWithResolvers<string | undefined>[] = []
  const get = (): Promise<string | undefined> =>
    cache.get("key", () => {
      const read = Promise.withResolvers<string | undefined>()
      reads.push(read)
      return read.promise
    })
  const change = (): void => listeners.forEach((listener) => listener({ kind: "control" }))
  return { clock, reads, get, change }
}

test("callers that come while a value is being read share that read", async () => {
  const { clock, reads, get } = cacheUnderTest()
  const asked = [get(), get(), get()]
  expect(reads).toHaveLength(1)
  reads[0]?.resolve("a")
  expect(await Promise.all(asked)).toEqual(["a", "a", "a"])
  expect(await get()).toBe("a")
  expect(reads).toHaveLength(1)
  await clock.advance(1_000)
  void get()
  expect(reads).toHaveLength(2)
})

test("a value that is being read when a change is announced is only for the callers before it", async () => {
  const { reads, get, change } = cacheUnderTest()
  const before = get()
  change()
  const after = get()
  expect(reads).toHaveLength(2)
  reads[1]?.resolve("new")
  expect(await after).toBe("new")
  reads[0]?.resolve("old")
  expect(await before).toBe("old")
  expect(await get()).toBe("new")
})

test("a read that fails is retried for the next callers", async () => {
  const { reads, get } = cacheUnderTest()
  const asked = [get(), get()]
  reads[0]?.reject(new Error("the disk"))
  expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual(["rejected", "rejected"])
  const again = get()
  expect(reads).toHaveLength(2)
  reads[1]?.resolve("a")
  expect(await again).toBe("a")
})
