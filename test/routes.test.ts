/**
 * Every operation of `/openapi.json`, with one request that succeeds, the same request with another app's token and without
 * a token, and one with a parameter that is wrong. A new operation needs its row here.
 */
import { paths, pathOf, snowflakeEpochMs } from "@sluice/api"
import { isSampled } from "@sluice/rules"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { startJetstreamHost } from "../packages/server/src/sources/bluesky/jetstream-host.testing.ts"
import { envelope, startTestServer, type TestApp, type TestServer } from "./support/test-server.testing.ts"

/** A request. A text is the path of a GET. */
type Asked = string | Request

interface Request {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** An app, and what is its own. */
interface Own {
  readonly app: TestApp
  readonly webhook: string
  readonly rule: string
  /** A word that the rule asks for. */
  readonly word: string
  /** A post that the rule matched, and its author. */
  readonly post: string
  readonly user: string
  readonly username: string
  readonly trouble: string
  /** The attempt to deliver the post. */
  readonly attempt: () => Promise<{ readonly id: string; readonly event_id: string }>
}

interface Row {
  readonly asks: (own: Own) => Asked | Promise<Asked>
  readonly status?: number
  /** Members of the response's body, or a part of its text. */
  readonly has: (own: Own) => object | string
  /**
   * The response to the same request with another app's token: the same; a success that has nothing of the first app; or a
   * status. `open`: the request needs no token.
   */
  readonly other: "the same" | "its own" | "open" | number
  /** A kind of token other than an app's. */
  readonly needs?: "operator" | "user"
  /** The response has no end. */
  readonly isStream?: true
  readonly wrong: (own: Own) => Asked
  /** A part of the error in the 400 that the wrong request gets, or another status and a part of the error in that. */
  readonly refused: string | readonly [status: number, words: string]
}

const get = (path: string): Request => ({ method: "GET", path })
const send = (method: Request["method"], path: string, body?: unknown): Request => ({ method, path, body })
const ndjson = { "content-type": "application/x-ndjson" }

/** An unknown parameter, for operations without parameters of their own. */
const unknownParameter = (asked: Request) => ({
  wrong: () => ({ ...asked, path: `${asked.path}?colour=blue` }),
  refused: "The query parameter [colour] is not one of [",
})

const unknownUuid = "01890a5d-ac96-774b-bcce-b302099a8057"

const noName = "does not match ^[a-z0-9][a-z0-9_-]{0,39}$"
const ofSky = (path: string): string => path.replace(":name", "sky")

/** A dead letter of the server's source. */
async function deadLetterOfSky(): Promise<string> {
  const token = await server.running.apps.createToken("operator")
  return vi.waitFor(async () => {
    const { body } = await server.call(ofSky(paths.sourceDeadLetters), { token })
    return (body.data as [{ id: string }])[0].id
  })
}

const noId = "does not match ^[0-9]{1,19}$"
const link = ({ webhook }: { readonly webhook: string }): string => pathOf(paths.link, { webhook_id: webhook })
const lines = (...ids: readonly string[]): string => ids.map((id) => JSON.stringify(envelope(id, "sent"))).join("\n")

const aMinuteAgo = (): string => new Date(Date.now() - 60_000).toISOString()

/** Deletes posts or users, and lets an app read the compliance streams. */
async function deleteFor({ app }: TestApp, what: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const operator = await server.running.apps.createToken("operator")
  await server.send("POST", paths.deletions, what, operator)
  const limits = pathOf(paths.appLimits, { id: app.application_id })
  await server.send("PUT", limits, { compliance_streams: true }, operator)
}

const partitionOf = (id: string): number => 1 + [25, 50, 75, 100].findIndex((percent) => isSampled(id, percent))

/** A replay of an hour that has passed. */
function replayOf(webhook: string): Readonly<Record<string, string>> {
  const minuteAgo = (minutes: number): string =>
    new Date(Date.now() - minutes * 60_000).toISOString().slice(0, 16).replaceAll(/\D/g, "")
  return { webhook_id: webhook, from_date: minuteAgo(120), to_date: minuteAgo(60) }
}

/** A backfill of the last two hours. */
function backfillOf(webhook: string, rule: string): Readonly<Record<string, unknown>> {
  return { webhook_id: webhook, rule_ids: [rule], since: new Date(Date.now() - 7_200_000).toISOString() }
}

/** Posts that the requests have written: no two may have the same text. */
let written = 0

/** Rows by the id of the operation. */
const rows: Readonly<Record<string, Row>> = {
  // Rules and the stream
  getRules: {
    asks: ({ rule }) => `${paths.rules}?ids=${rule}`,
    has: ({ rule, word }) => ({ data: [{ id: rule, value: word }] }),
    other: "its own",
    wrong: () => `${paths.rules}?max_results=0`,
    refused: "The `max_results` query parameter value [0] is not between 1 and 1000",
  },
  updateRules: {
    asks: () => send("POST", paths.rules, { add: [{ value: "godwit" }] }),
    status: 201,
    has: () => ({ meta: { summary: { created: 1 } } }),
    other: "its own",
    wrong: () => send("POST", `${paths.rules}?dry_run=maybe`, { add: [{ value: "godwit" }] }),
    refused: "The `dry_run` query parameter value [maybe] is not one of [true,false]",
  },
  getRuleCounts: {
    asks: () => paths.ruleCounts,
    has: ({ app }) => ({ data: { client_app_rules_count: { client_app_id: app.app.application_id } } }),
    other: "its own",
    wrong: () => `${paths.ruleCounts}?rules_count.fields=colour`,
    refused: "The `rules_count.fields` query parameter value [colour] is not one of [",
  },
  getRuleStates: {
    asks: () => paths.ruleDetails,
    has: ({ rule }) => rule,
    other: "its own",
    wrong: () => `${paths.ruleDetails}?max_results=1001`,
    refused: "is not between 1 and 1000",
  },
  updateRuleTag: {
    asks: ({ rule }) => send("PATCH", pathOf(paths.ruleDetail, { rule_id: rule }), { tag: "birds" }),
    has: ({ rule }) => ({ data: { id: rule, tag: "birds" } }),
    other: 404,
    wrong: () => send("PATCH", pathOf(paths.ruleDetail, { rule_id: "one" }), { tag: "birds" }),
    refused: noId,
  },
  getRuleCost: {
    asks: () => paths.ruleCost,
    has: () => ({ data: { cost: expect.any(Number) as number } }),
    other: "its own",
    ...unknownParameter(get(paths.ruleCost)),
  },
  testRule: {
    asks: ({ post }) =>
      send("POST", paths.ruleTest, { value: "sent", posts: [{ data: { id: post, text: "was sent" } }] }),
    has: ({ post }) => ({ data: [{ id: post }], meta: { tested: 1, matched: 1 } }),
    other: 200,
    wrong: () => send("POST", paths.ruleTest, { value: "sent", recent: 0 }),
    refused: "recent",
  },
  streamPostsSample: {
    asks: () => `${paths.sample}?backfill_minutes=5`,
    has: () => `"data":{"id"`,
    other: 200,
    isStream: true,
    wrong: () => `${paths.sample}?backfill_minutes=6`,
    refused: "is not between 0 and 5",
  },
  streamPostsSample10: {
    asks: () => `${paths.sample10}?partition=1&backfill_minutes=5`,
    has: () => `"data":{"id"`,
    other: 200,
    isStream: true,
    wrong: () => `${paths.sample10}?partition=3`,
    refused: "The `partition` query parameter value [3] is not between 1 and 2",
  },
  streamPostsCompliance: {
    async asks({ app, post }) {
      await deleteFor(app, { post_ids: [post] })
      return `${paths.postsCompliance}?partition=${partitionOf(post)}&start_time=${aMinuteAgo()}`
    },
    has: ({ post, user }) => `{"data":{"delete":{"tweet":{"id":"${post}","author_id":"${user}"},"event_at":"`,
    other: 403,
    wrong: () => `${paths.postsCompliance}?partition=5`,
    refused: "The `partition` query parameter value [5] is not between 1 and 4",
  },
  streamUsersCompliance: {
    async asks({ app, user }) {
      await deleteFor(app, { user_ids: [user] })
      return `${paths.usersCompliance}?partition=${partitionOf(user)}&start_time=${aMinuteAgo()}`
    },
    has: ({ user }) => `{"data":{"user_delete":{"user":{"id":"${user}"},"event_at":"`,
    other: 403,
    wrong: () => `${paths.usersCompliance}?partition=0`,
    refused: "The `partition` query parameter value [0] is not between 1 and 4",
  },
  getConnectionHistory: {
    asks: () => `${paths.connections}?status=all&endpoints=filtered_stream,sample_stream`,
    has: () => ({ data: expect.any(Array) as unknown[] }),
    other: "its own",
    wrong: () => `${paths.connections}?endpoints=firehose`,
    refused: "The `endpoints` query parameter value [firehose] is not one of [filtered_stream,",
  },
  deleteConnectionsByUuids: {
    asks: () => send("DELETE", paths.connections, { uuids: [unknownUuid] }),
    has: () => ({
      data: {
        successful_kills: 0,
        failed_kills: 1,
        results: [{ uuid: unknownUuid, success: false, error_message: "No active connection with this id." }],
      },
    }),
    other: "the same",
    wrong: () => send("DELETE", paths.connections, { uuids: [] }),
    refused: "uuids",
  },
  deleteAllConnections: {
    asks: () => send("DELETE", paths.allConnections),
    has: () => ({ data: { failed_kills: 0 } }),
    other: "its own",
    ...unknownParameter(send("DELETE", paths.allConnections)),
  },
  deleteConnectionsByEndpoint: {
    asks: () => send("DELETE", pathOf(paths.endpointConnections, { endpoint_id: "sample_stream" })),
    has: () => ({ data: { failed_kills: 0 } }),
    other: "its own",
    wrong: () => send("DELETE", pathOf(paths.endpointConnections, { endpoint_id: "firehose" })),
    refused: "[firehose] is not one of [filtered_stream,",
  },
  streamPosts: {
    asks: () => `${paths.stream}?backfill_minutes=5`,
    has: ({ rule }) => rule,
    other: 200,
    isStream: true,
    wrong: () => `${paths.stream}?backfill_minutes=6`,
    refused: "is not between 0 and 5",
  },
  streamMatches: {
    asks: () => `${paths.matches}?recent=1`,
    has: ({ rule }) => rule,
    other: 200,
    isStream: true,
    wrong: () => `${paths.matches}?recent=101`,
    refused: "is not between 0 and 100",
  },

  // Webhooks and links
  getWebhooks: {
    asks: () => paths.webhooks,
    has: ({ webhook }) => webhook,
    other: "its own",
    wrong: () => `${paths.webhooks}?webhook_config.fields=colour`,
    refused: "The `webhook_config.fields` query parameter value [colour] is not one of [",
  },
  validateWebhooks: {
    asks: ({ webhook }) => send("PUT", pathOf(paths.webhook, { webhook_id: webhook })),
    has: () => ({ data: { valid: true } }),
    other: 404,
    wrong: () => send("PUT", pathOf(paths.webhook, { webhook_id: "one" })),
    refused: noId,
  },
  createWebhooks: {
    async asks({ app }) {
      const { body } = await app.call(paths.webhooks)
      return send("POST", paths.webhooks, { url: `${(body.data as [{ url: string }])[0].url}/second` })
    },
    has: () => ({ data: { valid: true } }),
    // The endpoint answers challenges with the first app's secret.
    other: 400,
    wrong: () => send("POST", paths.webhooks, { url: 7 }),
    refused: "url",
  },
  deleteWebhooks: {
    asks: ({ webhook }) => send("DELETE", pathOf(paths.webhook, { webhook_id: webhook })),
    has: () => ({ data: { deleted: true } }),
    other: 404,
    wrong: () => send("DELETE", pathOf(paths.webhook, { webhook_id: "one" })),
    refused: noId,
  },
  getWebhooksStreamLinks: {
    asks: () => paths.links,
    has: ({ webhook }) => ({ data: { links: [{ webhook_id: webhook }] } }),
    other: "its own",
    wrong: () => `${paths.links}?max_results=101`,
    refused: "is not between 1 and 100",
  },
  createWebhooksStreamLink: {
    asks: (own) => send("POST", link(own)),
    has: () => ({ data: { provisioned: true } }),
    other: 404,
    wrong: (own) => send("POST", `${link(own)}?expansions=colour`),
    refused: "The `expansions` query parameter value [colour] is not one of [",
  },
  deleteWebhooksStreamLink: {
    asks: (own) => send("DELETE", link(own)),
    has: () => ({ data: { deleted: true } }),
    other: 404,
    wrong: () => send("DELETE", link({ webhook: "one" })),
    refused: noId,
  },
  createWebhookReplayJob: {
    asks: ({ webhook }) => send("POST", paths.webhookReplay, replayOf(webhook)),
    has: () => ({ data: { job_id: expect.any(String) as string } }),
    other: 404,
    wrong: ({ webhook }) => send("POST", paths.webhookReplay, { ...replayOf(webhook), from_date: "yesterday" }),
    refused: "from_date",
  },

  // Posts, searches and counts: they belong to no app.
  createPosts: {
    asks: () => send("POST", paths.postsById, { text: `A godwit at ${(written += 1)}` }),
    status: 201,
    has: () => ({ data: { text: `A godwit at ${written}` } }),
    other: "its own",
    wrong: () => send("POST", paths.postsById, { text: "A godwit", poll: { options: ["a", "b"] } }),
    refused: "`poll` is not known here; known are `text`, `reply`, `quote_tweet_id`, `edit_options`",
  },
  deletePosts: {
    asks: () => send("DELETE", pathOf(paths.postById, { id: "404" })),
    has: () => ({ errors: [{ resource_id: "404" }] }),
    other: "the same",
    wrong: () => send("DELETE", pathOf(paths.postById, { id: "one" })),
    refused: noId,
  },
  getPostsByIds: {
    asks: ({ post }) => `${paths.postsById}?ids=${post}`,
    has: ({ post }) => ({ data: [{ id: post }] }),
    other: "the same",
    wrong: () => `${paths.postsById}?ids=`,
    refused: "The `ids` query parameter can not be empty",
  },
  getPostsById: {
    asks: ({ post }) => pathOf(paths.postById, { id: post }),
    has: ({ post }) => ({ data: { id: post } }),
    other: "the same",
    wrong: () => pathOf(paths.postById, { id: "one" }),
    refused: noId,
  },
  searchPostsRecent: {
    asks: ({ word }) => `${paths.searchRecent}?query=${word}`,
    has: ({ post }) => ({ data: [{ id: post }] }),
    other: "the same",
    wrong: () => `${paths.searchRecent}?query=cat&max_results=101`,
    refused: "is not between 10 and 100",
  },
  searchPostsAll: {
    asks: ({ word }) => `${paths.searchAll}?query=${word}`,
    has: ({ post }) => ({ data: [{ id: post }] }),
    other: "the same",
    wrong: () => `${paths.searchAll}?query=cat&sort_order=best`,
    refused: "The `sort_order` query parameter value [best] is not one of [recency,relevancy]",
  },
  getPostsCountsRecent: {
    asks: ({ word }) => `${paths.countsRecent}?query=${word}`,
    has: () => ({ meta: { total_tweet_count: 1 } }),
    // Their intervals begin and end with the request.
    other: 200,
    wrong: () => `${paths.countsRecent}?query=cat&granularity=week`,
    refused: "The `granularity` query parameter value [week] is not one of [minute,hour,day]",
  },
  getPostsCountsAll: {
    asks: ({ word }) =>
      `${paths.countsAll}?query=${word}&start_time=2026-01-01T00:00:00Z&end_time=2026-01-02T00:00:00Z`,
    has: () => ({ meta: { total_tweet_count: 0 } }),
    other: "the same",
    wrong: () => `${paths.countsAll}?query=`,
    refused: "Invalid 'query':''. 'query' must be a non-empty string",
  },
  getUsage: {
    asks: () => `${paths.usage}?usage.fields=project_id,cap_reset_day`,
    has: ({ app }) => ({ data: { project_id: app.app.application_id, cap_reset_day: 1 } }),
    other: "its own",
    wrong: () => `${paths.usage}?days=91`,
    refused: "The `days` query parameter value [91] is not between 1 and 90",
  },
  getLimits: {
    asks: () => paths.limits,
    has: ({ app }) => ({ data: { application_id: app.app.application_id, profile: "none" } }),
    other: "its own",
    ...unknownParameter(get(paths.limits)),
  },
  getPostsQuotedPosts: {
    asks: ({ post }) => pathOf(paths.quotes, { id: post }),
    has: () => ({ data: [{ text: "a quote" }] }),
    other: "the same",
    wrong: ({ post }) => `${pathOf(paths.quotes, { id: post })}?exclude=quotes`,
    refused: "The `exclude` query parameter value [quotes] is not one of [replies,retweets]",
  },
  getPostsReposts: {
    asks: ({ post }) => pathOf(paths.reposts, { id: post }),
    has: () => ({ data: [{ text: "a repost" }] }),
    other: "the same",
    wrong: ({ post }) => `${pathOf(paths.reposts, { id: post })}?max_results=101`,
    refused: "is not between 1 and 100",
  },
  getPostsRepostedBy: {
    asks: ({ post }) => pathOf(paths.reposters, { id: post }),
    has: ({ user, username }) => ({ data: [{ id: user, username }], meta: { result_count: 1 } }),
    other: "the same",
    wrong: ({ post }) => `${pathOf(paths.reposters, { id: post })}?pagination_token=zzz`,
    refused: "The `pagination_token` query parameter value [zzz] is not a valid token",
  },

  // Users: they belong to no app either.
  getUsersByIds: {
    asks: ({ user }) => `${paths.users}?ids=${user}`,
    has: ({ user }) => ({ data: [{ id: user }] }),
    other: "the same",
    wrong: () => `${paths.users}?ids=one`,
    refused: "The `ids` query parameter value [one] does not match",
  },
  getUsersById: {
    asks: ({ user }) => pathOf(paths.user, { id: user }),
    has: ({ username }) => ({ data: { username } }),
    other: "the same",
    wrong: ({ user }) => `${pathOf(paths.user, { id: user })}?user.fields=colour`,
    refused: "The `user.fields` query parameter value [colour] is not one of [",
  },
  getUsersByUsernames: {
    asks: ({ username }) => `${paths.usersBy}?usernames=${username}`,
    has: ({ user }) => ({ data: [{ id: user }] }),
    other: "the same",
    wrong: () => paths.usersBy,
    refused: "The `usernames` query parameter can not be empty",
  },
  getUsersByUsername: {
    asks: ({ username }) => pathOf(paths.userByUsername, { username }),
    has: ({ user }) => ({ data: { id: user } }),
    other: "the same",
    wrong: () => pathOf(paths.userByUsername, { username: "sixteen.characters." }),
    refused: "does not match ^[A-Za-z0-9_]{1,15}$",
  },
  searchUsers: {
    asks: ({ username }) => `${paths.userSearch}?query=${username}`,
    has: ({ user }) => ({ data: [{ id: user }] }),
    other: "the same",
    wrong: () => `${paths.userSearch}?query=a.b`,
    refused: "does not match ^[A-Za-z0-9_' ]{1,50}$",
  },
  getUsersMe: {
    asks: () => paths.me,
    has: ({ user }) => ({ data: { id: user } }),
    other: 403,
    needs: "user",
    wrong: () => `${paths.me}?expansions=author_id`,
    refused: "The `expansions` query parameter value [author_id] is not one of [affiliation,",
  },
  getUsersPosts: {
    asks: ({ user }) => pathOf(paths.userPosts, { id: user }),
    has: ({ post }) => post,
    other: "the same",
    wrong: ({ user }) => `${pathOf(paths.userPosts, { id: user })}?max_results=4`,
    refused: "is not between 5 and 100",
  },
  getUsersMentions: {
    asks: ({ user }) => pathOf(paths.mentions, { id: user }),
    has: () => ({ data: [{ text: "a quote" }] }),
    other: "the same",
    wrong: ({ user }) => `${pathOf(paths.mentions, { id: user })}?since_id=-1`,
    refused: noId,
  },

  // Ingest
  getStoredPosts: {
    asks: () => `${paths.posts}?max_results=100`,
    has: ({ post }) => post,
    // The tokens of their next pages differ.
    other: "its own",
    wrong: () => `${paths.posts}?max_results=101`,
    refused: "is not between 1 and 100",
  },
  ingestPosts: {
    asks: () => ({ ...send("POST", paths.posts, lines("501", "502")), headers: ndjson }),
    has: () => ({ lines: 2, rejected_count: 0 }),
    other: "its own",
    wrong: () => ({ ...send("POST", `${paths.posts}?ack=line`, lines("503")), headers: ndjson }),
    refused: "The `ack` query parameter value [line] is not one of [batch]",
  },
  getStoredPost: {
    asks: ({ post }) => pathOf(paths.post, { post_id: post }),
    has: ({ post, app }) => ({ data: { data: { id: post } }, matches: [{ application_id: app.app.application_id }] }),
    other: "its own",
    wrong: () => pathOf(paths.post, { post_id: "one" }),
    refused: noId,
  },

  // Deliveries
  getLinkStates: {
    asks: () => paths.linkDetails,
    has: ({ webhook }) => ({ data: [{ webhook_id: webhook }] }),
    other: "its own",
    wrong: () => `${paths.linkDetails}?max_results=0`,
    refused: "is not between 1 and 100",
  },
  getLinkState: {
    asks: ({ webhook }) => pathOf(paths.linkDetail, { webhook_id: webhook }),
    has: ({ webhook }) => ({ data: { webhook_id: webhook } }),
    other: 404,
    wrong: () => pathOf(paths.linkDetail, { webhook_id: "one" }),
    refused: noId,
  },
  updateLink: {
    asks: ({ webhook }) => send("PATCH", pathOf(paths.linkDetail, { webhook_id: webhook }), { ordered: true }),
    has: () => ({ data: { ordered: true } }),
    other: 404,
    wrong: ({ webhook }) => send("PATCH", pathOf(paths.linkDetail, { webhook_id: webhook }), { ordered: "yes" }),
    refused: "ordered",
  },
  getLinkAttempts: {
    async asks({ webhook, attempt }) {
      await attempt()
      return pathOf(paths.attempts, { webhook_id: webhook })
    },
    has: () => ({ data: [{ outcome: "delivered" }] }),
    other: 404,
    wrong: ({ webhook }) => `${pathOf(paths.attempts, { webhook_id: webhook })}?max_results=1001`,
    refused: "is not between 1 and 1000",
  },
  getLinkAttempt: {
    asks: async ({ webhook, attempt }) =>
      pathOf(paths.attempt, { webhook_id: webhook, attempt_id: (await attempt()).id }),
    has: ({ post }) => post,
    other: 404,
    wrong: ({ webhook }) => pathOf(paths.attempt, { webhook_id: webhook, attempt_id: "one" }),
    refused: noId,
  },
  getDeadLetters: {
    asks: ({ webhook }) => `${paths.deadLetters}?webhook_id=${webhook}`,
    has: () => ({ data: [], meta: { result_count: 0 } }),
    other: "its own",
    wrong: () => `${paths.deadLetters}?webhook_id=one`,
    refused: noId,
  },
  redeliverDeadLetters: {
    asks: () => send("POST", paths.redeliver, { all: true }),
    has: () => ({ data: { redelivered: 0 } }),
    other: "its own",
    wrong: () => send("POST", paths.redeliver, { ids: [] }),
    refused: "ids",
  },
  redeliverMatches: {
    asks: async ({ attempt }) => send("POST", paths.redeliverMatches, { event_ids: [(await attempt()).event_id] }),
    has: () => ({ data: { redelivered: 1, refused: [] } }),
    // A match of another app is one that never was.
    other: 200,
    wrong: () => send("POST", paths.redeliverMatches, { event_ids: "all" }),
    refused: "event_ids",
  },
  getReplays: {
    asks: () => paths.replays,
    has: () => ({ data: expect.any(Array) as object }),
    other: "its own",
    ...unknownParameter(get(paths.replays)),
  },
  createBackfill: {
    asks: ({ webhook, rule }) => send("POST", paths.replays, backfillOf(webhook, rule)),
    has: ({ rule, word }) => ({ data: { state: "searching", rules: [{ id: rule, value: word }] } }),
    other: 404,
    wrong: ({ webhook, rule }) => send("POST", paths.replays, { ...backfillOf(webhook, rule), since: "yesterday" }),
    refused: "since",
  },
  cancelReplay: {
    async asks({ app, webhook, rule }) {
      const { body } = await app.send("POST", paths.replays, backfillOf(webhook, rule))
      return send("DELETE", pathOf(paths.replay, { job_id: body.data.job_id as string }))
    },
    has: () => ({ data: { state: "cancelled" } }),
    other: 404,
    wrong: () => send("DELETE", pathOf(paths.replay, { job_id: "one" })),
    refused: noId,
  },
  getWebhookStates: {
    asks: () => paths.webhookDetails,
    has: ({ webhook }) => webhook,
    other: "its own",
    wrong: () => `${paths.webhookDetails}?max_results=0`,
    refused: "is not between 1 and 100",
  },
  getWebhookState: {
    asks: ({ webhook }) => pathOf(paths.webhookDetail, { webhook_id: webhook }),
    has: ({ webhook }) => ({ data: { id: webhook } }),
    other: 404,
    wrong: () => pathOf(paths.webhookDetail, { webhook_id: "one" }),
    refused: noId,
  },
  updateWebhook: {
    asks: ({ webhook }) => send("PATCH", pathOf(paths.webhookDetail, { webhook_id: webhook }), { name: "Zoo" }),
    has: ({ webhook }) => ({ data: { id: webhook, name: "Zoo" } }),
    other: 404,
    wrong: ({ webhook }) => send("PATCH", pathOf(paths.webhookDetail, { webhook_id: webhook }), { name: 1 }),
    refused: "name",
  },
  testWebhook: {
    asks: ({ webhook }) => send("POST", pathOf(paths.webhookTest, { webhook_id: webhook })),
    has: () => ({ data: { outcome: "delivered", status: 200 } }),
    other: 404,
    wrong: () => send("POST", pathOf(paths.webhookTest, { webhook_id: "one" })),
    refused: noId,
  },
  getSigningKey: {
    asks: ({ webhook }) => pathOf(paths.signingKey, { webhook_id: webhook }),
    has: () => "whsec_",
    other: 404,
    wrong: () => pathOf(paths.signingKey, { webhook_id: "one" }),
    refused: noId,
  },
  rotateSigningKey: {
    asks: ({ webhook }) => send("POST", pathOf(paths.signingKey, { webhook_id: webhook })),
    has: () => "previous_valid_until",
    other: 404,
    wrong: () => send("POST", pathOf(paths.signingKey, { webhook_id: "one" })),
    refused: noId,
  },

  // Trouble
  getTroubles: {
    asks: () => paths.troubles,
    has: ({ trouble }) => ({ data: [{ id: trouble }] }),
    other: "its own",
    ...unknownParameter(get(paths.troubles)),
  },
  addTrouble: {
    asks: () => send("POST", paths.troubles, { kind: "page_tokens", next: 1 }),
    has: () => ({ data: { kind: "page_tokens" } }),
    other: "its own",
    wrong: () => send("POST", paths.troubles, { kind: "rain" }),
    refused: "kind",
  },
  clearTroubles: {
    asks: () => send("DELETE", paths.troubles),
    has: () => ({ data: { cleared: 1 } }),
    other: "its own",
    ...unknownParameter(send("DELETE", paths.troubles)),
  },
  clearTrouble: {
    asks: ({ trouble }) => send("DELETE", pathOf(paths.trouble, { trouble_id: trouble })),
    has: () => ({ data: { cleared: 1 } }),
    other: 404,
    wrong: () => send("DELETE", pathOf(paths.trouble, { trouble_id: "one" })),
    refused: noId,
  },
  disconnectStreams: {
    asks: () => send("POST", paths.troubleDisconnect, { disconnect_type: "none" }),
    has: () => ({ data: { disconnected: 0 } }),
    other: "its own",
    wrong: () => send("POST", paths.troubleDisconnect, { disconnect_type: "gently" }),
    refused: "disconnect_type",
  },

  // Apps, tokens and the console
  getOverview: {
    asks: () => paths.overview,
    has: () => ({ data: { counts: { webhooks: 1 } } }),
    other: "its own",
    ...unknownParameter(get(paths.overview)),
  },
  createDeletions: {
    needs: "operator",
    asks: () => send("POST", paths.deletions, { post_ids: ["404"] }),
    has: () => ({ data: { posts_deleted: 0, users_deleted: 0 } }),
    other: 403,
    wrong: () => send("POST", paths.deletions, { post_ids: ["one"] }),
    refused: "post_ids",
  },
  getApps: {
    asks: () => paths.apps,
    has: ({ app }) => app.app.application_id,
    other: 403,
    needs: "operator",
    ...unknownParameter(get(paths.apps)),
  },
  createApp: {
    asks: () => send("POST", paths.apps, { name: "waders" }),
    has: () => "sluice_app_",
    other: 403,
    needs: "operator",
    wrong: () => send("POST", paths.apps, { name: "" }),
    refused: "name",
  },
  getAppLimits: {
    asks: ({ app }) => pathOf(paths.appLimits, { id: app.app.application_id }),
    has: ({ app }) => ({ data: { application_id: app.app.application_id, own: {} } }),
    other: 403,
    needs: "operator",
    wrong: () => pathOf(paths.appLimits, { id: "one" }),
    refused: noId,
  },
  setAppLimits: {
    asks: ({ app }) => send("PUT", pathOf(paths.appLimits, { id: app.app.application_id }), { rules: 24_000 }),
    has: () => ({ data: { own: { rules: 24_000 }, rules: 24_000 } }),
    other: 403,
    needs: "operator",
    wrong: ({ app }) => send("PUT", pathOf(paths.appLimits, { id: app.app.application_id }), { rules: 0 }),
    refused: "rules",
  },
  rotateApp: {
    asks: ({ app }) => send("POST", pathOf(paths.rotateApp, { id: app.app.application_id })),
    has: ({ app }) => ({ data: { application_id: app.app.application_id } }),
    other: 403,
    needs: "operator",
    wrong: () => send("POST", pathOf(paths.rotateApp, { id: "one" })),
    refused: noId,
  },
  revokeApp: {
    asks: ({ app }) => send("DELETE", pathOf(paths.app, { id: app.app.application_id })),
    has: () => ({ data: { revoked: true } }),
    other: 403,
    needs: "operator",
    wrong: () => send("DELETE", pathOf(paths.app, { id: "one" })),
    refused: noId,
  },
  getTokens: {
    asks: () => paths.tokens,
    has: ({ app }) => app.app.application_id,
    other: 403,
    needs: "operator",
    ...unknownParameter(get(paths.tokens)),
  },
  createServerToken: {
    asks: () => send("POST", paths.tokens, { kind: "ingest" }),
    has: () => "sluice_ingest_",
    other: 403,
    needs: "operator",
    wrong: () => send("POST", paths.tokens, { kind: "king" }),
    refused: "kind",
  },
  revokeToken: {
    async asks({ app, user }) {
      await server.running.apps.createUserToken(app.app.application_id, user)
      const { id = "" } = (await server.running.apps.listTokens()).find((one) => one.userId === user) ?? {}
      return send("DELETE", pathOf(paths.token, { token_id: id }))
    },
    has: () => ({ data: { revoked: true } }),
    other: 403,
    needs: "operator",
    wrong: () => send("DELETE", pathOf(paths.token, { token_id: "one" })),
    refused: noId,
  },
  // Sources
  getSources: {
    asks: () => paths.sources,
    has: () => ({ data: [{ name: "sky", type: "bluesky" }], meta: { result_count: 1 } }),
    other: 403,
    needs: "operator",
    ...unknownParameter(get(paths.sources)),
  },
  getSource: {
    asks: () => ofSky(paths.source),
    has: () => ({ data: { name: "sky", can_rewind: true } }),
    other: 403,
    needs: "operator",
    wrong: () => pathOf(paths.source, { name: "A sky" }),
    refused: noName,
  },
  pauseSource: {
    asks: () => send("POST", ofSky(paths.pauseSource)),
    has: () => ({ data: { activity: "paused" } }),
    other: 403,
    needs: "operator",
    wrong: () => send("POST", pathOf(paths.pauseSource, { name: "A sky" })),
    refused: noName,
  },
  resumeSource: {
    asks: () => send("POST", ofSky(paths.resumeSource)),
    has: () => ({ data: { name: "sky" } }),
    other: 403,
    needs: "operator",
    wrong: () => send("POST", pathOf(paths.resumeSource, { name: "A sky" })),
    refused: noName,
  },
  rewindSource: {
    asks: () => send("POST", ofSky(paths.rewindSource), { to: aMinuteAgo() }),
    has: () => ({ data: { name: "sky" } }),
    other: 403,
    needs: "operator",
    wrong: () => send("POST", ofSky(paths.rewindSource), { to: "2999-01-01T00:00:00Z" }),
    refused: "is in the future",
  },
  getSourceDeadLetters: {
    asks: () => ofSky(paths.sourceDeadLetters),
    has: () => `"title":"Invalid JSON","detail":`,
    other: 403,
    needs: "operator",
    wrong: () => `${ofSky(paths.sourceDeadLetters)}?max_results=101`,
    refused: "is not between 1 and 100",
  },
  repeatSourceDeadLetters: {
    asks: async () => send("POST", ofSky(paths.repeatSourceDeadLetters), { ids: [await deadLetterOfSky()] }),
    has: () => ({ data: { repeated: 1, rejected: 1 } }),
    other: 403,
    needs: "operator",
    wrong: () => send("POST", ofSky(paths.repeatSourceDeadLetters), { ids: ["one"] }),
    refused: "ids",
  },
  discardSourceDeadLetters: {
    asks: async () => send("POST", ofSky(paths.discardSourceDeadLetters), { ids: [await deadLetterOfSky()] }),
    has: () => ({ data: { discarded: 1 } }),
    other: 403,
    needs: "operator",
    wrong: () => send("POST", ofSky(paths.discardSourceDeadLetters), { ids: [] }),
    refused: "ids",
  },

  createSession: {
    asks: ({ app }) => send("POST", paths.session, { token: app.app.bearer_token }),
    has: ({ app }) => ({ data: { application: { id: app.app.application_id } } }),
    other: "open",
    wrong: () => send("POST", paths.session, {}),
    refused: "field is required",
  },
  getSession: {
    asks: () => paths.session,
    has: ({ app }) => ({ data: { application: { id: app.app.application_id } } }),
    other: "its own",
    ...unknownParameter(get(paths.session)),
  },
  deleteSession: {
    asks: () => send("DELETE", paths.session),
    has: () => ({ data: { ended: false } }),
    other: "its own",
    ...unknownParameter(send("DELETE", paths.session)),
  },

  // The server itself
  createToken: {
    asks: ({ app: { app } }) => ({
      ...send("POST", paths.oauthToken, "grant_type=client_credentials"),
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        authorization: `Basic ${Buffer.from(`${app.consumer_key}:${app.consumer_secret}`).toString("base64")}`,
      },
    }),
    has: ({ app }) => ({ access_token: app.app.bearer_token }),
    other: "open",
    wrong: () => send("POST", `${paths.oauthToken}?grant_type=password`),
    refused: [403, "Unable to verify your credentials"],
  },
  getHome: {
    asks: () => paths.home,
    has: () => "<h1>Sluice</h1>",
    other: "open",
    ...unknownParameter(get(paths.home)),
  },
  getOpenApi: {
    asks: () => paths.openapi,
    has: () => ({ openapi: "3.1.0" }),
    other: "open",
    ...unknownParameter(get(paths.openapi)),
  },
  getOpenApiSpec: {
    asks: () => paths.dialectOpenapi,
    has: () => ({ openapi: "3.1.0" }),
    other: "open",
    ...unknownParameter(get(paths.dialectOpenapi)),
  },
  getHealth: {
    asks: () => paths.healthz,
    has: () => ({ status: "ok" }),
    other: "open",
    ...unknownParameter(get(paths.healthz)),
  },
  getReadiness: {
    asks: () => paths.readyz,
    has: () => ({ status: "ready" }),
    other: "open",
    ...unknownParameter(get(paths.readyz)),
  },
  getMetrics: {
    asks: () => paths.metrics,
    has: () => "sluice_",
    other: "open",
    ...unknownParameter(get(paths.metrics)),
  },
}

