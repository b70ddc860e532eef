import type { Envelope } from "@sluice/api"
import { expect, test } from "vitest"
import type { AppId, PostId, RuleId } from "../model/ids.ts"
import type { PostMatch } from "../model/match.ts"
import type { StoredPost } from "../model/post.ts"
import type { RuleChange, StoredRule } from "../model/rule.ts"
import { systemClock as clock } from "../runtime/clock.ts"
import { startEmbeddingsEndpoint } from "../runtime/embeddings-endpoint.testing.ts"
import { createEmbeddings, EmbeddingsUnavailable } from "../runtime/embeddings.ts"
import { RuleIndex, type RuleSource } from "./rule-index.ts"

function aRule(id: string, value: string, app = "100", tag?: string): StoredRule {
  return { id: id as RuleId, appId: app as AppId, value, ...(tag !== undefined && { tag }) }
}

function aPost(text: string): Envelope {
  return { data: { id: "1", text } }
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items
}

/** A source with these rules and newest posts, whose changes the test appends, and may have it forget. */
function sourceOf(rules: readonly StoredRule[], posts: readonly StoredPost[] = []) {
  const changes: RuleChange[] = []
  let forgottenTo = 0
  const read: number[] = []
  const source: RuleSource = {
    allRules: async () => ({ rules: each(forgottenTo === 0 ? rules : rulesAfter(rules, changes)), seq: forgottenTo }),
    ruleChanges: async (after, limit) =>
      after < forgottenTo ? undefined : changes.filter(({ seq }) => seq > after).slice(0, limit),
    async *recentPosts({ limit, bytesMax }) {
      let bytes = 0
      for (const post of posts.slice(0, limit)) {
        if (bytes >= bytesMax) return
        bytes += post.json.length
        read.push(bytes)
        yield post
      }
    },
  }
  return {
    source,
    /** Bytes of newest posts that were read. */
    bytesRead: () => read.at(-1) ?? 0,
    add: (rule: StoredRule) => changes.push({ seq: changes.length + 1, kind: "added", rule }),
    remove: ({ id, appId }: StoredRule) =>
      changes.push({ seq: changes.length + 1, kind: "removed", appId, ruleId: id }),
    forgetChanges: () => {
      forgottenTo = changes.length
    },
  }
}

function rulesAfter(rules: readonly StoredRule[], changes: readonly RuleChange[]): readonly StoredRule[] {
  const byId = new Map(rules.map((rule) => [rule.id, rule]))
  for (const change of changes) {
    if (change.kind === "added") byId.set(change.rule.id, change.rule)
    else byId.delete(change.ruleId)
  }
  return [...byId.values()]
}

/** The rules that one post matches. */
async function matchOf(index: RuleIndex, post: Envelope): Promise<readonly PostMatch[]> {
  const [matches = []] = await index.match([post])
  return matches
}

test("matches are grouped by app, oldest rule first, with their tags", async () => {
  const { source } = sourceOf([
    aRule("10", "cat"),
    aRule("9", "cat OR dog", "100", "pets"),
    aRule("11", "dog"),
    aRule("30", "cat", "200"),
  ])
  const index = await RuleIndex.load(source)
  expect(index.size).toBe(4)
  const found = await matchOf(index, aPost("a cat"))
  expect(found.toSorted((a, b) => Number(a.appId) - Number(b.appId))).toEqual([
    {
      appId: "100",
      rulesSeq: 0,
      rules: [
        { id: "9", tag: "pets" },
        { id: "10", tag: "" },
      ],
    },
    { appId: "200", rulesSeq: 0, rules: [{ id: "30", tag: "" }] },
  ])
  expect(await matchOf(index, aPost("a bird"))).toEqual([])
})

test("the index applies the changes of its source, however many", async () => {
  const changing = sourceOf([aRule("1", "cat")])
  const index = await RuleIndex.load(changing.source)
  changing.remove(aRule("1", "cat"))
  for (let id = 2; id <= 2_500; id++) changing.add(aRule(String(id), `word${id}`))
  expect(await matchOf(index, aPost("a cat"))).toHaveLength(1)
  await index.catchUp()
  expect(index.size).toBe(2_499)
  expect(index.seq).toBe(2_500)
  expect(await matchOf(index, aPost("a cat, word2 and word2500"))).toEqual([
    {
      appId: "100",
      rulesSeq: 2_500,
      rules: [
        { id: "2", tag: "" },
        { id: "2500", tag: "" },
      ],
    },
  ])
})

