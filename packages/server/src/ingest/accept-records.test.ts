import { setTimeout } from "node:timers/promises"
import { expect, test } from "vitest"
import type { Converted, Converter } from "../conversion/converter.ts"
import { RuleIndex } from "../matching/rule-index.ts"
import { asId, firstIdAt, type AppId, type PostId, type RuleId, type UserId } from "../model/ids.ts"
import { SourceSuperseded } from "../model/source-superseded.ts"
import { systemClock } from "../runtime/clock.ts"
import { systemRandom } from "../runtime/random.ts"
import { createSnowflakes } from "../runtime/snowflakes.ts"
import { Turns } from "../runtime/turns.ts"
import { anApp } from "../store/contract/fixtures.ts"
import type { Store } from "../store/store.ts"
import { openTestedStore } from "../store/tested-store.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { RecordAcceptor, type RecordAcceptorDeps } from "./accept-records.ts"
import type { IngestReport } from "./ingest-report.ts"

const app = "100" as AppId
const user = "4611686018427387905" as UserId

/** A record of the tests. */
interface TestRecord {
  readonly kind?: Converted["kind"]
  readonly name?: string
  readonly firstName?: string
  /** Absent: the id does not follow from the name. */
  readonly id?: string
  readonly text?: string
  readonly position?: string
  readonly isOld?: boolean
  readonly claimedMs?: number
  /** The record as the source had it. */
  readonly record?: string
}

/** Converts records of the tests. Says in the text of a post by which id and name it knows the post before and the user. */
const converter: Converter = {
  idOf: () => undefined,
  isReadAgain: (position, begun) => Number(position) < Number(begun),
  begin(line) {
    const {
      kind = "post",
      name = "",
      firstName,
      id,
      text = "",
      position,
      isOld,
      claimedMs,
      record,
    } = JSON.parse(line) as TestRecord
    return {
      position,
      record,
      posts: [name, "before", ...(firstName === undefined ? [] : [firstName])],
      users: [user],
      finish(known): Converted {
        if (kind === "ignored") return { kind, reason: "quiet" }
        if (kind === "rejected")
          return { kind, title: "Invalid Record", detail: text, record: name === "" ? undefined : name }
        if (kind === "post deleted") return { kind, name, id: id as PostId | undefined }
        if (kind === "user deleted") return { kind, id: user }
        if (kind === "user") return { kind, user: { id: user, username: text, name: text } }
        const seen = [known.postId("before"), known.user(user)?.username].filter((one) => one !== undefined)
        return {
          kind: "post",
          name,
          firstName,
          id: id as PostId | undefined,
          isOld: isOld === true,
          claimedMs,
          envelopeWith: (own) => {
            const first = firstName === undefined ? undefined : known.postId(firstName)
            const history = [first, own].filter((one) => one !== undefined)
            const words = [text, ...seen].join(" ")
            return JSON.stringify({
              data: { id: own, text: words, author_id: user, edit_history_tweet_ids: history, source_uri: name },
            })
          },
        }
      },
    }
  },
}

interface Accepting {
  /** Accepts records as one body that ends with them. */
  readonly accept: (...records: readonly (TestRecord | string)[]) => Promise<IngestReport[]>
}

async function accepting(
  store: Store,
  driver: number,
  accepted: Partial<Store> = {},
  begun: { readonly position?: string } = {},
): Promise<Accepting> {
  const rules = await RuleIndex.load(store)
  const reading = new Proxy(store, {
    get: (target, name) => accepted[name as keyof Store] ?? (Reflect.get(target, name) as unknown),
  })
  return {
    async accept(...records) {
      const reports: IngestReport[] = []
      const acceptor = acceptorOf({ store: reading, rules, source: { name: "sky", driver, ...begun } }, (report) =>
        reports.push(report),
      )
      await acceptor.write(linesOf(...records))
      await acceptor.end()
      return reports
    },
  }
}

