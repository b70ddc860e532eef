/**
 * Lists: their sizes, their order, and the tokens of their pages. Each test bears the id of its row of
 * docs/compatibility.md.
 */
import { paths, type PageMeta } from "@sluice/api"
import { expect } from "vitest"
import { loadConfig } from "../../packages/server/src/index.ts"
import { asId, type AppId } from "../../packages/server/src/model/ids.ts"
import { createManualClock } from "../../packages/server/src/runtime/manual-clock.testing.ts"
import { systemRandom } from "../../packages/server/src/runtime/random.ts"
import { createSecretBox } from "../../packages/server/src/runtime/secret-box.ts"
import { createPageTokens, type PagePosition } from "../../packages/server/src/paging/page-token.ts"
import { type TestResponse, type TestApp, type TestServer } from "../support/test-server.testing.ts"
import {
  addRules,
  hourMs,
  idsIn,
  ingestNew,
  ingestPosts,
  masterKey,
  minuteMs,
  newBlock,
  newIds,
  newUser,
  postBy,
  postsPath,
  test,
  tokenForm,
} from "./support.testing.ts"

test("page-size-bounds: each list has separate page sizes, and names them when a request exceeds them", async ({
  server,
}) => {
  const app = await server.newApp()
  const user = newUser()
  const ids = await ingestPosts(server, user, 101)
  const lists = [
    { path: postsPath(user), min: 5, max: 100 },
    { path: paths.rules, min: 1, max: 1000 },
    { path: paths.links, min: 1, max: 100 },
  ]
  for (const { path, min, max } of lists) {
    for (const size of [min - 1, max + 1]) {
      const { status, body } = await app.call(`${path}?max_results=${size}`)
      expect(status).toBe(400)
      expect(body.errors).toMatchObject([
        {
          parameters: { max_results: [String(size)] },
          message: `The \`max_results\` query parameter value [${size}] is not between ${min} and ${max}`,
        },
      ])
    }
    for (const size of [min, max]) expect((await app.call(`${path}?max_results=${size}`)).status).toBe(200)
  }
  expect((await pageOf(server, user)).ids).toEqual(ids.slice(0, 10))
  expect((await pageOf(server, user, "?max_results=5")).ids).toEqual(ids.slice(0, 5))
  expect((await pageOf(server, user, "?max_results=100")).ids).toEqual(ids.slice(0, 100))
  await addRules(app, { value: "one more" })
  await addRules(app, ...Array.from({ length: 1000 }, (_, index) => ({ value: `word${index}` })))
  const rules = await app.call(paths.rules)
  expect(rules.body.data).toHaveLength(1000)
  expect(rules.body.meta).toMatchObject({ result_count: 1000, next_token: expect.any(String) as string })
})

test("token-direction: next_token leads to older posts and previous_token to newer ones, under one parameter name", async ({
  server,
}) => {
  const user = newUser()
  const ids = await ingestPosts(server, user, 15)
  const pages = [ids.slice(0, 5), ids.slice(5, 10), ids.slice(10)]
  const first = await pageOf(server, user, "?max_results=5")
  const second = await pageOf(server, user, `?max_results=5&pagination_token=${first.meta.next_token}`)
  const third = await pageOf(server, user, `?max_results=5&pagination_token=${second.meta.next_token}`)
  expect([first.ids, second.ids, third.ids]).toEqual(pages)
  const secondAgain = await pageOf(server, user, `?max_results=5&pagination_token=${third.meta.previous_token}`)
  const firstAgain = await pageOf(server, user, `?max_results=5&pagination_token=${secondAgain.meta.previous_token}`)
  expect([firstAgain.ids, secondAgain.ids]).toEqual(pages.slice(0, 2))
  const forwards = await pageOf(server, user, `?max_results=5&pagination_token=${firstAgain.meta.next_token}`)
  expect(forwards.ids).toEqual(pages[1])
})

