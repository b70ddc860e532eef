import { describe, expect, test } from "vitest"
import type { LinkId } from "../../model/ids.ts"
import { FairRedelivery, fewestRetriesFirst, oldestFirst } from "./fair-redelivery.ts"
import { RetryRoom } from "./retry-room.ts"

const mebibyte = 1_048_576
const [one, two] = ["1", "2"] as LinkId[]

describe("the room of a link", () => {
  test("is a thousand retries with 16 MiB together", () => {
    const room = new RetryRoom(998, 15 * mebibyte)
    expect([room.take(mebibyte), room.left, room.take(1), room.take(0), room.left, room.take(0)]).toEqual([
      true,
      1,
      false,
      true,
      0,
      false,
    ])
  })

  test("is always enough for one match, whatever its size, and not for a second one then", () => {
    const room = new RetryRoom(0, 0)
    expect([room.take(17 * mebibyte), room.take(1)]).toEqual([true, false])
  })

  test("needs the bytes of retries neither when there are none nor when there are too many", () => {
    expect([0, 1, 999, 1_000].map((retries) => RetryRoom.needsBytes(retries))).toEqual([false, true, true, false])
  })
})

describe("dead letters of many links", () => {
  test("come with the link that has the fewest retries first, and of each link with the oldest", () => {
    const links = [
      ["9", 3],
      ["10", 1],
      ["2", 3],
    ].map(([id, retries]) => ({ id: id as LinkId, retries: Number(retries) }))
    expect(links.toSorted(fewestRetriesFirst).map(({ id }) => id)).toEqual(["10", "2", "9"])
    const dead = [
      ["9", 3],
      ["10", 1],
      ["2", 3],
    ].map(([id, atMs]) => ({ id: String(id), deadLetteredAtMs: Number(atMs) }))
    expect(dead.toSorted(oldestFirst).map(({ id }) => id)).toEqual(["10", "2", "9"])
  })

  test("a younger one never replaces an older one for which there is no room", () => {
    const fair = new FairRedelivery()
    const room = new RetryRoom(1, 15 * mebibyte)
    expect([fair.take(one!, room, 2 * mebibyte), fair.take(one!, room, 1)]).toEqual([false, false])
    expect(fair.take(two!, new RetryRoom(0, 0), 1)).toBe(true)
  })

  test("ten thousand become retries at once, and no link begins after them", () => {
    const fair = new FairRedelivery()
    const taken = Array.from({ length: 10_002 }, (_, index) =>
      fair.take(String(index) as LinkId, new RetryRoom(0, 0), 1),
    )
    expect(taken.filter(Boolean)).toHaveLength(10_000)
    expect([fair.left, fair.begin(0)]).toEqual([0, false])
  })

  test("no link begins once the retries of those before it are more than are summed up", () => {
    const fair = new FairRedelivery()
    const begun = Array.from({ length: 25 }, () => fair.begin(999))
    expect(begun.filter(Boolean)).toHaveLength(21)
  })
})