function acceptorOf(
  deps: Pick<RecordAcceptorDeps, "store" | "rules" | "source">,
  appended: (report: IngestReport) => unknown = () => undefined,
): RecordAcceptor {
  return new RecordAcceptor(
    {
      ...deps,
      ruleMatchCounts: { note: () => undefined },
      clock: systemClock,
      snowflakes: createSnowflakes(systemClock, systemRandom),
      postBytesMax: 262_144,
      turn: new Turns(systemClock).open(),
      converter: Promise.resolve(converter),
    },
    { appending: () => undefined, appended, failed: () => undefined },
  )
}

function linesOf(...records: readonly (TestRecord | string)[]): Buffer {
  const lines = records.map((record) => (typeof record === "string" ? record : JSON.stringify(record)))
  return Buffer.from(`${lines.join("\n")}\n`)
}

async function withStore(use: (store: Store) => Promise<void>): Promise<void> {
  await using directory = await temporaryDirectory()
  await using store = await openTestedStore(directory.path)
  await store.createApp(anApp(app), [])
  await store.addRules(app, [{ id: "1" as RuleId, appId: app, value: "heron" }], { rulesMax: 9 })
  await use(store)
}

const textOf = async (store: Store, id: string): Promise<string | undefined> => {
  const post = await store.post(id as PostId)
  return post && (JSON.parse(post.json) as { data: { text: string } }).data.text
}

test("the position stays while records are read again that were stored before it", async () => {
  await withStore(async (store) => {
    await store.rewindSource("sky", "50")
    const { driver, position = "" } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver, {}, { position })
    await accept({ name: "a", id: "10", text: "a heron", position: "48" })
    expect(await store.sources()).toMatchObject([{ position: "50" }])
    await accept({ name: "a", id: "10", position: "49" }, { name: "b", id: "11", text: "a heron", position: "51" })
    expect(await store.sources()).toMatchObject([{ position: "51" }])
  })
})

test("posts of a source are matched and stored with the position behind them", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    const reports = await accept(
      { name: "a", id: "10", text: "a heron", position: "p1" },
      { kind: "ignored", position: "p2" },
      { name: "b", id: "11", text: "an old heron", isOld: true, position: "p3" },
      { name: "a", id: "10", text: "again", position: "p4" },
    )
    expect(reports).toMatchObject([{ accepted: 2, duplicates: 1, ignored: 1, lines: 4, matches: 1 }])
    expect(await store.sources()).toMatchObject([{ name: "sky", position: "p4" }])
    expect(await store.head(app)).toBe(1)
    expect(await textOf(store, "11")).toBe("an old heron")
  })
})

test("a dead letter keeps the record as the source had it, where the line is another form of it", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    await accept({ kind: "rejected", name: "é".repeat(65_536), text: "At 7.", position: "p1" })
    const [letter] = await store.sourceDeadLetters({ direction: "older", limit: 9 })
    expect(letter).toMatchObject({ title: "Invalid Record", detail: "At 7." })
    expect(Buffer.from(letter?.record ?? []).toString()).toBe("é".repeat(32_768))
    expect(await store.sources()).toMatchObject([{ position: "p1" }])
  })
})

test("a dead letter of a post that ingest refuses keeps the record as the source had it", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    await accept({ name: "a", id: "1e3", record: "as it came" }, { name: "a\0", id: "12", record: "as it came" })
    const letters = await store.sourceDeadLetters({ direction: "older", limit: 9 })
    expect(letters.map(({ title }) => title).toSorted()).toEqual(["Invalid Name", "Invalid Post"])
    for (const { record } of letters) expect(Buffer.from(record).toString()).toBe("as it came")
  })
})