test("previous-token: every page but the first has a previous_token, to a page that ends where this one begins", async ({
  server,
}) => {
  const user = newUser()
  const base = newBlock()
  const at = (...offsets: readonly number[]): string[] => offsets.map((offset) => String(base + offset))
  await ingestNew(server, ...at(150, 140, 130, 120, 110, 100, 90, 80, 70, 60, 50, 40).map((id) => postBy(user, id)))
  const first = await pageOf(server, user, "?max_results=5")
  expect(first.ids).toEqual(at(150, 140, 130, 120, 110))
  expect(first.meta).not.toHaveProperty("previous_token")
  const second = await pageOf(server, user, `?max_results=5&pagination_token=${first.meta.next_token}`)
  expect(second.ids).toEqual(at(100, 90, 80, 70, 60))
  expect(second.meta).toHaveProperty("previous_token")
  const third = await pageOf(server, user, `?max_results=5&pagination_token=${second.meta.next_token}`)
  expect(third.ids).toEqual(at(50, 40))
  expect(third.meta).toHaveProperty("previous_token")

  // Between the first page and the second, within the first, and before it.
  await ingestNew(server, ...at(105, 135, 160, 170).map((id) => postBy(user, id)))
  const before = await pageOf(server, user, `?max_results=5&pagination_token=${second.meta.previous_token}`)
  expect(before.ids).toEqual(at(135, 130, 120, 110, 105))
  const newest = await pageOf(server, user, `?max_results=5&pagination_token=${before.meta.previous_token}`)
  expect(newest.ids).toEqual(at(170, 160, 150, 140))
  expect(newest.meta).not.toHaveProperty("previous_token")
})

test("token-binding: the server refuses a token with other parameters than those it was issued for, except max_results", async ({
  server,
}) => {
  const app = await server.newApp()
  const user = newUser()
  const ids = await ingestPosts(server, user, 15)
  const bound = "tweet.fields=lang,created_at&exclude=replies&since_id=1"
  const { next_token: token } = (await app.call(postsPath(user, `?max_results=5&${bound}`))).body.meta
  const ask = async (query: string): Promise<TestResponse> =>
    app.call(postsPath(user, `?pagination_token=${token}&${query}`))

  const larger = await ask(`max_results=7&${bound}`)
  expect(idsIn(larger.body.data)).toEqual(ids.slice(5, 12))
  const reordered = await ask("since_id=1&exclude=replies&tweet.fields=lang,created_at&max_results=5")
  expect(idsIn(reordered.body.data)).toEqual(ids.slice(5, 10))

  const changed = [
    "max_results=5",
    bound.replace("replies", "retweets"),
    bound.replace("since_id=1", "since_id=2"),
    bound.replace(",created_at", ""),
    bound.replace("&exclude=replies", ""),
    `${bound}&until_id=9000000000000000000`,
    `${bound}&expansions=author_id`,
  ]
  for (const query of changed) {
    const refused = await ask(query)
    expect(refused.status).toBe(400)
    expect(refused.body.errors).toMatchObject([
      {
        parameters: { pagination_token: [token] },
        message:
          `The \`pagination_token\` query parameter value [${token}] was issued for a request with other ` +
          "parameters. Every parameter except `max_results` must be unchanged from that request, or start again " +
          "without `pagination_token`.",
      },
    ])
  }
  // Tokens of another user, another app, another list.
  const stranger = await server.newApp()
  for (const refused of [
    await app.call(postsPath(newUser(), `?${bound}&pagination_token=${token}`)),
    await stranger.call(postsPath(user, `?${bound}&pagination_token=${token}`)),
    await app.call(`${paths.links}?pagination_token=${token}`),
    await app.call(`${paths.rules}?pagination_token=${token}`),
  ]) {
    expectInvalidToken(refused, token)
  }
})

test("token-form: a token is lowercase base32hex, and the server refuses a changed one", async ({ server }) => {
  const user = newUser()
  await ingestPosts(server, user, 15)
  const first = await pageOf(server, user, "?max_results=5")
  const second = await pageOf(server, user, `?max_results=5&pagination_token=${first.meta.next_token}`)
  for (const token of [second.meta.next_token ?? "", second.meta.previous_token ?? ""]) {
    expect(token).toMatch(tokenForm)
    const forged = [
      ...Array.from(token, (character, index) => token.slice(0, index) + after(character) + token.slice(index + 1)),
      token.toUpperCase(),
      token.slice(1),
      `${token}0`,
    ]
    await Promise.all(
      forged.map(async (changed) =>
        expectInvalidToken(await server.call(postsPath(user, `?max_results=5&pagination_token=${changed}`)), changed),
      ),
    )
  }
})

