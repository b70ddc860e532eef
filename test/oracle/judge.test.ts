/** The judge must find faults: each fault that it looks for, made by hand. */
import { describe, expect, test } from "vitest"
import { Ledger, type JournalEntry } from "./journal.ts"
import { isSettled, judge, type Shown, type ShownState } from "./judge.ts"
import { authorIds, madePostOf, makePost, type MadePost } from "./made-posts.ts"

const seed = 7
const posts = Array.from({ length: 40 }, (_, index) => makePost(seed, index))
const matching = posts.filter(({ tags }) => tags.length > 0)
const [first, second] = matching as [MadePost, MadePost]
const unmatched = posts.find(({ tags }) => tags.length === 0) as MadePost
const link = { webhook_id: "1", fields: [] }

const life: JournalEntry = { kind: "life", url: "http://127.0.0.1:1", app: "{}" }

function received(post: MadePost, position: number, changes: Partial<JournalEntry> = {}): JournalEntry {
  const entry = {
    kind: "received",
    link: 0,
    eventId: `msg_9_${position}`,
    postId: post.id,
    hash: post.id,
    answer: 200,
  }
  return { ...entry, ...changes } as JournalEntry
}

/** A journal without faults. */
function goodEntries(): JournalEntry[] {
  return [
    life,
    { kind: "linked", links: [link] },
    { kind: "acknowledged", body: 0, ids: posts.map(({ id }) => id), again: false },
    ...matching.map((post, index) => received(post, index + 1)),
  ]
}

function goodShown(): Shown {
  const idsOf = (authorId: string): string[] =>
    posts.flatMap((post) => (post.authorId === authorId ? [post.id] : [])).toReversed()
  return {
    stored: authorIds.map((authorId) => ({ authorId, ids: idsOf(authorId) })),
    links: [link],
    states: [goodState()],
    deadLetters: [],
  }
}

/** The state of a link that has delivered everything, with these changes. */
function goodState(changes: Partial<ShownState["total"]> = {}): ShownState {
  const head = matching.length
  const total = { delivered: head, retrying: 0, dead_letters: 0, expired: 0, missed: 0, ...changes }
  return { webhook_id: "1", position: head, head, total, gaps: [] }
}

function faultsOf(entries: readonly JournalEntry[], shown: Shown = goodShown()): readonly string[] {
  const ledger = new Ledger()
  for (const entry of entries) ledger.apply(entry)
  return judge(ledger, shown, { postOf: (id) => madePostOf(seed, id), repeatsMax: 2 })
}

function stored(change: (ids: readonly string[]) => readonly string[]): Shown {
  const shown = goodShown()
  return { ...shown, stored: shown.stored.map(({ authorId, ids }) => ({ authorId, ids: change(ids) })) }
}

