import { expect, test, vi } from "vitest"
import { FlatInts } from "./flat-ints.ts"

test("an array keeps its content while it grows, copied at first and in place later", () => {
  const array = new FlatInts()
  const count = 1_500_000
  let replaced = 0
  for (let index = 0; index < count; index++) {
    const before = array.ints
    array.set(index, ~index)
    if (array.ints !== before) replaced++
  }
  expect(array.ints.length).toBeGreaterThanOrEqual(count)
  let wrong = 0
  for (let index = 0; index < count; index++) if (array.get(index) !== ~index) wrong++
  expect(wrong).toBe(0)
  expect(array.get(count + 1_000_000)).toBe(0)
  // In place it grows by little at a time, and not to twice its length.
  expect(array.ints.length).toBeLessThan(count * 1.2)
  expect(replaced).toBeLessThan(30)
})

test("an index far beyond the end makes zeros between, and a cleared array is empty and usable", () => {
  const array = new FlatInts()
  array.set(3, 7)
  array.set(1_000_000, 8)
  expect([array.get(3), array.get(4), array.get(999_999), array.get(1_000_000)]).toEqual([7, 0, 0, 8])
  array.clear()
  expect([array.ints.length, array.get(3)]).toEqual([0, 0])
  array.set(1, 9)
  expect([array.get(0), array.get(1)]).toEqual([0, 9])
})

test("where no addresses can be reserved, an array is copied when it grows", () => {
  const Memory = vi.fn<() => void>(function refuse() {
    throw new RangeError("could not allocate memory")
  })
  vi.stubGlobal("WebAssembly", { Memory })
  try {
    const array = new FlatInts()
    for (let index = 0; index < 600_000; index++) array.set(index, ~index)
    expect(Memory).toHaveBeenCalledTimes(2)
    expect([array.get(0), array.get(262_144), array.get(599_999)]).toEqual([~0, ~262_144, ~599_999])
  } finally {
    vi.unstubAllGlobals()
  }
})