test("token-lifetime: a token lasts for 24 hours or for the lifetime that is set, where 0 means without end", async ({
  server,
  otherServer,
}) => {
  const user = newUser()
  const ids = await ingestPosts(server, user, 6)
  const older: PagePosition = { direction: "older", from: ids[3] ?? "" }
  const fresh = tokenIssued(server, user, older, Date.now() - 24 * hourMs + minuteMs)
  expect((await pageOf(server, user, `?pagination_token=${fresh}`)).ids).toEqual(ids.slice(4))
  const old = tokenIssued(server, user, older, Date.now() - 24 * hourMs)
  const refused = await server.call(postsPath(user, `?pagination_token=${old}`))
  expect(refused.status).toBe(400)
  expect(refused.body.errors).toMatchObject([
    {
      title: "Invalid Request",
      parameters: { pagination_token: [old] },
      message:
        `The \`pagination_token\` query parameter value [${old}] has expired: tokens are good for 24 hours. ` +
        "Start again without `pagination_token`.",
    },
  ])
  const early = tokenIssued(server, user, older, Date.now() + 25 * hourMs)
  const ahead = await server.call(postsPath(user, `?pagination_token=${early}`))
  expect(ahead.status).toBe(400)
  expect(ahead.text).toContain("was issued at a time that is still to come by this server's clock")

  const env = { SLUICE_PAGE_TOKEN_LIFETIME_HOURS: "0" }
  expect(loadConfig({ posture: "dev", env }).pageTokenLifetimeHours).toBe(0)
  await otherServer.ingest(...ids.map((id) => postBy(user, id)))
  const ancient = tokenIssued(otherServer, user, older, Date.UTC(2011, 0, 1))
  const response = await otherServer.call(postsPath(user, `?pagination_token=${ancient}`))
  expect(idsIn(response.body.data)).toEqual(ids.slice(4))
})

test("short-pages: a filter that exhausts its scan budget ends a page early, with a next_token", async ({
  otherServer,
}) => {
  const user = newUser()
  const ids = newIds(255)
  const isKept = (index: number): boolean => index < 2 || index >= 252
  await otherServer.ingest(
    ...ids.map((id, index) =>
      isKept(index)
        ? postBy(user, id)
        : postBy(user, id, { in_reply_to_user_id: "1", created_at: "2026-03-15T00:00:00.000Z" }),
    ),
  )
  for (const filter of ["exclude=replies", "end_time=2026-03-15T00:00:00Z"]) {
    const pages: unknown[] = []
    let token = ""
    do {
      const { body } = await otherServer.call(postsPath(user, `?max_results=5&${filter}${token}`))
      pages.push([idsIn(body.data), body.meta.result_count])
      token = body.meta.next_token === undefined ? "" : `&pagination_token=${body.meta.next_token}`
    } while (token !== "")
    expect(pages).toEqual([
      [ids.slice(0, 2), 2],
      [[], 0],
      [ids.slice(252), 3],
    ])
  }
})

test("post-order: posts are in the order of their ids, as numbers, newest first", async ({ server }) => {
  const user = newUser()
  const ids = ["1000000000000000002", "1000000000000000001", "101", "100", "20", "19", "3", "2"]
  // Neither the time of arrival nor a post's own time decides the order.
  await ingestNew(server, ...["100", "3", "1000000000000000001"].map((id) => postBy(user, id)))
  await ingestNew(server, ...["2", "1000000000000000002", "19", "101", "20"].map((id) => postBy(user, id, aDayLater)))
  expect((await pageOf(server, user)).ids).toEqual(ids)
  const first = await pageOf(server, user, "?max_results=5")
  const second = await pageOf(server, user, `?max_results=5&pagination_token=${first.meta.next_token}`)
  expect([first.ids, second.ids]).toEqual([ids.slice(0, 5), ids.slice(5)])
  expect(first.meta).toMatchObject({ newest_id: ids[0], oldest_id: ids[4] })
})

