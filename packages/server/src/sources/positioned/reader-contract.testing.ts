/** The contract of a `RecordReader`, for each kind of source whose items have numbers. */
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import type { RecordReader } from "./positioned-source.ts"
import { driven } from "./reading.testing.ts"

/** A reader and the other side of it. */
export interface ReadSource extends AsyncDisposable {
  /** Makes a reader, as a process does that starts. */
  readonly reader: () => RecordReader | Promise<RecordReader>
  /** Has the other side give this many more items, whose cursors grow. */
  give(items: number): Promise<void>
  /** Cuts the connection, where there is one. */
  readonly cut?: () => void
}

/** Tests that readers of a kind keep the contract. `open` gives another side of its own. */
export function testReaders(kind: string, open: () => Promise<ReadSource>): void {
  test(`${kind}: a reader goes on behind a position, skips nothing, and reads on as more comes`, async () => {
    await using source = await open()
    await source.give(40)
    let cursors: number[]
    {
      await using first = driven(await source.reader())
      await expect.poll(() => first.lines.length).toBe(40)
      cursors = first.lines.map(({ cursor }) => Number(cursor))
      expect(cursors).toEqual(cursors.toSorted((a, b) => a - b))
      expect(first.connected).toHaveLength(1)
    }
    await using second = driven(await source.reader(), { position: String(cursors[24]) })
    await expect.poll(() => second.lines.length).toBe(15)
    expect(second.lines.map(({ cursor }) => Number(cursor))).toEqual(cursors.slice(25))
    await source.give(5)
    await expect.poll(() => second.lines.length).toBe(20)
    expect(second.failures).toEqual([])
  })

  test(`${kind}: a reader waits while the sink does, and ends while it waits`, async () => {
    await using source = await open()
    await source.give(1_000)
    const held = Promise.withResolvers<void>()
    let asked = 0
    const reader = driven(await source.reader(), {
      taken() {
        asked += 1
        return held.promise
      },
    })
    await expect.poll(() => asked).toBe(1)
    // One record at a time: a second one would be a fault, which a short wait shows.
    await sleep(50)
    expect(asked).toBe(1)
    const ended = reader[Symbol.asyncDispose]()
    held.resolve()
    await ended
    expect(asked).toBeLessThan(1_000)
  })

  test(`${kind}: a reader that has nothing to read ends soon`, async () => {
    await using source = await open()
    const reader = driven(await source.reader())
    await expect.poll(() => reader.connected.length).toBeGreaterThan(0)
    await reader[Symbol.asyncDispose]()
    expect(reader.failures).toEqual([])
  })

  test(`${kind}: a lost connection is a failure, behind which the next read goes on`, async ({ skip }) => {
    await using source = await open()
    const { cut } = source
    skip(cut === undefined, "There is no connection.")
    await source.give(10)
    await using reader = driven(await source.reader())
    await expect.poll(() => reader.lines.length).toBe(10)
    cut?.()
    await source.give(10)
    await expect.poll(() => reader.lines.length, { timeout: 20_000 }).toBe(20)
    const cursors = reader.lines.map(({ cursor }) => Number(cursor))
    expect(new Set(cursors).size).toBe(20)
    expect(reader.failures.length).toBeGreaterThan(0)
  })
}