describe("the judge", () => {
  test("the judge finds no fault in a good journal", () => {
    expect(faultsOf(goodEntries())).toEqual([])
  })

  test("the judge reports an acknowledged post that is not in the store", () => {
    expect(
      faultsOf(
        goodEntries(),
        stored((ids) => ids.filter((id) => id !== unmatched.id)),
      ),
    ).toEqual([`1 posts acknowledged and not in the store: ${unmatched.id}`])
  })

  test("the judge reports a post in the store that was never acknowledged", () => {
    const stray = makePost(seed, 1_000)
    const shown = goodShown()
    const all = shown.stored.map(({ authorId, ids }) => ({
      authorId,
      ids: authorId === stray.authorId ? [stray.id, ...ids] : ids,
    }))
    expect(faultsOf(goodEntries(), { ...shown, stored: all })).toEqual([
      `1 posts in the store and never acknowledged: ${stray.id}`,
    ])
  })

  test("the judge reports pages that repeat a post or are out of order", () => {
    expect(
      faultsOf(
        goodEntries(),
        stored((ids) => [...ids, ...ids.slice(-1)]),
      ).join(),
    ).toContain("listed twice")
    expect(
      faultsOf(
        goodEntries(),
        stored((ids) => ids.toReversed()),
      ).join(),
    ).toContain("out of order")
  })

  test("the judge reports a match that was not delivered, or only refused", () => {
    const without = goodEntries().filter((entry) => entry.kind !== "received" || entry.postId !== first.id)
    expect(faultsOf(without).join()).toContain(`1 posts matching and not delivered: ${first.id}`)
    const refused = goodEntries().map((entry) =>
      entry.kind === "received" && entry.postId === first.id ? received(first, 1, { answer: 500 }) : entry,
    )
    expect(faultsOf(refused)).toEqual([`link 0: 1 posts matching and not delivered: ${first.id}`])
  })

  test("the judge reports a delivery that does not match", () => {
    const extra = [...goodEntries(), received(unmatched, matching.length + 1)]
    expect(faultsOf(extra).join()).toContain(`1 posts delivered and not matching: ${unmatched.id}`)
  })

  test("the judge reports a gap between positions, and a cursor that is not at the end", () => {
    const entries = goodEntries()
    const last = matching.at(-1) as MadePost
    const gap = [...entries.slice(0, -1), received(last, matching.length + 1)]
    expect(faultsOf(gap).join()).toContain(`has positions ${matching.length + 1}, and ${matching.length} is the last`)
    const skipped = entries.filter((entry) => entry.kind !== "received" || entry.postId !== second.id)
    expect(faultsOf(skipped).join()).toContain(
      `positions 2 of ${matching.length} are neither delivered nor accounted for`,
    )
    const states = [{ ...goodState(), position: 3 }]
    expect(faultsOf(entries, { ...goodShown(), states }).join()).toContain("is at position 3")
  })

  test("the judge counts a match that did not arrive as a dead letter or as part of a gap, when the server says so", () => {
    const head = matching.length
    const without = goodEntries().filter((entry) => entry.kind !== "received" || entry.postId !== second.id)
    const died = { webhook_id: "1", event_id: "msg_9_2", post_id: second.id }
    const dead: Shown = {
      ...goodShown(),
      states: [goodState({ delivered: head - 1, dead_letters: 1 })],
      deadLetters: [died],
    }
    expect(faultsOf(without, dead)).toEqual([])
    expect(faultsOf(without, { ...dead, deadLetters: [] }).join()).toContain("has 1 dead letters, and lists 0")
    expect(faultsOf(without, { ...dead, deadLetters: [{ ...died, webhook_id: "2" }] }).length).toBeGreaterThan(0)
    expect(faultsOf(without, { ...dead, deadLetters: [{ ...died, post_id: unmatched.id }] }).join()).toContain(
      "delivered and not matching",
    )

    const inGap = { ...goodState({ delivered: head - 1, missed: 1 }), gaps: [{ from: 2, to: 2 }] }
    expect(faultsOf(without, { ...goodShown(), states: [inGap] })).toEqual([])
    const elsewhere = { ...inGap, gaps: [{ from: 3, to: 3 }] }
    expect(faultsOf(without, { ...goodShown(), states: [elsewhere] }).join()).toContain("positions 2 of")
    const silent = { ...inGap, gaps: [] }
    expect(faultsOf(without, { ...goodShown(), states: [silent] }).join()).toContain("has missed 1, and gaps of 0")
  })

  test("the judge adds up the totals of a link's matches", () => {
    const faults = (changes: Partial<ShownState["total"]>): string =>
      faultsOf(goodEntries(), { ...goodShown(), states: [goodState(changes)] }).join()
    expect(faults({})).toBe("")
    expect(faults({ delivered: 1 })).toContain(`accounts for 1 of ${matching.length} matches`)
    expect(faults({ delivered: matching.length - 1, retrying: 1 })).toContain("still has 1 retries")
    expect(faultsOf(goodEntries(), { ...goodShown(), states: [] })).toEqual(["link 0: has no state"])
    expect(isSettled(goodState())).toBe(true)
    expect(isSettled(goodState({ delivered: 1 }))).toBe(false)
    expect(isSettled({ ...goodState(), position: 1 })).toBe(false)
  })

  test("the judge reports other bytes, another post, and another event id in a repeat", () => {
    const again = (changes: Partial<JournalEntry>): string =>
      faultsOf([...goodEntries(), life, received(first, 1, changes)]).join()
    expect(again({})).toBe("")
    expect(again({ hash: "other" })).toContain("came again with other bytes")
    expect(again({ postId: second.id })).toContain(`came with post ${first.id}, then with ${second.id}`)
    expect(again({ eventId: "msg_9_1000" })).toContain(`post ${first.id} came as event msg_9_1 before`)
  })

  test("the judge counts repeats, but none of a refused delivery", () => {
    const repeats = (count: number, answer: 200 | 500): JournalEntry[] =>
      Array.from({ length: count }, () => received(first, 1, { answer }))
    expect(faultsOf([...goodEntries(), life, ...repeats(2, 200)])).toEqual([])
    expect(faultsOf([...goodEntries(), life, ...repeats(3, 200)])).toEqual([
      "link 0: 3 deliveries were repeated, where 2 may be",
    ])
    // The second of these is a repeat; the third is due since the second was refused.
    const refusedRepeat = [...repeats(1, 500), ...repeats(1, 200)]
    expect(faultsOf([...goodEntries(), life, ...repeats(1, 200), ...refusedRepeat])).toEqual([])
    expect(faultsOf([...goodEntries(), life, ...repeats(2, 200), ...refusedRepeat])).toEqual([
      "link 0: 3 deliveries were repeated, where 2 may be",
    ])
    const [begin, linked, acknowledged, ...deliveries] = goodEntries() as [JournalEntry, JournalEntry, JournalEntry]
    expect(faultsOf([begin, linked, acknowledged, ...repeats(5, 500), ...deliveries])).toEqual([])
  })

  test("the judge reports a link that is gone or changed, and changed credentials", () => {
    expect(faultsOf(goodEntries(), { ...goodShown(), links: [] }).join()).toContain("and are now []")
    const changed = [{ ...link, fields: ["expansions=author_id"] }]
    expect(faultsOf(goodEntries(), { ...goodShown(), links: changed }).length).toBe(1)
    const other: JournalEntry = { kind: "life", url: "http://127.0.0.1:2", app: "{other}" }
    expect(faultsOf([...goodEntries(), other])).toEqual(["the app's credentials have changed"])
  })
})

describe("generated posts", () => {
  test("the same seed makes the same posts, of every kind, and finds each by its id", () => {
    expect(makePost(seed, 3)).toEqual(posts[3])
    expect(posts.every((post) => madePostOf(seed, post.id)?.line === post.line)).toBe(true)
    expect(madePostOf(seed + 1, first.id)).toBeUndefined()
    expect(madePostOf(seed, "12")).toBeUndefined()
    const kinds = new Set(posts.map(({ tags }) => tags.join()))
    expect([...kinds].toSorted()).toEqual(["", "lighthouse", "lighthouse,tide", "tide"])
  })
})