test("a record that is no post becomes a dead letter as it came, and the others are stored", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    const [report] = await accept(
      { kind: "rejected", text: "At 7." },
      { name: "a", id: "1e3", text: "no id" },
      { name: "a\0", id: "12" },
      { name: "b", id: "13", position: "p".repeat(2_001) },
      // 2,001 bytes in 667 characters.
      { name: "鷺".repeat(667), id: "15" },
      // A position has no index, and may name streams in any script.
      { name: "c", id: "14", text: "fine", position: "鷺".repeat(2_000) },
    )
    expect(report).toMatchObject({ accepted: 1, rejectedCount: 5 })
    const letters = await store.sourceDeadLetters({ direction: "older", limit: 9 })
    expect(letters.map(({ title }) => title).toSorted()).toEqual([
      "Invalid Name",
      "Invalid Name",
      "Invalid Position",
      "Invalid Post",
      "Invalid Record",
    ])
    const letter = letters.find(({ title }) => title === "Invalid Record")
    expect(Buffer.from(letter?.record ?? []).toString()).toBe('{"kind":"rejected","text":"At 7."}')
    expect(await textOf(store, "14")).toBe("fine")
  })
})

test("a record that names a time ahead of the clock is a dead letter, where nothing else tells its time", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    const nowMs = Date.now()
    const [report] = await accept(
      { name: "a", id: "12", claimedMs: nowMs + 6 * 60_000 },
      { name: "b", id: "13", claimedMs: nowMs + 4 * 60_000 },
    )
    expect(report).toMatchObject({ accepted: 1, rejectedCount: 1 })
    const [letter] = await store.sourceDeadLetters({ direction: "older", limit: 9 })
    expect(letter).toMatchObject({
      title: "Time in the Future",
      detail: expect.stringContaining("more than 5 minutes"),
    })
  })
})

test("a post whose id belongs to another name gets the next free one, and keeps it", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    await accept({ name: "a", id: "10", text: "first" })
    const collided = [
      { name: "b", id: "10", text: "second" },
      { name: "c", id: "10", text: "a heron" },
    ]
    expect(await accept(...collided)).toMatchObject([{ accepted: 2, matches: 1 }])
    expect(await accept(...collided.toReversed())).toMatchObject([{ accepted: 0, duplicates: 2 }])
    expect(await Promise.all(["10", "11", "12"].map((id) => textOf(store, id)))).toEqual(["first", "second", "a heron"])
    await accept({ name: "c", kind: "post deleted", id: "10" })
    expect(await textOf(store, "12")).toBeUndefined()
    expect(await textOf(store, "10")).toBe("first")
  })
})

test("of many names with few ids none shares one, in whatever order and how often they come", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    // Two bits of hash for forty names.
    const records = Array.from({ length: 40 }, (_, at) => ({
      name: `n${at}`,
      id: `${1_000 + (at % 4)}`,
      text: `t${at}`,
    }))
    for (let round = 0; round < 3; round += 1) {
      await accept(...records.toSorted(() => Math.random() - 0.5).slice(0, 25))
    }
    await accept(...records)
    const texts = (await Array.fromAsync(store.recentPosts({ limit: 100, bytesMax: 1e9 }))).map(
      ({ json }) => (JSON.parse(json) as { data: { text: string } }).data.text,
    )
    expect(texts.toSorted()).toEqual(records.map(({ text }) => text).toSorted())
  })
})

test("a post whose id does not follow from its name gets one of its arrival, by which it is known again", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    const before = firstIdAt(systemClock.nowMs() - 1)
    expect(await accept({ name: "before", text: "nameless" }, { name: "x", id: "10" })).toMatchObject([{ accepted: 2 }])
    expect(await accept({ name: "before", text: "nameless" })).toMatchObject([{ duplicates: 1 }])
    const [assigned] = await store.assignedNames(["before"])
    expect(BigInt(assigned?.id ?? 0)).toBeGreaterThan(before)
    await accept({ name: "y", id: "11", text: "refers to" })
    expect(await textOf(store, "11")).toBe(`refers to ${assigned?.id}`)
  })
})

