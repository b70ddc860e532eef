/**
 * Search over stored posts, counts, and lists that are searches by another name. Each test bears the id of its row of
 * docs/compatibility.md.
 */
import { paths, snowflakeEpochMs, type CountsBody } from "@sluice/api"
import { expect } from "vitest"
import { openStream } from "../support/open-stream.testing.ts"
import { type TestResponse, type TestApp, envelope } from "../support/test-server.testing.ts"
import { hourMs, idsIn, ingestNew, minuteMs, newId, newUser, postBy, test } from "./support.testing.ts"

const dayMs = 24 * hourMs
const inFuture = "a minimum of 10 seconds prior to the request time."

test("search-times: a post has the time in its id, a search without an end has none, and search/all begins with the first post", async ({
  server,
}) => {
  const word = newWord()
  const nowMs = Date.now()
  const [old, week, recent, ahead] = [
    idAt(nowMs - 400 * dayMs),
    idAt(nowMs - 8 * dayMs),
    idAt(nowMs - 1_000),
    idAt(nowMs + hourMs),
  ]
  await ingestNew(server, ...[old, week, recent, ahead, "1234"].map((id) => envelope(id, `a ${word}`)))
  const all = await search(server, paths.searchAll, { query: word })
  expect(all.ids).toEqual([ahead, recent, week, old, "1234"])
  expect((await search(server, paths.searchRecent, { query: word })).ids).toEqual([ahead, recent])
  // The envelopes have one `created_at`, in the past: it says nothing here.
  const since = { query: word, start_time: new Date(nowMs - minuteMs).toISOString() }
  expect((await search(server, paths.searchAll, since)).ids).toEqual([ahead, recent])
  const until = { query: word, end_time: new Date(nowMs - 7 * dayMs).toISOString() }
  expect((await search(server, paths.searchAll, until)).ids).toEqual([week, old, "1234"])
})

test("search-future: the last ten seconds may be asked for, and later times get X's sentence", async ({ server }) => {
  const now = new Date().toISOString()
  const fiveAgo = new Date(Date.now() - 5_000).toISOString()
  for (const path of [paths.searchRecent, paths.searchAll, paths.countsRecent, paths.countsAll]) {
    expect((await server.call(`${path}?${queryOf({ query: "cat", start_time: fiveAgo, end_time: now })}`)).status).toBe(
      200,
    )
    for (const name of ["start_time", "end_time"]) {
      const later = new Date(Date.now() + hourMs).toISOString()
      const shown = `${later.slice(0, 16)}Z`
      const refused = await server.call(`${path}?${queryOf({ query: "cat", [name]: later })}`)
      expect(refused.status).toBe(400)
      expect(refused.body.errors).toMatchObject([
        { message: `Invalid '${name}':'${shown}'. '${name}' must be ${inFuture}`, parameters: { [name]: [shown] } },
      ])
    }
  }
  await expectCountsUpToNow(server)
})

/** Counts that begin in the last ten seconds go up to now, and those that begin later are empty. */
async function expectCountsUpToNow(server: TestApp): Promise<void> {
  const word = newWord()
  const nowMs = Date.now()
  const [before, id] = [idAt(nowMs - 4_000), idAt(nowMs - 2_000)]
  await ingestNew(server, envelope(before, `a ${word}`), envelope(id, `a ${word}`))
  const counted = async (path: string, parameters: Readonly<Record<string, string>>) => {
    const { body } = await server.call(`${path}?${queryOf({ query: word, ...parameters })}`)
    const intervals = body.data as { start: string; end: string }[]
    expect(intervals.filter(({ start, end }) => start >= end)).toEqual([])
    return { count: body.meta.total_tweet_count, intervals: intervals.length }
  }
  for (const path of [paths.countsRecent, paths.countsAll]) {
    expect((await counted(path, { start_time: new Date(nowMs - 5_000).toISOString() })).count).toBe(2)
    expect((await counted(path, { since_id: before })).count).toBe(1)
    expect((await counted(path, { until_id: "9223372036854775807" })).count).toBe(2)
    expect(await counted(path, { since_id: idAt(nowMs + hourMs) })).toEqual({ count: 0, intervals: 0 })
  }
  expect(await counted(paths.countsRecent, { until_id: idAt(nowMs - 400 * dayMs) })).toEqual({ count: 0, intervals: 0 })
}

