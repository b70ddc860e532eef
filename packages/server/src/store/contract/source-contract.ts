import { describe, expect, test } from "vitest"
import type { PostId, UserId } from "../../model/ids.ts"
import type { AcceptedPost } from "../../model/post.ts"
import type { SourceDeadLetter, StoredSourceGap, SourceProgress } from "../../model/source.ts"
import { sourceDeadLetterBytesMax, sourceGapsMax } from "../bounds.ts"
import type { Store } from "../store.ts"
import { aMatch, aPost, app } from "./fixtures.ts"
import { type MakeStore, useStore } from "./store-under-test.ts"

const uuidOf = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`

/** A post whose envelope has a name. */
function named(id: string, name: string): AcceptedPost {
  return { ...aPost(id), envelope: Buffer.from(JSON.stringify({ data: { id, text: "a", source_uri: name } })) }
}

function aLetter(number: number, more: Partial<SourceDeadLetter> = {}): SourceDeadLetter {
  const record = new Uint8Array([0, 255, number % 256])
  return { id: uuidOf(number), source: "sky", atMs: 5, title: "Invalid JSON", detail: "At 1.", record, ...more }
}

function aGap(number: number, more: Partial<StoredSourceGap> = {}): StoredSourceGap {
  return { id: uuidOf(number), source: "sky", reason: "The position was too old.", notedAtMs: number, ...more }
}

/** Every store's behaviour for sources. */
export function sourceContract(make: MakeStore): void {
  describe("sources", () => {
    const { store, reopen, audit } = useStore(make)

    type Given = Partial<SourceProgress> & { readonly posts?: readonly AcceptedPost[] }

    /** Appends posts of the source "sky", each under the name in its envelope. */
    async function appendFrom({ posts = [], ...given }: Given): ReturnType<Store["appendFrom"]> {
      const names = posts.map(({ envelope }) => nameOf(envelope))
      const progress = { source: "sky", driver: 1, names, assigned: [], deadLetters: [], users: [], ...given }
      return store.appendFrom(
        progress,
        posts.map((post) => ({ post, matches: [aMatch(app, "5")] })),
        7,
      )
    }

    const isStored = async (id: string): Promise<boolean> => (await store.post(id as PostId)) !== undefined

    test("has the number of a driver grow with each that begins, and keeps where it stands", async () => {
      expect(await store.sources()).toEqual([])
      expect(await store.beginSource("sky")).toEqual({ name: "sky", driver: 1, isPaused: false })
      await appendFrom({ position: "p1" })
      await reopen()
      const sky = { name: "sky", position: "p1", savedAtMs: 7, isPaused: false }
      expect(await store.beginSource("sky")).toEqual({ ...sky, driver: 2 })
      await store.beginSource("pond")
      expect(await store.sources()).toEqual([
        { name: "pond", driver: 1, isPaused: false },
        { ...sky, driver: 2 },
      ])
      expect((await audit()).damage).toEqual([])
    })

    test("stores posts, matches and position together, each post once", async () => {
      await store.beginSource("sky")
      const posts = [named("10", "at://a"), named("11", "at://b"), named("10", "at://a")]
      expect(await appendFrom({ posts, position: "p2" })).toEqual({ kind: "appended", isNew: [true, true, false] })
      expect(await appendFrom({ posts })).toEqual({ kind: "appended", isNew: [false, false, false] })
      expect(await store.head(app)).toBe(2)
      expect(await store.sources()).toMatchObject([{ position: "p2" }])
    })

    test("refuses a driver that another one has superseded, and stores nothing of it", async () => {
      await store.beginSource("sky")
      await store.beginSource("sky")
      const refused = await appendFrom({ posts: [named("10", "at://a")], position: "p", deadLetters: [aLetter(1)] })
      expect(refused).toEqual({ kind: "superseded" })
      expect(await isStored("10")).toBe(false)
      expect(await store.sourceDeadLetters({ direction: "older", limit: 10 })).toEqual([])
      expect(await appendFrom({ source: "never begun", driver: 0 })).toEqual({ kind: "superseded" })
      expect((await appendFrom({ driver: 2, position: "q" })).kind).toBe("appended")
    })

    test("refuses the driver of a source that was paused, resumed or rewound", async () => {
      const { driver } = await store.beginSource("sky")
      await store.pauseSource("sky", true)
      expect((await appendFrom({ driver })).kind).toBe("superseded")
      expect(await store.beginSource("sky")).toMatchObject({ driver: driver + 2, isPaused: true })
      await store.pauseSource("sky", false)
      await store.rewindSource("sky", "early")
      expect((await appendFrom({ driver: driver + 2 })).kind).toBe("superseded")
      expect(await store.beginSource("sky")).toMatchObject({ isPaused: false, position: "early" })
      await store.rewindSource("pond", "p")
      expect(await store.beginSource("pond")).toMatchObject({ position: "p", isPaused: false })
    })

    test("announces that a source was steered", async () => {
      const heard: string[] = []
      store.onChange(({ kind }) => heard.push(kind))
      await store.pauseSource("sky", true)
      await expect.poll(() => heard).toContain("control")
    })

    test("stores nothing of a batch in which an id belongs to another name", async () => {
      await store.beginSource("sky")
      await appendFrom({ posts: [named("10", "at://a")] })
      await store.append([{ post: aPost("20"), matches: [] }], 1)
      const posts = [named("30", "at://c"), named("10", "at://b"), named("20", "at://d"), named("30", "at://e")]
      expect(await appendFrom({ posts, position: "p" })).toEqual({ kind: "taken", at: [1, 2, 3] })
      expect(await isStored("30")).toBe(false)
      expect((await store.sources())[0]).not.toHaveProperty("position")
    })

    test("keeps the id that was assigned to a name, and no other post takes the name", async () => {
      await store.beginSource("sky")
      await appendFrom({ posts: [named("10", "at://a")] })
      const assigned = [{ name: "at://b", id: "11" as PostId }]
      expect((await appendFrom({ posts: [named("11", "at://b")], assigned })).kind).toBe("appended")
      await reopen()
      expect(await store.assignedNames(["at://a", "at://b"])).toEqual(assigned)
      expect(await appendFrom({ posts: [named("12", "at://b")] })).toEqual({ kind: "taken", at: [0] })
      expect((await audit()).damage).toEqual([])
      const elsewhere = [{ name: "at://z", id: "10" as PostId }]
      await appendFrom({ posts: [named("13", "at://f")], assigned: elsewhere })
      const gone = [{ name: "at://gone", id: "99" as PostId }]
      await appendFrom({ posts: [named("14", "at://g")], assigned: gone })
      expect((await audit()).damage).toEqual(["assigned_names: at://z names post 10, which has another name"])
      expect(await store.trimAssignedNames("11" as PostId, 10)).toBe(1)
      expect((await audit()).damage).toEqual([])
      expect(await store.trimAssignedNames("11" as PostId, 10)).toBe(0)
      expect(await store.trimAssignedNames("12" as PostId, 10)).toBe(1)
      expect(await store.assignedNames(["at://b"])).toEqual([])
    })

    test("stores nothing of a batch in which one name has two ids", async () => {
      await store.beginSource("sky")
      const assigned = [
        { name: "at://a", id: "10" as PostId },
        { name: "at://a", id: "11" as PostId },
      ]
      const posts = [named("10", "at://a"), named("11", "at://a"), named("10", "at://a")]
      expect(await appendFrom({ posts, assigned, position: "p" })).toEqual({ kind: "taken", at: [1] })
      expect(await isStored("10")).toBe(false)
      expect(await store.assignedNames(["at://a"])).toEqual([])
    })

    test("keeps the id that was assigned to a name before its post, and the first of two", async () => {
      await store.beginSource("sky")
      const assigned = { name: "at://a", id: "10" as PostId }
      expect(await appendFrom({ assigned: [assigned] })).toEqual({ kind: "appended", isNew: [] })
      await appendFrom({ assigned: [{ name: "at://a", id: "11" as PostId }] })
      expect(await store.assignedNames(["at://a"])).toEqual([assigned])
      expect((await audit()).damage).toEqual([])
    })

    test("keeps a user that came without a post, unless a newer object is there or the user is deleted", async () => {
      await store.beginSource("sky")
      const notice = (username: string, createdAtMs: number): SourceProgress["users"][number] => {
        const envelope = Buffer.from(JSON.stringify({ id: "7", username, name: username }))
        return { users: [{ id: "7" as UserId, username, begin: 0, end: envelope.length }], createdAtMs, envelope }
      }
      await appendFrom({ users: [notice("heron", 20)] })
      await appendFrom({ users: [notice("egret", 10)] })
      expect(await store.usersById(["7" as UserId])).toMatchObject([{ id: "7", username: "heron" }])
      await store.delete([{ kind: "user", id: "7" as UserId }], 30)
      await appendFrom({ users: [notice("heron", 40)] })
      expect(await store.usersById(["7" as UserId])).toEqual([])
    })

    test("keeps dead letters as they came, the newest first, and deletes them", async () => {
      await store.beginSource("sky")
      await appendFrom({ deadLetters: [aLetter(1), aLetter(2), aLetter(3, { source: "pond" })] })
      await reopen()
      const all = await store.sourceDeadLetters({ direction: "older", limit: 10 })
      expect(all).toEqual([aLetter(3, { source: "pond" }), aLetter(2), aLetter(1)])
      const page = (direction: "older" | "newer", from: string | undefined, limit: number) =>
        store.sourceDeadLetters({ source: "sky", direction, ...(from !== undefined && { from }), limit })
      expect(await page("older", undefined, 1)).toEqual([aLetter(2)])
      expect(await page("older", uuidOf(2), 5)).toEqual([aLetter(1)])
      expect(await page("newer", uuidOf(1), 5)).toEqual([aLetter(2)])
      expect(await page("newer", undefined, 1)).toEqual([aLetter(1)])
      expect(await page("newer", undefined, 5)).toEqual([aLetter(2), aLetter(1)])
      expect(await store.sourceDeadLetterCounts()).toEqual(
        new Map([
          ["pond", 1],
          ["sky", 2],
        ]),
      )
      expect(await store.deleteSourceDeadLetters("sky", [uuidOf(2), uuidOf(3), uuidOf(9)])).toEqual([uuidOf(2)])
      expect((await store.sourceDeadLetterCounts()).get("sky")).toBe(1)
    })

    test("keeps dead letters whose detail quotes a record with NUL", async () => {
      await store.beginSource("sky")
      await appendFrom({ deadLetters: [aLetter(1, { detail: "Unexpected token '\0'." })] })
      const [letter] = await store.sourceDeadLetters({ direction: "older", limit: 10 })
      expect(letter).toMatchObject({
        title: "Invalid JSON",
        detail: expect.stringMatching(/^Unexpected token '[\0\uFFFD]'\.$/),
      })
    })

    test("keeps the newest dead letters within the bytes that they may take over all sources", async () => {
      await store.beginSource("sky")
      const record = new Uint8Array(sourceDeadLetterBytesMax / 4)
      for (let number = 1; number <= 5; number += 1) {
        await appendFrom({ deadLetters: [aLetter(number, { record, source: number % 2 === 0 ? "sky" : "pond" })] })
      }
      const kept = await store.sourceDeadLetters({ direction: "older", limit: 10 })
      expect(kept.map(({ id }) => id)).toEqual([5, 4, 3, 2].map(uuidOf))
    })

    test("keeps the newest gaps of each source", async () => {
      await store.noteSourceGap(aGap(1, { source: "pond", fromMs: 1, toMs: 2 }))
      for (let number = 2; number < sourceGapsMax + 4; number += 1) await store.noteSourceGap(aGap(number))
      await reopen()
      const gaps = await store.sourceGaps("sky")
      expect(gaps).toHaveLength(sourceGapsMax)
      expect(gaps[0]).toEqual(aGap(sourceGapsMax + 3))
      expect(await store.sourceGaps("pond")).toEqual([aGap(1, { source: "pond", fromMs: 1, toMs: 2 })])
      expect((await audit()).damage).toEqual([])
    })
  })
}

function nameOf(envelope: Uint8Array): string | undefined {
  const { data } = JSON.parse(Buffer.from(envelope).toString("utf8")) as { data: { source_uri?: string } }
  return data.source_uri
}
