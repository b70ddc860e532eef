import { expect, test } from "vitest"
import { HeldPages } from "./held-pages.ts"

const never = new AbortController().signal

test("one app holds four pages of unknown size, and another app does not wait for them", async () => {
  const pages = new HeldPages()
  let held = 0
  const holding = Array.from({ length: 100 }, async () => {
    const page = await pages.hold("a", never)
    held += 1
    return page
  })
  await Promise.all(holding.slice(0, 4))
  expect([held, pages.bytes]).toEqual([4, 8_388_608])
  const other = await pages.hold("b", never)
  other.resize(100)
  expect(pages.bytes).toBe(8_388_708)
})

test("pages of all apps together hold 64 MiB at most", async () => {
  const pages = new HeldPages()
  for (let app = 0; app < 100; app += 1) void pages.hold(`app ${app}`, never)
  expect(pages.bytes).toBe(67_108_864)
})

test("beyond a thousand pages of an app that wait, one more is refused", async () => {
  const pages = new HeldPages()
  for (let at = 0; at < 1_004; at += 1) void pages.hold("a", never)
  await expect(pages.hold("a", never)).rejects.toMatchObject({ status: 503 })
})