test("search-tokens: next_token and pagination_token are one token, of which a request has one, and no search leads back", async ({
  server,
}) => {
  const word = newWord()
  const ids = await ingestAt(server, word, 25)
  const request = { query: word, max_results: "10" }
  const first = await search(server, paths.searchRecent, request)
  const token = first.meta.next_token ?? ""
  for (const name of ["next_token", "pagination_token"]) {
    const second = await search(server, paths.searchRecent, { ...request, [name]: token })
    expect([...first.ids, ...second.ids]).toEqual(ids.slice(0, 20))
    expect(second.meta).not.toHaveProperty("previous_token")
  }
  const both = { ...request, next_token: token, pagination_token: token }
  const refused = await server.call(`${paths.searchRecent}?${queryOf(both)}`)
  expect([refused.status, refused.body.errors]).toMatchObject([
    400,
    [{ parameters: { next_token: [token], pagination_token: [token] } }],
  ])
})

test("search-pages: a search that reaches its bound ends a page early, and only the last page has no next_token", async ({
  server,
}) => {
  const user = newUser()
  const oldest = idAt(Date.now() - hourMs)
  await ingestNew(server, postBy(user, oldest, { public_metrics: { like_count: 1 } }))
  for (let part = 0; part < 6; part += 1)
    await ingestNew(server, ...Array.from({ length: 1_000 }, () => postBy(user, idAt(Date.now()))))
  const found: string[] = []
  const sizes: number[] = []
  let token: string | undefined
  do {
    const more = token === undefined ? {} : { next_token: token }
    const page = await search(server, paths.searchAll, { query: `from:${user} min_likes:1`, ...more })
    sizes.push(page.meta.result_count)
    found.push(...page.ids)
    token = page.meta.next_token
  } while (token !== undefined)
  expect(found).toEqual([oldest])
  expect(sizes.length).toBeGreaterThan(1)
  expect(sizes[0]).toBe(0)
})

test("empty-search: a search without results has an empty list, as other lists have", async ({ server }) => {
  const [user, id] = [newUser(), newId()]
  await ingestNew(server, postBy(user, id))
  const empty = { data: [], meta: { result_count: 0 } }
  const query = queryOf({ query: newWord() })
  const lists = [
    `${paths.searchRecent}?${query}`,
    `${paths.searchAll}?${query}`,
    paths.mentions.replace(":id", user),
    paths.quotes.replace(":id", id),
    paths.reposts.replace(":id", id),
    paths.reposters.replace(":id", id),
  ]
  for (const list of lists) {
    // While many posts of other tests wait for the index, a page may be short.
    const page = async (): Promise<unknown> => {
      const { status, body } = await server.call(list)
      return [list, status, body]
    }
    await expect.poll(page, { timeout: 20_000 }).toEqual([list, 200, empty])
  }
})

test("search-reposts: keywords find no reposts unless the query asks for them or the setting does, and counts agree", async ({
  server,
  otherServer,
}) => {
  const word = newWord()
  const [original, repost] = [idAt(Date.now() - hourMs), idAt(Date.now() - minuteMs)]
  const envelopes = [
    envelope(original, `a ${word}`),
    {
      ...envelope(repost, "RT @wren: a …", { referenced_tweets: [{ type: "retweeted", id: original }] }),
      includes: {
        tweets: [{ id: original, text: `a ${word}`, author_id: "7" }],
        users: [{ id: "7", username: "wren" }],
      },
    },
  ]
  const cases: readonly (readonly [query: string, plain: readonly string[], withReposts: readonly string[]])[] = [
    [word, [original], [repost, original]],
    [`${word} -is:retweet`, [original], [original]],
    [`${word} is:retweet`, [repost], [repost]],
    [`retweets_of:7 ${word}`, [repost], [repost]],
    [`retweets_of_tweet_id:${original}`, [repost], [repost]],
  ]
  for (const [one, place] of [
    [server, 1],
    [otherServer, 2],
  ] as const) {
    await ingestNew(one, ...envelopes)
    for (const expected of cases) {
      const [query, hits] = [expected[0], expected[place]]
      expect([query, (await search(one, paths.searchAll, { query })).ids]).toEqual([query, hits])
      expect([query, (await counts(one, paths.countsAll, { query })).meta.total_tweet_count]).toEqual([
        query,
        hits.length,
      ])
    }
  }
})