test("a converter knows a user as the store does, and as a notice has just changed it", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    expect(await accept({ kind: "user", text: "Heron.example" })).toMatchObject([{ ignored: 1 }])
    await accept({ name: "a", id: "10", text: "by" })
    expect(await textOf(store, "10")).toBe("by Heron.example")
  })
})

test("what is deleted is gone, and is not stored again when its record is repeated", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    const post = { name: "a", id: "10", text: "a heron" }
    await accept(post, { kind: "post deleted", name: "a", id: "10" }, { kind: "post deleted", name: "unknown" })
    await accept(post)
    expect(await textOf(store, "10")).toBeUndefined()
    expect(await store.head(app)).toBe(0)
    await accept({ name: "b", id: "11" }, { kind: "user deleted" })
    expect(await textOf(store, "11")).toBeUndefined()
  })
})

/** A deletion of the post with this name, which nothing derives an id of. */
const deletionOf = (name: string): TestRecord => ({ kind: "post deleted", name })

const idsOf = async (store: Store, ...names: readonly string[]): Promise<readonly PostId[]> => {
  const assigned = new Map((await store.assignedNames(names)).map(({ name, id }) => [name, id]))
  return names.flatMap((name) => assigned.get(name) ?? [])
}

test("a name that comes twice in one batch is one post, when its id does not follow from it", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    const post = { name: "a", text: "a heron" }
    expect(await accept(post, { name: "b", text: "a heron" }, post)).toMatchObject([{ accepted: 2, duplicates: 1 }])
    expect(await store.head(app)).toBe(2)
  })
})

test("a name is known while its post is being stored: to a repeat, a later version and a deletion", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const slow: Partial<Store> = {
      async appendFrom(...batch) {
        await setTimeout(50)
        return store.appendFrom(...batch)
      },
    }
    const { accept } = await accepting(store, driver, slow)
    // More than one batch: the first is being stored while the names of the last records are looked up.
    const filling = Array.from({ length: 600 }, (_, at) => ({ name: `f${at}`, text: "a sparrow" }))
    const posts = ["a", "b"].map((name) => ({ name, text: "a heron" }))
    const later = { name: "b#2", firstName: "b", text: "a heron" }
    const reports = await accept(...posts, ...filling, ...posts, deletionOf("a"), later)
    expect(reports.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(603)
    expect(await store.head(app)).toBe(3)
    const [a = "", first = "", second = ""] = await idsOf(store, "a", "b", "b#2")
    expect(await textOf(store, a)).toBeUndefined()
    expect((await store.chainsOf([first as PostId])).get(first as PostId)).toEqual([first, second])
  })
})

test("a deletion by a name finds the post before it in the same batch, and the one after it", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    const [before, after] = [
      { name: "a", text: "a heron" },
      { name: "b", text: "a heron" },
    ]
    const reports = await accept(before, deletionOf("a"), deletionOf("b"), after)
    expect(reports).toMatchObject([{ accepted: 0, deleted: 2, lines: 4 }])
    expect(await accept(before, after)).toMatchObject([{ accepted: 0 }])
    expect(await store.head(app)).toBe(0)
  })
})

test("a deletion by a name overtakes its post, with the position behind it", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    expect(await accept({ ...deletionOf("a"), position: "p1" })).toMatchObject([{ deleted: 1 }])
    expect(await store.sources()).toMatchObject([{ position: "p1" }])
    await accept({ name: "a", text: "a heron" }, { name: "a#2", firstName: "a", text: "a heron" })
    expect(await store.head(app)).toBe(0)
    const ids = await idsOf(store, "a", "a#2")
    expect(await Promise.all(ids.map(async (id) => textOf(store, id)))).toEqual([undefined, undefined])
  })
})

test("a deletion by a name that cannot be stored asks for nothing", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    expect(await accept(deletionOf("a".repeat(2_001)), deletionOf("a\0"))).toMatchObject([{ ignored: 2 }])
  })
})