test("two calls that catch up at once apply each change once", async () => {
  const changing = sourceOf([])
  const index = await RuleIndex.load(changing.source)
  const rule = aRule("1", "cat")
  changing.add(rule)
  const first = index.catchUp()
  changing.remove(rule)
  await Promise.all([first, index.catchUp(), index.catchUp()])
  expect(index.size).toBe(0)
  expect(index.seq).toBe(2)
})

test("while the index catches up with many rules, the event loop runs, and posts match the rules it has", async () => {
  const changing = sourceOf([aRule("1", "cat")])
  const index = await RuleIndex.load(changing.source)
  const words = "OR cat ".repeat(250)
  for (let id = 2; id <= 101; id++) changing.add(aRule(String(id), `cat${id} ${words}`))
  let rounds = 0
  const found: number[] = []
  const caughtUp = index.catchUp()
  while (index.seq < 100) {
    const [match] = await matchOf(index, aPost("a cat"))
    found.push(match?.rules.length ?? 0)
    await new Promise((resolve) => setImmediate(resolve))
    rounds += 1
  }
  await caughtUp
  expect(rounds).toBeGreaterThan(10)
  expect(found).toEqual(found.toSorted((a, b) => a - b))
  expect(new Set(found).size).toBeGreaterThan(10)
  expect((await matchOf(index, aPost("a cat")))[0]?.rules).toHaveLength(101)
})

test("a change that comes twice changes nothing", async () => {
  const changing = sourceOf([aRule("1", "cat")])
  const index = await RuleIndex.load(changing.source)
  changing.add(aRule("1", "cat"))
  await index.catchUp()
  expect(index.size).toBe(1)
})

test("an index that missed forgotten changes of its source reads all rules again", async () => {
  const changing = sourceOf([
    aRule("1", "cat"),
    aRule("2", "cat", "100", "old"),
    aRule("3", "cat"),
    aRule("4", "cat ("),
  ])
  const index = await RuleIndex.load(changing.source)
  changing.remove(aRule("1", "cat"))
  changing.add(aRule("2", "cat", "100", "new"))
  changing.remove(aRule("4", "cat ("))
  changing.add(aRule("5", "cat"))
  changing.forgetChanges()
  changing.add(aRule("6", "cat"))
  await index.catchUp()
  expect(await matchOf(index, aPost("a cat"))).toEqual([
    {
      appId: "100",
      rulesSeq: 5,
      rules: [
        { id: "2", tag: "new" },
        { id: "3", tag: "" },
        { id: "5", tag: "" },
        { id: "6", tag: "" },
      ],
    },
  ])
  expect(index.refused).toEqual([])
})

test("while all rules are read again no post is matched, and the next read makes up for one that fails", async () => {
  const changing = sourceOf([aRule("1", "cat")])
  let fails = false
  const reached = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  async function* slowly(rules: AsyncIterable<StoredRule>): AsyncGenerator<StoredRule> {
    for await (const rule of rules) {
      yield rule
      if (!fails) continue
      reached.resolve()
      await held.promise
      fails = false
      throw new Error("the store is away")
    }
  }
  const index = await RuleIndex.load({
    ...changing.source,
    allRules: async () => {
      const { rules, seq } = await changing.source.allRules()
      return { seq, rules: slowly(rules) }
    },
  })
  changing.remove(aRule("1", "cat"))
  changing.add(aRule("2", "cat"))
  changing.forgetChanges()
  fails = true
  const failing = index.catchUp()
  await reached.promise
  // The index has both rules by now, which no version of the ruleset has.
  expect(index.size).toBe(2)
  const found = matchOf(index, aPost("a cat"))
  held.resolve()
  await expect(failing).rejects.toThrow("away")
  expect(await found).toMatchObject([{ rulesSeq: 2, rules: [{ id: "2", tag: "" }] }])
})