test("search-relevancy: distinct clauses come first, then reactions, then the newest, in an order that pages keep", async ({
  server,
}) => {
  const [cat, dog] = [newWord(), newWord()]
  const at = (hoursAgo: number): string => idAt(Date.now() - hoursAgo * hourMs)
  const metrics = (like: number, retweet: number) => ({ public_metrics: { like_count: like, retweet_count: retweet } })
  const [both, liked, reposted, newer, older] = [at(9), at(8), at(7), at(5), at(6)]
  const others = Array.from({ length: 10 }, (_, index) => at(20 + index))
  await ingestNew(
    server,
    envelope(both, `${cat} and ${dog}`),
    envelope(liked, cat, metrics(3, 0)),
    envelope(reposted, cat, metrics(0, 2)),
    envelope(newer, cat),
    envelope(older, cat),
    ...others.map((id) => envelope(id, cat)),
  )
  const request = { query: `${cat} OR ${dog}`, sort_order: "relevancy", max_results: "10" }
  const first = await search(server, paths.searchAll, request)
  expect(first.meta).toMatchObject({ newest_id: newer, result_count: 10 })
  await ingestNew(server, envelope(at(0), `${cat} ${dog} that came later`))
  const second = await search(server, paths.searchAll, { ...request, next_token: first.meta.next_token ?? "" })
  expect([...first.ids, ...second.ids]).toEqual([both, reposted, liked, newer, older, ...others])
  expect(second.meta).not.toHaveProperty("next_token")
})

test("counts-pages: a page of counts has 31 days at any granularity, the newest first, zeros included", async ({
  server,
}) => {
  const word = newWord()
  const endMs = Math.floor(Date.now() / dayMs) * dayMs - dayMs
  const startMs = endMs - 40 * dayMs
  await ingestNew(server, ...[startMs, endMs - 1, endMs].map((ms) => envelope(idAt(ms), word)))
  const request = { query: word, start_time: new Date(startMs).toISOString(), end_time: new Date(endMs).toISOString() }
  for (const [granularity, lengthMs] of [
    ["minute", minuteMs],
    ["day", dayMs],
  ] as const) {
    const first = await counts(server, paths.countsAll, { ...request, granularity })
    const token = first.meta.next_token ?? ""
    const second = await counts(server, paths.countsAll, { ...request, granularity, next_token: token })
    expect([first.data.length, second.data.length]).toEqual([(31 * dayMs) / lengthMs, (9 * dayMs) / lengthMs])
    expect([first.meta.total_tweet_count, second.meta.total_tweet_count]).toEqual([1, 1])
    expect([second.data[0]?.start, first.data.at(-1)?.end]).toEqual([request.start_time, request.end_time])
    expect(second.data.at(-1)?.end).toBe(first.data[0]?.start)
    expect(second.meta).not.toHaveProperty("next_token")
  }
  const recent = await counts(server, paths.countsRecent, { query: word, granularity: "minute" })
  expect(recent.meta).not.toHaveProperty("next_token")
  expect(recent.data.length).toBe((7 * dayMs) / minuteMs + 1)
})