let server: TestServer
let other: TestApp

const resources = new AsyncDisposableStack()

beforeAll(async () => {
  // Its source has dead letters.
  const host = resources.use(await startJetstreamHost("{", "{"))
  const members = { name: "sky", type: "bluesky", urls: host.url }
  const sources = [{ name: "sky", type: "bluesky", members, place: "a test" }]
  server = resources.use(await startTestServer({}, "dev", undefined, { sources }))
  other = await server.newApp()
})

afterAll(() => resources.disposeAsync())

let sequence = 0
let sampledId = BigInt(Date.now() - snowflakeEpochMs) << 22n

/** An id of now in the samples of 1 % and of partition 1. */
function nextSampledId(): string {
  do sampledId += 1n
  while (!isSampled(String(sampledId), 1))
  return String(sampledId)
}

/** Makes an app and everything that is its own. */
async function makeOwn(): Promise<Own> {
  sequence += 1
  const app = await server.newApp()
  const [word, username, user] = [`word${sequence}`, `wader${sequence}`, String(70_000 + sequence)]
  const hourAgo = BigInt(Date.now() - 3_600_000 - snowflakeEpochMs) << 22n
  const id = (index: number): string => String(hourAgo + BigInt(sequence * 8 + index))
  const [post, quote, repost] = [id(0), id(1), id(2)]
  const webhook = await app.webhook()
  expect((await app.send("POST", link({ webhook }))).status).toBe(200)
  const added = await app.send("POST", paths.rules, { add: [{ value: word }] })
  const troubled = await app.send("POST", paths.troubles, { kind: "page_tokens", next: 1 })
  const users = [{ id: user, username, name: "Wader" }]
  const refers = (type: string) => ({ author_id: user, referenced_tweets: [{ type, id: post }] })
  const mentions = [{ start: 0, end: 1, username }]
  const sent = await app.ingest(
    { data: { id: post, text: word, author_id: user }, includes: { users } },
    { data: { id: quote, text: "a quote", ...refers("quoted"), entities: { mentions } } },
    { data: { id: repost, text: "a repost", ...refers("retweeted") } },
    { data: { id: nextSampledId(), text: "in every sample" } },
  )
  expect(sent.body).toMatchObject({ accepted: 4 })
  return {
    app,
    webhook,
    word,
    post,
    user,
    username,
    rule: (added.body.data as [{ id: string }])[0].id,
    trouble: troubled.body.data.id as string,
    async attempt() {
      const attempts = pathOf(paths.attempts, { webhook_id: webhook })
      // Not `expect.poll`, which is for tests alone.
      return vi.waitFor(async () => {
        const [first] = (await app.call(attempts)).body.data as { id: string; event_id: string }[]
        if (first === undefined) throw new Error("no attempt is recorded")
        return first
      }, 10_000)
    },
  }
}

