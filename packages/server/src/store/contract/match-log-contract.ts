import { describe, expect, test } from "vitest"
import type { AppId, MatchSeq } from "../../model/ids.ts"
import type { PostShape } from "../../model/post.ts"
import { app, other, large, aPost, aMatch, positions } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

/** Every store's behaviour for match logs. */
export function matchLogContract(make: MakeStore): void {
  describe("match logs", () => {
    const { store, reopen } = useStore(make)

    test("matches are numbered from 1 without gaps, for each app by itself", async () => {
      const accepted = await store.append(
        [
          { post: aPost(large[1]), matches: [aMatch(app, "1"), aMatch(other, "2", "3")] },
          { post: aPost("2"), matches: [] },
          { post: aPost("3"), matches: [aMatch(app, "1")] },
        ],
        50,
      )
      await reopen()
      await store.append([{ post: aPost("4"), matches: [aMatch(app, "1")] }], 60)
      expect(accepted).toEqual([true, true, true])
      expect(await positions(store, app)).toEqual([
        [1, large[1]],
        [2, "3"],
        [3, "4"],
      ])
      expect(await positions(store, app, 1, 1)).toEqual([[2, "3"]])
      expect(await positions(store, app, 3)).toEqual([])
      expect(await store.head(app)).toBe(3)
      expect(await store.head("300" as AppId)).toBe(0)
      const [entry] = await store.matches({
        appId: other,
        after: 0 as MatchSeq,
        limit: 1,
        bytesMax: 1_000_000,
        shape: "envelope",
      })
      expect(entry).toEqual({
        seq: 1,
        postId: large[1],
        atMs: 50,
        rulesJson: '[{"id":"2","tag":""},{"id":"3","tag":""}]',
        postJson: `{"data":{"id":"${large[1]}"},"whole":true}`,
      })
    })

    test("a read of a log ends with the entry that reaches its bytes, of post and rules, or exceeds them", async () => {
      const posts = ["1", "2", "3", "4"].map((id) => aPost(id, "7", { core: "ä".repeat(50), envelope: id }))
      await store.append(
        posts.map((post) => ({ post, matches: [aMatch(app, "1")] })),
        1,
      )
      const read = async (bytesMax: number, after = 0, shape: PostShape = "core") => {
        const entries = await store.matches({
          appId: app,
          after: after as MatchSeq,
          limit: 3,
          bytesMax,
          shape,
        })
        return entries.map(({ seq }) => seq)
      }
      // An entry has a hundred bytes of post and 21 of rules.
      expect(await read(0)).toEqual([1])
      expect(await read(121)).toEqual([1])
      expect(await read(122)).toEqual([1, 2])
      expect(await read(242, 2)).toEqual([3, 4])
      expect(await read(1_000)).toEqual([1, 2, 3])
      expect(await read(23, 0, "envelope")).toEqual([1, 2])
      expect(await read(1, 4)).toEqual([])
    })

    test("the number of rules that a match does not name is kept with it", async () => {
      const matches = [{ ...aMatch(app, "1", "2"), omitted: 24_998 }, aMatch(other, "3")]
      await store.append([{ post: aPost("1"), matches }], 1)
      await reopen()
      const of = { after: 0 as MatchSeq, limit: 1, bytesMax: 1_000, shape: "core" } as const
      expect(await store.matches({ appId: app, ...of })).toMatchObject([
        { rulesJson: '[{"id":"1","tag":""},{"id":"2","tag":""}]', rulesOmitted: 24_998 },
      ])
      const [entry] = await store.matches({ appId: other, ...of })
      expect(entry).toMatchObject({ rulesJson: '[{"id":"3","tag":""}]' })
      expect(entry).not.toHaveProperty("rulesOmitted")
    })

    test("concurrent appends neither lose nor double an entry", async () => {
      const ids = Array.from({ length: 200 }, (_, index) => String(index + 1))
      await Promise.all(ids.map((id) => store.append([{ post: aPost(id), matches: [aMatch(app, "1")] }], 1)))
      const entries = await positions(store, app, 0, 1000)
      expect(entries.map(([seq]) => seq)).toEqual(ids.map(Number))
      expect(new Set(entries.map(([, id]) => id)).size).toBe(200)
    })

    test("the position at a time is before everything appended from then on", async () => {
      for (const [id, atMs] of [
        ["1", 10],
        ["2", 20],
        ["3", 20],
        ["4", 30],
      ] as const) {
        await store.append([{ post: aPost(id), matches: [aMatch(app, "1")] }], atMs)
      }
      const found = await Promise.all([0, 10, 11, 20, 21, 30, 31].map((atMs) => store.positionAt(app, atMs)))
      expect(found).toEqual([0, 0, 1, 1, 3, 3, 4])
      expect(await store.positionAt(other, 0)).toBe(0)
    })

    test("the heads are those of all logs that are not empty", async () => {
      expect(await store.heads()).toEqual(new Map())
      for (const id of ["1", "2"]) await store.append([{ post: aPost(id), matches: [aMatch(app, "5")] }], 1)
      await store.append([{ post: aPost("3"), matches: [aMatch(app, "5"), aMatch(other, "5")] }], 3)
      expect(await store.heads()).toEqual(
        new Map([
          [app, 3],
          [other, 1],
        ]),
      )
    })
  })
}