test("counts-names: counts have both of X's names for each number", async ({ server }) => {
  const word = newWord()
  await ingestAt(server, word, 2)
  const { data, meta } = await counts(server, paths.countsRecent, { query: word, "search_count.fields": "start" })
  expect(meta).toEqual({ total_tweet_count: 2, total_post_count: 2 })
  const [last] = data.toReversed()
  expect(Object.keys(last ?? {})).toEqual(["end", "start", "tweet_count", "post_count"])
  for (const { tweet_count, post_count } of data) expect(post_count).toBe(tweet_count)
})

test("acknowledged-posts: a search finds a post as soon as the response to it has come", async ({ server }) => {
  const word = newWord()
  for (let count = 1; count <= 20; count += 1) {
    const id = idAt(Date.now())
    await ingestNew(server, envelope(id, `${word} ${count}`))
    expect((await search(server, paths.searchRecent, { query: word, max_results: "100" })).ids).toHaveLength(count)
  }
})

test("mentions: posts that name a user by id or by username, replies and quotes included, and no reposts", async ({
  server,
}) => {
  const [user, name] = [newUser(), newWord()]
  const mention = (by: object) => ({ entities: { mentions: [{ start: 0, end: 5, ...by }] } })
  const newIds = Array.from({ length: 7 }, newId).toSorted(newestFirst)
  const [byName, byId, reply, repost, own, ofAnother, byDigits] = newIds
  await ingestNew(
    server,
    { data: { id: own, text: "mine", author_id: user }, includes: { users: [{ id: user, username: name, name }] } },
    envelope(byName ?? "", `@${name} hello`, mention({ username: name })),
    envelope(byId ?? "", "hello", mention({ username: "another", id: user })),
    envelope(reply ?? "", `@${name} yes`, { in_reply_to_user_id: user, ...mention({ username: name }) }),
    envelope(repost ?? "", `RT @${name}: mine`, {
      referenced_tweets: [{ type: "retweeted", id: own }],
      ...mention({ username: name }),
    }),
    envelope(ofAnother ?? "", `@${name} who had the name`, mention({ username: name, id: newUser() })),
    envelope(byDigits ?? "", `@${user} whose name is a number`, mention({ username: user, id: newUser() })),
  )
  const listed = await server.call(paths.mentions.replace(":id", user))
  expect(idsIn(listed.body.data)).toEqual([byName, byId, reply])
})

test("quotes-and-reposts: lists have the posts that refer to the post, quotes with their reposts, and pages lead both ways", async ({
  server,
}) => {
  const original = newId()
  const ids = Array.from({ length: 30 }, () => newId()).toSorted(newestFirst)
  const [quotes, reposts] = [ids.slice(0, 12), ids.slice(15)]
  const [requote = "", requoteWithout = "", reply = ""] = Array.from({ length: 3 }, () => newId()).toSorted(newestFirst)
  const replyingQuote = { ...refers("quoted", original), in_reply_to_user_id: "8" }
  await ingestNew(
    server,
    envelope(original, "the original"),
    ...quotes.map((id) => envelope(id, "look", refers("quoted", original))),
    ...reposts.map((id) => envelope(id, "RT @wren: the original", refers("retweeted", original))),
    {
      ...envelope(requote, "RT @wren: look", refers("retweeted", quotes[0] ?? "")),
      includes: { tweets: [{ id: quotes[0], text: "look", author_id: "7", ...refers("quoted", original) }] },
    },
    envelope(requoteWithout, "RT @wren: look", refers("retweeted", quotes[0] ?? "")),
    envelope(reply, "@heron look", replyingQuote),
  )
  const quoted = `${paths.quotes.replace(":id", original)}?max_results=10`
  const exclude = "&exclude=retweets,replies"
  const without = await server.call(quoted + exclude)
  expect(idsIn(without.body.data)).toEqual(quotes.slice(0, 10))
  const next = await server.call(`${quoted}${exclude}&pagination_token=${without.body.meta.next_token}`)
  expect(idsIn(next.body.data)).toEqual(quotes.slice(10))
  const back = await server.call(`${quoted}${exclude}&pagination_token=${next.body.meta.previous_token}`)
  expect(idsIn(back.body.data)).toEqual(quotes.slice(0, 10))
  const whole = `${paths.quotes.replace(":id", original)}?max_results=100`
  const quotesOf = async (query: string): Promise<readonly string[]> =>
    idsIn((await server.call(whole + query)).body.data).toSorted(newestFirst)
  expect(await quotesOf("")).toEqual([...quotes, requote, reply].toSorted(newestFirst))
  expect(await quotesOf("&exclude=retweets")).toEqual([...quotes, reply].toSorted(newestFirst))
  expect(await quotesOf("&exclude=replies")).toEqual([...quotes, requote].toSorted(newestFirst))
  expect(idsIn((await server.call(paths.reposts.replace(":id", original))).body.data)).toEqual(reposts)
})