interface Answer {
  readonly status: number
  readonly text: string
}

/** Sends a request. The response to a stream is its first record, unless it is the other app's, which has none. */
async function answerTo(asked: Asked, token: string | null, reads: "all" | "record" | "nothing"): Promise<Answer> {
  const { method, path, body, headers = {} } = typeof asked === "string" ? get(asked) : asked
  const isJson = body !== undefined && typeof body !== "string"
  const leave = new AbortController()
  const response = await fetch(server.url + path, {
    method,
    signal: leave.signal,
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(isJson && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: isJson ? JSON.stringify(body) : body }),
  })
  const { status } = response
  if (reads === "all" || status !== 200) return { status, text: await response.text() }
  let text = ""
  if (reads === "record")
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
      if ((text += chunk).trim() !== "") break
  leave.abort()
  return { status, text }
}

const tokenFor = async ({ needs }: Row, { app, user }: Own): Promise<string> => {
  const { apps } = server.running
  if (needs === "operator") return apps.createToken("operator")
  return needs === "user" ? ((await apps.createUserToken(app.app.application_id, user)) ?? "") : app.app.bearer_token
}

test("every operation of the server's description has a row, and every row its operation", async () => {
  const described = (await server.call(paths.openapi)).body.paths as Record<string, Record<string, object>>
  const operations = Object.values(described).flatMap((item) => Object.values(item))
  const ids = operations.map((operation) => (operation as { operationId: string }).operationId)
  expect(Object.keys(rows).toSorted()).toEqual(ids.toSorted())
})

