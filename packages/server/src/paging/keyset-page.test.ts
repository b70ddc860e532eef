import fc from "fast-check"
import { beforeEach, expect, test } from "vitest"
import type { AppId } from "../model/ids.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import type { KeysetRange } from "../store/keyset-range.ts"
import { keysetPage, scannedPage, type KeysetPage, type Scan } from "./keyset-page.ts"
import { createPageTokens } from "./page-token.ts"

const tokens = createPageTokens({ key: new Uint8Array(32), lifetimeMs: 0, clock: createManualClock() })
const scope = { endpoint: "/list", appId: "1" as AppId, parameters: "" }

interface Item {
  readonly id: string
}

/** A list of numbers, paged in the obvious way. */
class List {
  readonly #ids = new Set<number>()
  reads = 0

  insert(...ids: readonly number[]): void {
    for (const id of ids) this.#ids.add(id)
  }

  delete(...ids: readonly number[]): void {
    for (const id of ids) this.#ids.delete(id)
  }

  /** Newest first. */
  get all(): number[] {
    return [...this.#ids].toSorted((a, b) => b - a)
  }

  /** Looks at `scanMax` items at most and takes those that `isTaken`. */
  scan({ direction, from, limit }: KeysetRange<string>, isTaken: (id: number) => boolean, scanMax: number): Scan<Item> {
    this.reads += 1
    const isOlder = direction === "older"
    const way = isOlder ? this.all : this.all.toReversed()
    const ahead = from === undefined ? way : way.filter((id) => (isOlder ? id < Number(from) : id > Number(from)))
    const items: number[] = []
    let looked = 0
    while (looked < Math.min(scanMax, ahead.length) && items.length < limit) {
      const id = ahead[looked] ?? 0
      if (isTaken(id)) items.push(id)
      looked += 1
    }
    const last = ahead[looked - 1]
    return {
      items: (isOlder ? items : items.toReversed()).map((id) => ({ id: String(id) })),
      ...(looked < ahead.length && last !== undefined && { stoppedAt: String(last) }),
    }
  }
}

let list: List

beforeEach(() => {
  list = new List()
})

async function numbers(made: Promise<KeysetPage<Item>>): Promise<KeysetPage<number>> {
  const { items, meta } = await made
  return { items: items.map(({ id }) => Number(id)), meta }
}

function page(token: string | undefined, limit = 5): Promise<KeysetPage<number>> {
  return numbers(
    keysetPage({
      tokens,
      scope,
      token,
      limit,
      read: async (range) => list.scan(range, () => true, Infinity).items,
    }),
  )
}

const isEven = (id: number): boolean => id % 2 === 0

/** A page of the even ones. */
function evenPage(token: string | undefined, scanMax: number, limit = 5): Promise<KeysetPage<number>> {
  return numbers(
    scannedPage({
      tokens,
      scope,
      token,
      limit,
      scan: async (range) => {
        const found = list.scan(range, isEven, scanMax)
        return { ...found, items: found.items }
      },
    }),
  )
}

test("an empty list is one page without tokens", async () => {
  expect(await page(undefined)).toEqual({ items: [], meta: { result_count: 0 } })
})

test.each([
  [4, false],
  [5, false],
  [6, true],
])("a first page of 5 out of %i has a next token: %s", async (count, hasNext) => {
  list.insert(...Array.from({ length: count }, (_, n) => n + 1))
  const { items, meta } = await page(undefined)
  expect(items).toHaveLength(Math.min(count, 5))
  expect(Object.keys(meta)).toEqual(hasNext ? ["result_count", "next_token"] : ["result_count"])
})

test("a page costs one read at any depth", async () => {
  list.insert(...Array.from({ length: 50 }, (_, n) => n + 1))
  const first = await page(undefined)
  const second = await page(first.meta.next_token)
  await page(second.meta.next_token)
  expect(list.reads).toBe(3)
})

test("the previous page ends where this one begins, whatever was inserted", async () => {
  list.insert(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
  const first = await page(undefined)
  const second = await page(first.meta.next_token)
  expect(second.items).toEqual([5, 4, 3, 2, 1])
  list.insert(11, 12, 13)
  const back = await page(second.meta.previous_token)
  expect(back.items).toEqual([10, 9, 8, 7, 6])
  const top = await page(back.meta.previous_token)
  expect(top.items).toEqual([13, 12, 11])
  expect(top.meta).not.toHaveProperty("previous_token")
  expect((await page(top.meta.next_token)).items).toEqual([10, 9, 8, 7, 6])
})

test("a page that was reached on the way back has a next token exactly when older items are left", async () => {
  list.insert(1, 2, 3, 4, 5, 6, 7)
  const second = await page((await page(undefined)).meta.next_token)
  const back = await page(second.meta.previous_token)
  expect((await page(back.meta.next_token)).items).toEqual([2, 1])
  list.delete(1, 2)
  expect((await page(second.meta.previous_token)).meta).toEqual({ result_count: 5 })
})

test("the page size may change from page to page", async () => {
  list.insert(1, 2, 3, 4, 5, 6, 7, 8, 9)
  const first = await page(undefined, 2)
  const second = await page(first.meta.next_token, 4)
  expect([...first.items, ...second.items]).toEqual([9, 8, 7, 6, 5, 4])
  expect((await page(second.meta.previous_token, 1)).items).toEqual([8])
})

test("a scan that stops early leaves a short or empty page with tokens in both directions", async () => {
  list.insert(1, 3, 5, 7, 8, 9, 11, 13)
  const first = await evenPage(undefined, 3)
  expect(first.items).toEqual([])
  expect(Object.keys(first.meta)).toEqual(["result_count", "next_token"])
  const second = await evenPage(first.meta.next_token, 3)
  expect(second.items).toEqual([8])
  const third = await evenPage(second.meta.next_token, 3)
  expect(third.items).toEqual([])
  expect(Object.keys(third.meta), "the list ends with this page").toEqual(["result_count", "previous_token"])
  list.insert(14, 4)
  expect((await evenPage(third.meta.previous_token, 3)).items, "what lies above the empty page").toEqual([8])
})

test("an empty page on the way back leads to the items above it, and down again", async () => {
  list.insert(2, 3, 5, 7, 9, 10)
  const second = await evenPage((await evenPage(undefined, 3)).meta.next_token, 3)
  expect(second.items).toEqual([2])
  const back = await evenPage(second.meta.previous_token, 3)
  expect(back.items).toEqual([])
  expect((await evenPage(back.meta.next_token, 3)).items).toEqual([2])
  expect((await evenPage(back.meta.previous_token, 3)).items).toEqual([10])
})

const newIds = fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { maxLength: 40, size: "max" })

test("paging down and back up shows every original item once, in order, whatever is inserted meanwhile", async () => {
  await fc.assert(
    fc.asyncProperty(
      newIds,
      fc.array(newIds, { maxLength: 12 }),
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 2, max: 12 }),
      async (before, insertions, limit, scanMax) => {
        list = new List()
        list.insert(...before)
        const there = list.all.filter(isEven)
        const isNews = new Set<number>()
        const insertMore = (): void => {
          const ids = (insertions.pop() ?? []).filter((id) => !list.all.includes(id))
          for (const id of ids) isNews.add(id)
          list.insert(...ids)
        }

        const down: number[] = []
        let last = await evenPage(undefined, scanMax, limit)
        down.push(...last.items)
        while (last.meta.next_token !== undefined) {
          insertMore()
          last = await evenPage(last.meta.next_token, scanMax, limit)
          down.push(...last.items)
        }
        expect(down).toEqual(down.toSorted((a, b) => b - a))
        expect(new Set(down).size).toBe(down.length)
        expect(down.filter((id) => !isNews.has(id))).toEqual(there)

        const up: number[] = [...last.items]
        while (last.meta.previous_token !== undefined) {
          insertMore()
          last = await evenPage(last.meta.previous_token, scanMax, limit)
          up.unshift(...last.items)
        }
        expect(up).toEqual(up.toSorted((a, b) => b - a))
        expect(new Set(up).size).toBe(up.length)
        expect(up.filter((id) => !isNews.has(id))).toEqual(there)
      },
    ),
    { numRuns: 300 },
  )
})