test("a stored rule that this version refuses is left out and named until it is deleted, and the others match", async () => {
  const changing = sourceOf([aRule("7", "cat ("), aRule("8", "cat")])
  const index = await RuleIndex.load(changing.source)
  expect(index.refused).toEqual([expect.stringMatching(/^rule 7 \(refused by this version: .+\)$/)])
  expect((await matchOf(index, aPost("a cat")))[0]?.rules.map(({ id }) => id)).toEqual(["8"])
  changing.remove(aRule("7", "cat ("))
  await index.catchUp()
  expect(index.refused).toEqual([])
})

test("each post of a batch has its own matches, in order", async () => {
  const { source } = sourceOf([aRule("1", "cat"), aRule("2", "dog")])
  const index = await RuleIndex.load(source)
  const found = await index.match(["a dog", "a bird", "a cat and a dog"].map(aPost))
  expect(found.map((matches) => matches.flatMap(({ rules }) => rules.map(({ id }) => id)))).toEqual([
    ["2"],
    [],
    ["1", "2"],
  ])
})

test("the index pauses between the posts of a batch, and matches the rest by the rules that it has then", async () => {
  const changing = sourceOf([aRule("1", "cat")])
  const index = await RuleIndex.load(changing.source)
  let posts = 0
  const matches = await index.match([aPost("a cat"), aPost("a cat"), aPost("a cat"), aPost("a cat")], () => {
    posts += 1
    if (posts !== 2) return undefined
    changing.add(aRule("2", "cat"))
    return index.catchUp()
  })
  expect(posts).toBe(4)
  expect(matches.map((one) => one.flatMap(({ rules }) => rules.map(({ id }) => id)))).toEqual([
    ["1"],
    ["1"],
    ["1", "2"],
    ["1", "2"],
  ])
  expect(matches.flat().map(({ rulesSeq }) => rulesSeq)).toEqual([0, 0, 1, 1])
})

test("a rule with the number of a deleted rule is not confused with it", async () => {
  const changing = sourceOf([aRule("1", "cat", "100", "old")])
  const index = await RuleIndex.load(changing.source)
  changing.remove(aRule("1", "cat"))
  changing.add(aRule("2", "cat", "200"))
  changing.add(aRule("3", "dog", "300"))
  await index.catchUp()
  expect(await matchOf(index, aPost("a cat"))).toEqual([{ appId: "200", rulesSeq: 3, rules: [{ id: "2", tag: "" }] }])
})

const berlin = { id: "3078869807f9dd36", name: "Berlin", full_name: "Berlin, Germany", country_code: "DE" }

/** A post from Berlin, with the place as X sends it. */
function fromBerlin(id: string): Envelope {
  return { data: { id, text: "servus", geo: { place_id: berlin.id } }, includes: { places: [berlin] } }
}

/** A repost of it: X tells the place of the original by id only. */
function repostOf({ data }: Envelope): Envelope {
  return {
    data: { id: "99", text: "RT @wren: servus", referenced_tweets: [{ type: "retweeted", id: data.id }] },
    includes: { tweets: [data] },
  }
}

test("a repost matches by the place of its original, which an earlier post described", async () => {
  const { source } = sourceOf([aRule("1", "place:berlin"), aRule("2", "place_country:de")])
  const index = await RuleIndex.load(source)
  const post = fromBerlin("5")
  expect(await matchOf(index, repostOf(post))).toEqual([])
  expect(await index.match([post, repostOf(post)])).toEqual([
    [
      {
        appId: "100",
        rulesSeq: 0,
        rules: [
          { id: "1", tag: "" },
          { id: "2", tag: "" },
        ],
      },
    ],
    [
      {
        appId: "100",
        rulesSeq: 0,
        rules: [
          { id: "1", tag: "" },
          { id: "2", tag: "" },
        ],
      },
    ],
  ])
})

test("places and links of stored posts are known after a start", async () => {
  const post = fromBerlin("5")
  const short = "https://sho.rt/a"
  const linking = (id: string, unwound?: string): Envelope => ({
    data: {
      id,
      text: "see https://t.co/abc",
      entities: {
        urls: [{ start: 4, end: 20, url: "https://t.co/abc", expanded_url: short, unwound_url: unwound }],
      },
    },
  })
  const stored = [linking("6", "https://example.com/long"), post].map((envelope) => ({
    id: envelope.data.id as PostId,
    json: JSON.stringify(envelope),
  }))
  const { source } = sourceOf([aRule("1", "place:berlin"), aRule("2", "url:example.com")], stored)
  const index = await RuleIndex.load(source)
  expect(await index.match([repostOf(post), linking("7")])).toMatchObject([
    [{ rules: [{ id: "1", tag: "" }] }],
    [{ rules: [{ id: "2", tag: "" }] }],
  ])
})