describe.each(Object.entries(rows))("%s", (_id, row) => {
  let own: Own
  let asked: Asked

  beforeAll(async () => {
    own = await makeOwn()
    asked = await row.asks(own)
  })

  test("a parameter that is wrong is refused", async () => {
    const { status, text } = await answerTo(row.wrong(own), await tokenFor(row, own), "all")
    const body = JSON.parse(text) as { errors: object[] }
    const [expected, words] = typeof row.refused === "string" ? [400, row.refused] : row.refused
    expect([status, JSON.stringify(body.errors[0])]).toEqual([expected, expect.stringContaining(words)])
  })

  test("another app's token gets nothing of this app, and no token is enough where none is needed", async () => {
    const without = row.other === "open" ? undefined : await answerTo(asked, null, "all")
    if (without !== undefined) expect(without.status).toBe(401)
    const answer = await answerTo(asked, other.app.bearer_token, row.isStream === true ? "nothing" : "all")
    switch (row.other) {
      case "open":
      case "its own":
        expect(answer.status).toBe(row.status ?? 200)
        if (row.other === "its own") for (const id of idsOf(own, asked)) expect(answer.text).not.toContain(`"${id}"`)
        break
      case "the same":
        expect(answer).toEqual(await answerTo(asked, own.app.app.bearer_token, "all"))
        break
      default:
        expect([answer.status, answer.text]).toEqual([row.other, answer.text])
    }
  })

  test("a request succeeds", async () => {
    const token = row.other === "open" ? null : await tokenFor(row, own)
    const answer = await answerTo(asked, token, row.isStream === true ? "record" : "all")
    expect([answer.status, answer.text]).toEqual([row.status ?? 200, answer.text])
    const expected = row.has(own)
    if (typeof expected === "string") expect(answer.text).toContain(expected)
    else expect(JSON.parse(answer.text)).toMatchObject(expected)
  })
})

/** Ids of an app and of what is its own, without those that the request names: a refusal may repeat them. */
function idsOf({ app, webhook, rule, trouble }: Own, asked: Asked): readonly string[] {
  const ids = [app.app.application_id, webhook, rule, trouble]
  return ids.filter((id) => !JSON.stringify(asked).includes(id))
}
