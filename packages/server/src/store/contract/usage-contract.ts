import { describe, expect, test } from "vitest"
import type { PostId } from "../../model/ids.ts"
import type { UsedPosts } from "../port/usage-store.ts"
import { app, large, other } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

const all = { fromDay: 0, toDay: 100 }

const used = (appId: UsedPosts["appId"], day: number, ...ids: readonly string[]): UsedPosts => ({
  appId,
  day,
  postIds: ids as readonly PostId[],
})

/** Every store's behaviour for usage, and for the limits of apps. */
export function usageContract(make: MakeStore): void {
  describe("usage and limits", () => {
    const { store, reopen, audit } = useStore(make)

    test("a post counts once for an app and a day, however often and in whichever part it comes", async () => {
      await store.countUsage([used(app, 10, "1", "2", "2"), used(other, 10, "1")])
      await store.countUsage([used(app, 10, "2", "3", ...large), used(app, 11, "3")])
      await reopen()
      await store.countUsage([used(app, 10, "1", large[1])])
      await store.countUsage([])
      expect(await store.usage(app, all)).toEqual([
        { day: 10, posts: 5 },
        { day: 11, posts: 1 },
      ])
      expect(await store.usage(app, { fromDay: 11, toDay: 11 })).toEqual([{ day: 11, posts: 1 }])
      expect(await store.usage(other, all)).toEqual([{ day: 10, posts: 1 }])
      expect((await audit()).damage).toEqual([])
    })

    test("counts that come at the same time count each post once", async () => {
      const ids = Array.from({ length: 200 }, (_, at) => String(at + 1))
      await Promise.all(Array.from({ length: 8 }, () => store.countUsage([used(app, 10, ...ids)])))
      expect(await store.usage(app, all)).toEqual([{ day: 10, posts: 200 }])
    })

    test("retention forgets posts in parts and then old days, and keeps the numbers of the others", async () => {
      await store.countUsage([used(app, 3, "1"), used(app, 9, "1", "2", "3"), used(app, 10, "4")])
      const options = { beforeDay: 5, postsBeforeDay: 10, limit: 3 }
      expect(await store.trimUsage(options)).toBe(false)
      expect(await store.trimUsage(options)).toBe(true)
      expect(await store.usage(app, all)).toEqual([
        { day: 9, posts: 3 },
        { day: 10, posts: 1 },
      ])
      await store.countUsage([used(app, 10, "4")])
      expect(await store.usage(app, { fromDay: 10, toDay: 10 })).toEqual([{ day: 10, posts: 1 }])
    })

    test("what is set for an app is read with it, until it is taken back, and stays when its secrets change", async () => {
      const limits = { rules: 7, requests: { "GET /2/tweets": { app: 3 } }, has_credits: false }
      expect(await store.setAppLimits(app, limits)).toBe(true)
      await reopen()
      expect((await store.app(app))?.limits).toEqual(limits)
      expect((await store.app(other))?.limits).toBeUndefined()
      const found = await store.app(app)
      if (found !== undefined) await store.rotateApp({ ...found, consumerKey: "new", generation: 2 }, [])
      expect((await store.app(app))?.limits).toEqual(limits)
      expect(await store.setAppLimits(app, undefined)).toBe(true)
      expect(await store.app(app)).not.toHaveProperty("limits")
      await store.revokeApp(app)
      expect(await store.setAppLimits(app, limits)).toBe(false)
      expect((await audit()).damage).toEqual([])
    })
  })
}