/** Rules of which each needs a word of its own and another that, by estimate, is rarer: it is longer. */
const rulesOfTwoWords = Array.from({ length: 1_000 }, (_, index) => aRule(String(index + 1), `commonplace odd${index}`))

/** Stored posts with this JSON. */
function storedPosts(json: string, count: number): readonly StoredPost[] {
  return Array.from({ length: count }, (_, id) => ({ id: String(id) as PostId, json }))
}

/** Rules that are compared with a post of the frequent word, the first one after a start. */
async function candidatesOf(posts: readonly StoredPost[], options: Parameters<typeof RuleIndex.load>[1] = {}) {
  const index = await RuleIndex.load(sourceOf(rulesOfTwoWords, posts).source, options)
  expect(await matchOf(index, aPost("commonplace odd7"))).toMatchObject([{ rules: [{ id: "8", tag: "" }] }])
  const before = index.candidates
  await matchOf(index, aPost("commonplace"))
  return index.candidates - before
}

test("after a start rules are filed under the words that are rare in the newest stored posts", async () => {
  const walked = JSON.stringify(aPost("commonplace"))
  expect(await candidatesOf([])).toBe(1_000)
  expect(await candidatesOf(storedPosts(walked, 20))).toBe(0)
  // One whose text stands there twice is left to the plain reader.
  expect(await candidatesOf(storedPosts(walked.replace('"text"', '"text":"odd7","text"'), 20))).toBe(0)
})

test("a start counts the words of stored posts for at most a second", async () => {
  const stored = storedPosts(JSON.stringify(aPost("commonplace")), 20)
  let readings = 0
  expect(await candidatesOf(stored, { clock: { monotonicMs: () => readings++ * 500 } })).toBe(1_000)
  readings = 0
  expect(await candidatesOf(stored, { clock: { monotonicMs: () => readings++ * 10 } })).toBe(0)
})

test("a start reads no more than 32 MiB of stored posts, however large they are", async () => {
  const json = JSON.stringify({ ...aPost("x".repeat(1_048_576)), includes: { places: [] } })
  const posts = Array.from({ length: 5_000 }, (_, id) => ({ id: String(id) as PostId, json }))
  const { source, bytesRead } = sourceOf([], posts)
  await RuleIndex.load(source)
  expect(bytesRead()).toBeGreaterThan(31 * 1_048_576)
  expect(bytesRead()).toBeLessThanOrEqual(33 * 1_048_576)
})

test("a stored rule with embedding: is refused by name when there is no endpoint", async () => {
  const { source } = sourceOf([aRule("7", 'embedding:"a cat"')])
  await expect(RuleIndex.load(source)).rejects.toThrow("Stored rule 7 has embedding:, and there is no endpoint for it.")
})

/** An endpoint with embeddings from it. */
async function anEndpoint() {
  const endpoint = await startEmbeddingsEndpoint()
  const embeddings = createEmbeddings({ url: endpoint.url, model: "words", clock })
  return {
    endpoint,
    embeddings,
    inputs: () => endpoint.asked.map(({ input }) => input),
    async [Symbol.asyncDispose]() {
      await embeddings.close()
      await endpoint[Symbol.asyncDispose]()
    },
  }
}