test("quotes-of-reposts: a repost has no quotes and reposts of its own, and is known", async ({ server }) => {
  const [quote = "", repost = "", original = ""] = newIdsDown(3)
  await ingestNew(
    server,
    envelope(original, "the original"),
    envelope(repost, "RT @wren: the original", refers("retweeted", original)),
    envelope(quote, "look", refers("quoted", original)),
  )
  for (const path of [paths.quotes, paths.reposts, paths.reposters]) {
    const { status, body } = await server.call(path.replace(":id", repost))
    expect([status, body]).toEqual([200, { data: [], meta: { result_count: 0 } }])
  }
})

test("reposters: the authors of a post's stored reposts, by these, once on a page, and pages lead both ways", async ({
  server,
}) => {
  const [original = "", ...ids] = newIdsDown(13).toReversed()
  const reposts = ids.toReversed()
  const users = reposts.map((_id, at) => ({ id: newUser(), username: newWord(), name: `Reposter ${at}` }))
  const repostBy = (id: string, author: object, known: readonly object[]) => ({
    data: { id, text: "RT @wren: the original", ...author, ...refers("retweeted", original) },
    includes: { users: known },
  })
  const [twice, unknown, nobody] = [users[1], newUser(), reposts.at(-1)]
  await ingestNew(
    server,
    envelope(original, "the original"),
    ...reposts.map((id, at) => {
      if (id === nobody) return repostBy(id, {}, [])
      if (at === 5) return repostBy(id, { author_id: unknown }, [])
      const user = at === 3 ? twice : users[at]
      return repostBy(id, { author_id: user?.id }, [{ ...user, verified: true }])
    }),
  )
  const list = `${paths.reposters.replace(":id", original)}?max_results=6`
  const page = async (token = ""): Promise<TestResponse> =>
    server.call(token === "" ? list : `${list}&pagination_token=${token}`)
  const first = await page()
  expect(first.body.data).toEqual([users[0], users[1], users[2], users[4]])
  expect(first.body.errors).toMatchObject([
    { parameter: "author_id", resource_id: unknown, detail: `Could not find user with author_id: [${unknown}].` },
  ])
  expect(first.body.meta).toEqual({ result_count: 4, next_token: expect.any(String) as string })
  const second = await page(first.body.meta.next_token as string)
  expect(second.body.data).toEqual(users.slice(6, 11))
  expect(second.body.meta).toEqual({ result_count: 5, previous_token: expect.any(String) as string })
  const back = await page(second.body.meta.previous_token as string)
  expect(idsIn(back.body.data)).toEqual(idsIn(first.body.data))
  const { body } = await server.call(`${list}&user.fields=verified`)
  expect(body.data[0]).toEqual({ ...users[0], verified: true })
})