test("a deletion by the first name deletes a later version that came without the first", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    await accept({ name: "a#2", firstName: "a", text: "a heron" })
    const [first, later = ""] = await idsOf(store, "a", "a#2")
    expect(await textOf(store, later)).toBe("a heron")
    expect((await store.chainsOf([later as PostId])).get(later as PostId)).toEqual([first, later])
    await accept(deletionOf("a"))
    expect(await textOf(store, later)).toBeUndefined()
  })
})

test("a later version names the first one of the same batch", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    await accept({ name: "a", text: "a heron" }, { name: "a#2", firstName: "a", text: "two herons" })
    const [first = "", later = ""] = await idsOf(store, "a", "a#2")
    expect(await textOf(store, first)).toBe("a heron")
    expect((await store.chainsOf([later as PostId])).get(later as PostId)).toEqual([first, later])
  })
})

test("the name of a record that is rejected gets no id, and its first version keeps one", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    const invalid = { name: "a#2", firstName: "a", text: "x".repeat(40_000) }
    await accept(invalid, { kind: "ignored" })
    expect(await idsOf(store, "a", "a#2")).toHaveLength(1)
    expect(await accept({ ...invalid, text: "a heron" })).toMatchObject([{ accepted: 1 }])
  })
})

test("a driver that was superseded stores nothing, and ends with the reason", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    await store.beginSource("sky")
    const { accept } = await accepting(store, driver)
    await expect(accept({ name: "a", id: "10" })).rejects.toBeInstanceOf(SourceSuperseded)
    expect(await textOf(store, "10")).toBeUndefined()
  })
})

test("ids that are taken between the look-up and the append are found by the append", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const raced: Partial<Store> = {
      // Another process takes the free id first.
      async postsById(range) {
        const found = await store.postsById(range)
        const [id] = range.ids
        const envelope = Buffer.from(JSON.stringify({ data: { id, text: "raced", source_uri: "other" } }))
        if (id === "11") {
          const core = Buffer.from("{}")
          const head = { createdAtMs: 1, isReply: false, isRepost: false, userIds: [], users: [], includedIds: [] }
          await store.append([{ post: { ...head, id: asId<PostId>("11"), core, envelope }, matches: [] }], 1)
        }
        return found
      },
    }
    const { accept } = await accepting(store, driver, raced)
    await accept({ name: "a", id: "10", text: "first" })
    expect(await accept({ name: "b", id: "10", text: "second" })).toMatchObject([{ accepted: 1 }])
    expect(await textOf(store, "12")).toBe("second")
  })
})

test("a batch has no position behind posts that still wait for their matches", async () => {
  await withStore(async (store) => {
    const { driver } = await store.beginSource("sky")
    const index = await RuleIndex.load(store)
    // As with rules by embeddings: no post is matched at once.
    const rules: RecordAcceptorDeps["rules"] = {
      matchNow: () => undefined,
      match: (...args) => index.match(...args),
      catchUp: () => index.catchUp(),
      walked: index.walked,
    }
    const first = Promise.withResolvers<void>()
    const appended: [position: string | undefined, posts: readonly string[]][] = []
    const slow = new Proxy(store, {
      get: (target, name) =>
        name === "appendFrom"
          ? async (...args: Parameters<Store["appendFrom"]>) => {
              const [progress, posts] = args
              appended.push([progress.position, posts.map(({ post }) => post.id)])
              await first.promise
              return store.appendFrom(...args)
            }
          : (Reflect.get(target, name) as unknown),
    })
    const acceptor = acceptorOf({ store: slow, rules, source: { name: "sky", driver } })
    for (const id of ["10", "11"]) {
      await acceptor.write(linesOf({ name: id, id, position: `p${id}` }))
      await acceptor.flush()
    }
    await acceptor.write(linesOf({ name: "12", id: "12", position: "p12" }))
    first.resolve()
    await acceptor.settled()
    expect(appended).toEqual([["p10", ["10"]]])
    await acceptor.end()
    expect(appended.slice(1)).toEqual([["p12", ["11", "12"]]])
  })
})