test("the endpoint is called only while a rule needs similarities, once for each text", async () => {
  await using asking = await anEndpoint()
  const changing = sourceOf([aRule("1", "cat")])
  const index = await RuleIndex.load(changing.source, asking)
  await index.match([aPost("a cat")])
  expect(asking.inputs()).toEqual([])

  const rules = [aRule("2", 'embedding:"cat dog"'), aRule("3", 'embedding:"cat dog" lang:en')] as const
  for (const rule of rules) changing.add(rule)
  await index.catchUp()
  await index.match(["cat", "dog", "cat"].map(aPost))
  await index.match([aPost("bird")])
  expect(asking.inputs()).toEqual([["cat dog", "cat", "dog"], ["bird"]])

  changing.remove(rules[0])
  await index.catchUp()
  await index.match([aPost("cow")])
  changing.remove(rules[1])
  await index.catchUp()
  await index.match([aPost("cow")])
  expect(asking.inputs().slice(2)).toEqual([["cow"]])

  // A text is forgotten with its last rule, also one that no post was compared with yet.
  const brief = aRule("4", 'embedding:"brief"')
  changing.add(brief)
  changing.remove(brief)
  changing.add(aRule("5", 'embedding:"cat dog"'))
  await index.catchUp()
  await index.match([aPost("cow")])
  expect(asking.inputs().slice(3)).toEqual([["cat dog", "cow"]])
})

test("a rule that is added during a call of the endpoint applies, with its own text", async () => {
  await using asking = await anEndpoint()
  const changing = sourceOf([aRule("1", 'embedding:"cat"')])
  const index = await RuleIndex.load(changing.source, asking)
  let held = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  asking.endpoint.fault = (response, _, body) => {
    held += 1
    if (held > 1) return false
    void promise.then(() => response.end(JSON.stringify(body)))
    return true
  }
  const matching = matchOf(index, aPost("cat"))
  await expect.poll(() => held).toBe(1)
  changing.add(aRule("2", 'embedding:"a cat"'))
  await index.catchUp()
  resolve()
  expect(await matching).toMatchObject([
    {
      rules: [
        { id: "1", tag: "" },
        { id: "2", tag: "" },
      ],
    },
  ])
})

test("a rule that is added while a batch pauses applies to the rest of it", async () => {
  await using asking = await anEndpoint()
  const changing = sourceOf([])
  const index = await RuleIndex.load(changing.source, asking)
  let posts = 0
  const matches = await index.match([aPost("cat"), aPost("cat"), aPost("cat")], () => {
    posts += 1
    if (posts !== 1) return undefined
    changing.add(aRule("1", 'embedding:"cat"'))
    return index.catchUp()
  })
  expect(matches.map((one) => one.length)).toEqual([0, 1, 1])
})

test("a post is compared by 2,000 characters, a repost by its original's, one without text not at all", async () => {
  await using asking = await anEndpoint()
  const { source } = sourceOf([aRule("1", 'embedding:"servus"')])
  const index = await RuleIndex.load(source, asking)
  const found = await index.match([
    repostOf(fromBerlin("5")),
    aPost(" \n"),
    aPost(`servus${" ".repeat(2_000)}cat`),
    { data: { id: "2", text: "servus", referenced_tweets: "nonsense" as never }, includes: {} },
  ])
  expect(found.map((matches) => matches.length)).toEqual([1, 0, 1, 1])
  expect(asking.inputs()).toEqual([["servus", "servus", `servus${" ".repeat(1_994)}`]])
})

test("vectors of a new size are refused once, and the next batch starts afresh", async () => {
  await using asking = await anEndpoint()
  const { source } = sourceOf([aRule("1", 'embedding:"cat"')])
  const index = await RuleIndex.load(source, asking)
  await index.match([aPost("cat")])
  asking.endpoint.fault = (response, { input }) => {
    const data = input.map((_, at) => ({ index: at, embedding: [1, 0] }))
    response.end(JSON.stringify({ data }))
    return true
  }
  const refused = index.match([aPost("dog")])
  await expect(refused).rejects.toBeInstanceOf(EmbeddingsUnavailable)
  await expect(refused).rejects.toThrow(
    "The embeddings endpoint responded with vectors of another size than before: 256, 2.",
  )
  expect(await matchOf(index, aPost("dog"))).toHaveLength(1)
})

test("each index hashes the rules under a key that no app knows", async () => {
  const asked: number[] = []
  const random = { bytes: (count: number) => new Uint8Array(count).fill(asked.push(count)) }
  const rule = aRule("1", "cat dog")
  for (let made = 0; made < 2; made++) {
    const index = await RuleIndex.load(sourceOf([rule]).source, { random })
    expect(index.size).toBe(1)
  }
  expect(asked).toEqual([8, 8])
})