test("included-posts: posts that came only in the includes of others are found by their ids, and by nothing else", async ({
  server,
}) => {
  const [newer = "", older = "", quoted = "", far = "", textless = ""] = newIdsDown(5)
  const [user, word] = [newUser(), newWord()]
  const included = (id: string, text: string, more: object = {}) => ({ id, text, author_id: user, lang: "en", ...more })
  const author = { id: user, username: newWord(), name: "Included" }
  await ingestNew(
    server,
    {
      ...envelope(older, "an answer", refers("quoted", quoted)),
      includes: {
        users: [author],
        tweets: [
          included(quoted, `${word} as it was`),
          included(far, `far ${word}`),
          { id: textless, author_id: user },
        ],
      },
    },
    {
      ...envelope(newer, "look", refers("quoted", quoted)),
      includes: { users: [author], tweets: [included(quoted, word, { public_metrics: { like_count: 3 } })] },
    },
  )
  const one = await server.call(paths.postById.replace(":id", quoted))
  expect(one.body).toEqual({ data: { id: quoted, text: word, edit_history_tweet_ids: [quoted] } })
  const fields = "tweet.fields=lang,public_metrics&expansions=author_id"
  const several = await server.call(`${paths.postsById}?ids=${far},${textless},${quoted},${older}&${fields}`)
  expect(idsIn(several.body.data)).toEqual([far, quoted, older])
  expect(several.body.data[1]).toMatchObject({ lang: "en", public_metrics: { like_count: 3 } })
  expect(several.body.includes.users).toContainEqual(author)
  expect(several.body.errors[0]).toMatchObject({ resource_id: textless, title: "Not Found Error" })

  expect((await search(server, paths.searchAll, { query: word })).ids).toEqual([])
  expect((await counts(server, paths.countsAll, { query: word })).meta.total_tweet_count).toBe(0)
  expect((await server.call(paths.userPosts.replace(":id", user))).body.data).toEqual([])
  expect((await server.call(paths.quotes.replace(":id", far))).body).toEqual({ data: [], meta: { result_count: 0 } })
  // A post of its own replaces what came with others.
  await ingestNew(server, envelope(quoted, "of its own"))
  expect((await server.call(paths.postById.replace(":id", quoted))).body.data.text).toBe("of its own")
})

test("edit-versions: searches, counts, timelines and lists have the newest version alone, and streams have each", async ({
  server,
}) => {
  const [last, middle, first] = [3, 2, 1].map((minutes) => idAt(Date.now() - minutes * minuteMs)).toReversed() as [
    string,
    string,
    string,
  ]
  const [user, word, quoted, mentioned] = [newUser(), newWord(), newId(), newUser()]
  const version = (id: string, ...history: string[]) =>
    postBy(user, id, {
      text: `${word} in ${id}`,
      edit_history_tweet_ids: history,
      referenced_tweets: [{ type: "quoted", id: quoted }],
      entities: { mentions: [{ start: 0, end: 1, username: "x", id: mentioned }] },
    })
  const reader = await server.newApp()
  await reader.send("POST", paths.rules, { add: [{ value: word }] })
  await using stream = await openStream(reader)
  const streamed: unknown[] = []
  const come = async (...envelopes: unknown[]): Promise<void> => {
    await ingestNew(server, ...envelopes)
    for (const _ of envelopes) streamed.push((await stream.next()).data.edit_history_tweet_ids)
  }
  const shown = async () => {
    const found = await search(server, paths.searchRecent, { query: word })
    const lists = [paths.userPosts.replace(":id", user), paths.quotes.replace(":id", quoted)]
    const pages = await Promise.all(
      [...lists, paths.mentions.replace(":id", mentioned)].map((path) => server.call(path)),
    )
    for (const { body } of pages) expect(body.data).toEqual(pages[0]?.body.data)
    expect(found.ids).toEqual(idsIn(pages[0]?.body.data))
    const all = await counts(server, paths.countsAll, { query: word })
    const exact = await counts(server, paths.countsRecent, { query: `${word} from:${user}` })
    expect([all.meta.total_tweet_count, exact.meta.total_tweet_count]).toEqual([found.ids.length, found.ids.length])
    return pages[0]?.body.data as unknown
  }
  const newest = (id: string, ...chain: string[]) => [{ id, text: `${word} in ${id}`, edit_history_tweet_ids: chain }]
  await come(version(middle, first, middle))
  expect(await shown()).toEqual(newest(middle, first, middle))
  await come(version(first, first))
  expect(await shown()).toEqual(newest(middle, first, middle))
  await come(version(last, first, middle, last))
  expect(await shown()).toEqual(newest(last, first, middle, last))
  expect((await search(server, paths.searchRecent, { query: `${word} ${first}` })).ids).toEqual([])
  expect((await search(server, paths.searchAll, { query: word, sort_order: "relevancy" })).ids).toEqual([last])
  expect(streamed).toEqual([[first, middle], [first], [first, middle, last]])
})