test("id-and-time-bounds: since_id and until_id are exclusive and compare as numbers, start_time is inclusive, end_time exclusive", async ({
  server,
}) => {
  const user = newUser()
  const base = newBlock()
  const at = (index: number): string => new Date(Date.UTC(2026, 2, 14, 9, 0, index)).toISOString()
  const all = Array.from({ length: 20 }, (_, index) => String(base + 19 - index))
  await ingestNew(server, ...all.map((id, index) => postBy(user, id, { created_at: at(19 - index) })))
  await ingestNew(server, postBy(user, "98", { created_at: at(-1) }), postBy(user, "9", { created_at: at(-2) }))
  const newestFirst = [...all, "98", "9"]
  const between = (low: number, high: number): string[] => all.filter((id) => +id >= base + low && +id <= base + high)

  expect((await pageOf(server, user, "?since_id=9&max_results=100")).ids).toEqual(newestFirst.slice(0, -1))
  expect((await pageOf(server, user, `?until_id=${base}`)).ids).toEqual(["98", "9"])
  expect((await pageOf(server, user, `?since_id=${base + 3}&until_id=${base + 7}`)).ids).toEqual(between(4, 6))
  expect((await pageOf(server, user, `?start_time=${at(3)}&end_time=${at(7)}`)).ids).toEqual(between(3, 6))
  const justAfter = at(3).replace(".000Z", ".001Z")
  expect((await pageOf(server, user, `?start_time=${justAfter}&end_time=${at(5)}`)).ids).toEqual(between(4, 4))

  for (const [bounds, expected] of [
    [`since_id=${base + 2}&until_id=${base + 15}`, between(3, 14)],
    [`start_time=${at(3)}&end_time=${at(15)}`, between(3, 14)],
  ] as const) {
    const first = await pageOf(server, user, `?max_results=5&${bounds}`)
    const second = await pageOf(server, user, `?max_results=5&${bounds}&pagination_token=${first.meta.next_token}`)
    const third = await pageOf(server, user, `?max_results=5&${bounds}&pagination_token=${second.meta.next_token}`)
    expect([...first.ids, ...second.ids, ...third.ids]).toEqual(expected)
    expect(third.meta).not.toHaveProperty("next_token")
    const back = await pageOf(server, user, `?max_results=5&${bounds}&pagination_token=${second.meta.previous_token}`)
    expect(back.ids).toEqual(first.ids)
    expect(back.meta).not.toHaveProperty("previous_token")
  }
})

const aDayLater = { created_at: "2026-03-15T09:26:53.000Z" }

async function pageOf(app: TestApp, user: string, query = ""): Promise<{ ids: readonly string[]; meta: PageMeta }> {
  const { status, body, text: said } = await app.call(postsPath(user, query))
  expect(status, said).toBe(200)
  const ids = idsIn(body.data)
  const meta = body.meta as PageMeta
  expect(meta.result_count).toBe(ids.length)
  return { ids, meta }
}

/** The next character of a token's alphabet. */
function after(character: string): string {
  const alphabet = "0123456789abcdefghijklmnopqrstuv"
  return alphabet[(alphabet.indexOf(character) + 1) % alphabet.length] ?? ""
}

/** A token made with this server's key for its first app at another time. */
function tokenIssued(issuer: TestServer, user: string, position: PagePosition, atMs: number): string {
  const secretBox = createSecretBox(Buffer.from(masterKey, "hex"), systemRandom)
  const key = secretBox.derive("page tokens")
  const tokens = createPageTokens({ key, lifetimeMs: 0, clock: createManualClock(atMs) })
  const appId = asId<AppId>(issuer.app.application_id)
  return tokens.issue({ endpoint: postsPath(user), appId, parameters: "" }, position)
}

function expectInvalidToken({ status, body }: TestResponse, token: string): void {
  expect(status).toBe(400)
  expect(body.errors).toMatchObject([
    {
      parameters: { pagination_token: [token] },
      message: `The \`pagination_token\` query parameter value [${token}] is not a valid token.`,
    },
  ])
}