test("unknown-references: lists about a user or a post that is not there are 200 with errors", async ({ server }) => {
  const unknown = newId()
  for (const [path, kind] of [
    [paths.mentions, "user"],
    [paths.quotes, "tweet"],
    [paths.reposts, "tweet"],
    [paths.reposters, "tweet"],
  ] as const) {
    const { status, body } = await server.call(path.replace(":id", unknown))
    expect(status).toBe(200)
    expect(body).not.toHaveProperty("data")
    expect(body.errors).toMatchObject([{ parameter: "id", resource_id: unknown, resource_type: kind }])
  }
})

test("query-refusals: a query that is no rule of search is refused with all that is wrong, in X's words", async ({
  server,
  otherServer,
}) => {
  const refusal = async (one: TestApp, query: string): Promise<TestResponse> =>
    one.call(`${paths.searchRecent}?${queryOf({ query })}`)
  for (const query of ["cat (", "-cat", "list:7 cat", "form:me"]) {
    const { status, body } = await refusal(server, query)
    expect([status, body.errors]).toMatchObject([
      400,
      [
        {
          message: expect.stringMatching(/^There were errors processing your request: ./) as string,
          parameters: { query: [query] },
        },
      ],
    ])
  }
  expect((await refusal(server, "cat min_followers:5")).status).toBe(200)
  const strict = await refusal(otherServer, "cat min_followers:5")
  expect([strict.status, strict.text]).toEqual([
    400,
    expect.stringContaining("not available in current product or product packaging"),
  ])
})

const refers = (type: string, id: string) => ({ referenced_tweets: [{ type, id }] })

/** Free ids, newest first. */
function newIdsDown(count: number): readonly string[] {
  return Array.from({ length: count }, () => newId()).toSorted(newestFirst)
}

let words = 0

/** A word that no other test uses. */
function newWord(): string {
  words += 1
  return `searched${words}`
}

let sequence = 0

/** An unused id of this moment. */
function idAt(ms: number): string {
  sequence += 1
  return String((BigInt(ms - snowflakeEpochMs) << 22n) + BigInt(sequence))
}

function newestFirst(a: string, b: string): number {
  return BigInt(a) < BigInt(b) ? 1 : -1
}

function queryOf(parameters: Readonly<Record<string, string>>): string {
  return new URLSearchParams(parameters).toString()
}

/** Ingests this many posts of a word, a minute apart; returns their ids, newest first. */
async function ingestAt(app: TestApp, word: string, count: number): Promise<readonly string[]> {
  const nowMs = Date.now()
  const ids = Array.from({ length: count }, (_, index) => idAt(nowMs - (index + 1) * minuteMs))
  await ingestNew(app, ...ids.map((id) => envelope(id, `a ${word}`)))
  return ids
}

interface Found {
  readonly ids: readonly string[]
  readonly meta: { readonly result_count: number; readonly next_token?: string }
}

async function search(app: TestApp, path: string, parameters: Readonly<Record<string, string>>): Promise<Found> {
  const { status, body, text } = await app.call(`${path}?${queryOf(parameters)}`)
  expect(status, text).toBe(200)
  return { ids: idsIn(body.data), meta: body.meta }
}

async function counts(app: TestApp, path: string, parameters: Readonly<Record<string, string>>): Promise<CountsBody> {
  const { status, body, text } = await app.call(`${path}?${queryOf(parameters)}`)
  expect(status, text).toBe(200)
  return body as CountsBody
}
