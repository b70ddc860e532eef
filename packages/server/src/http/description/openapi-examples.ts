/**
 * An example of each JSON body, request and response, by the operation's id. A test checks that every operation has its
 * examples and that the schemas allow them.
 */

/** The bodies of an operation. A form or a body of lines is text. */
interface OperationExamples {
  readonly request?: unknown
  readonly response?: unknown
}

const [applicationId, businessUserId, instanceId] = [
  "1990004210000004001",
  "1990004210000004002",
  "1990004210000004003",
]
const webhookId = "1990004210000004010"
const ruleId = "1990004210000004020"
const postId = "1990004210000005000"
const eventId = "msg_1990004210000004011_17"
const at = "2026-03-14T12:00:00.000Z"

const rule = { id: ruleId, value: "(heron OR kingfisher) has:images -is:retweet", tag: "birds" }
const ruleState = { ...rule, created_at: at, matched: 17, last_matched_at: at }
const webhook = { created_at: at, id: webhookId, url: "https://example.com/hook", valid: true }
const post = { id: postId, text: "A heron stood at the sluice.", author_id: "42", created_at: at }

const backfill = {
  job_id: "1990004210000004041",
  webhook_id: webhookId,
  application_id: applicationId,
  from_date: "202603071200",
  to_date: "202603141200",
  state: "searching",
  position: 0,
  end: 12,
  delivered: 0,
  failed: 0,
  created_at: at,
  rules: [rule],
  searched_to: "2026-03-10T08:00:00.000Z",
}
const user = { id: "42", name: "Heron Watch", username: "heronwatch" }
const postsPage = { data: [post], meta: { result_count: 1, newest_id: postId, oldest_id: postId } }
const counts = {
  data: [{ end: "2026-03-14T13:00:00.000Z", start: at, tweet_count: 17, post_count: 17 }],
  meta: { total_tweet_count: 17, total_post_count: 17 },
}

const linkState = {
  webhook_id: webhookId,
  application_id: applicationId,
  valid: true,
  ordered: false,
  paused: false,
  down: false,
  position: 17,
  head: 17,
  lag: 0,
  undelivered: 0,
  in_flight: 0,
  delivered: 17,
  failed: 0,
  total: { delivered: 17, retrying: 0, dead_letters: 0, expired: 0, missed: 0, withdrawn: 0 },
  gaps: [],
}

const attempt = { id: "18", at, duration_ms: 12, outcome: "delivered", status: 200, event_id: eventId, bytes: 182 }

const webhookState = {
  id: webhookId,
  application_id: applicationId,
  url: webhook.url,
  created_at: at,
  valid: true,
  checked_at: at,
  link: { ...linkState, fields: ["tweet.fields=created_at"] },
}

const deadLetter = {
  id: "1990004210000004030",
  webhook_id: webhookId,
  application_id: applicationId,
  event_id: eventId,
  post_id: postId,
  failures: 100,
  outcome: "server_error",
  fault: "endpoint",
  status: 500,
  matched_at: at,
  dead_lettered_at: "2026-03-14T20:04:00.000Z",
}

const connectionUuid = "5f0f6f0a-3c52-4c7a-9d0b-6a1f0c1e2d3b"

const connections = {
  data: [{ id: connectionUuid, endpoint_name: "filtered_stream", connected_at: at, client_ip: "192.0.2.7" }],
  meta: { result_count: 1 },
}

const endedConnections = {
  data: { successful_kills: 1, failed_kills: 0, results: [{ uuid: connectionUuid, success: true }] },
}

const trouble = {
  id: "1990004210000004040",
  kind: "responses",
  webhook_id: webhookId,
  response: "503",
  remaining: 3,
  applied: 0,
  created_at: at,
}

const application = {
  id: applicationId,
  name: "birds",
  consumer_key: "0f6a3c5e9b1d4f7a8c2e6b0d3f5a7c9e",
  created_at: at,
  revoked: false,
}

const credentials = {
  application_id: applicationId,
  business_user_id: businessUserId,
  instance_id: instanceId,
  consumer_key: application.consumer_key,
  consumer_secret: "9c1d…",
  client_id: "MTIwMTowOjE6Y2k",
  client_secret: "Qk3v…",
  bearer_token: "sluice_app_aZ09…",
}

const session = {
  kind: "operator",
  csrf_token: "pZ3uJb1w8m0Jq2Vt5Ck7Xh4Ld9Rf6Gy1Ns0Ae3Bi8Qo",
  expires_at: "2026-03-15T00:00:00.000Z",
  posture: "dev",
  server_time: at,
}

const ownLimits = { requests: { "GET /2/tweets/search/recent": { app: 1_000 } }, posts_per_month: 100_000 }

const appLimits = {
  data: {
    application_id: applicationId,
    profile: "none",
    own: ownLimits,
    requests: [{ endpoint: "GET /2/tweets/search/recent", per: "app", limit: 1_000, window_seconds: 900 }],
    rules: 25_000,
    rule_characters: 2_048,
    connections: 1,
    posts_per_month: 100_000,
    cap_reset_day: 1,
    has_credits: true,
    compliance_streams: false,
  },
}

const source = {
  name: "sky",
  type: "bluesky",
  activity: "running",
  since: at,
  connected_to: "jetstream2.us-east.bsky.network",
  started_at: at,
  last_record_at: at,
  records_per_second: 51.3,
  lag_ms: 840,
  in_flight: 12,
  position: "1773489600000000",
  position_saved_at: at,
  can_rewind: true,
  counts: {
    accepted: 3_078,
    duplicates: 2,
    deleted: 117,
    ignored: 40,
    rejected: 1,
    returned: 0,
    redelivered: 0,
    gaps: 0,
  },
  dead_letters: 1,
  last_dead_letter: { title: "Invalid Record", detail: "`text` is missing, and must be a string.", at },
  gaps: [],
  notices: [],
}

const sourceDeadLetterId = "019cec70-1c00-7a5d-bcce-b302099a8057"

const examples: Readonly<Record<string, OperationExamples>> = {
  createToken: {
    request: "grant_type=client_credentials",
    response: { token_type: "bearer", access_token: "sluice_app_aZ09…" },
  },
  getRules: { response: { data: [rule], meta: { sent: at, result_count: 1 } } },
  updateRules: {
    request: { add: [{ value: rule.value, tag: rule.tag }] },
    response: {
      data: [rule],
      meta: { sent: at, summary: { created: 1, not_created: 0, valid: 1, invalid: 0 } },
    },
  },
  getRuleCounts: {
    response: {
      data: {
        all_project_client_apps: [{ client_app_id: applicationId, rule_count: 1 }],
        cap_per_client_app: "25000",
        cap_per_project: "25000",
        client_app_rules_count: { client_app_id: applicationId, rule_count: 1 },
        project_rules_count: "1",
      },
    },
  },
  getRuleCost: { response: { data: { cost: 27, cap_per_client_app: 10_000_000, skipped: { posts: 0, rules: 0 } } } },
  testRule: {
    request: { value: "heron -is:retweet", recent: 1000 },
    response: {
      data: [{ id: postId, spans: [{ operator: "heron", where: "text", start: 2, end: 7 }] }],
      meta: {
        tested: 1000,
        matched: 1,
        cost: 27,
        from: "2026-03-13T09:26:53.000Z",
        to: at,
        share: 0.001,
        estimated_per_day: 24,
      },
      warnings: [],
    },
  },
  streamPosts: { response: { data: post, matching_rules: [{ id: ruleId, tag: "birds" }] } },
  streamPostsSample: { response: { data: post } },
  streamPostsSample10: { response: { data: post } },
  streamPostsCompliance: { response: { data: { delete: { tweet: { id: "1", author_id: "7" }, event_at: at } } } },
  streamUsersCompliance: { response: { data: { user_delete: { user: { id: "7" }, event_at: at } } } },
  getConnectionHistory: { response: connections },
  deleteConnectionsByUuids: { request: { uuids: [connectionUuid] }, response: endedConnections },
  deleteAllConnections: { response: endedConnections },
  deleteConnectionsByEndpoint: { response: endedConnections },
  getPostsByIds: { response: { data: [post] } },
  deletePosts: { response: { data: { deleted: true } } },
  createDeletions: {
    request: { post_ids: [postId], user_ids: [user.id] },
    response: { data: { posts_deleted: 1, users_deleted: 1 } },
  },
  createPosts: {
    request: { text: post.text, reply: { in_reply_to_tweet_id: "1990004210000004990" } },
    response: { data: { id: postId, text: post.text, edit_history_tweet_ids: [postId] } },
  },
  getPostsById: { response: { data: post } },
  getUsersByIds: { response: { data: [user] } },
  getUsersById: { response: { data: user } },
  getUsersByUsernames: { response: { data: [user] } },
  getUsersByUsername: { response: { data: user } },
  searchUsers: { response: { data: [user], meta: {} } },
  getUsersMe: { response: { data: user } },
  searchPostsRecent: { response: postsPage },
  searchPostsAll: { response: postsPage },
  getPostsCountsRecent: { response: counts },
  getPostsCountsAll: { response: counts },
  getUsage: {
    response: {
      data: { cap_reset_day: 1, project_cap: "100000", project_id: applicationId, project_usage: "1204" },
    },
  },
  getLimits: { response: appLimits },
  getAppLimits: { response: appLimits },
  setAppLimits: { request: ownLimits, response: appLimits },
  getPostsQuotedPosts: { response: postsPage },
  getPostsReposts: { response: postsPage },
  getPostsRepostedBy: { response: { data: [user], meta: { result_count: 1 } } },
  getUsersMentions: { response: postsPage },
  getUsersPosts: { response: postsPage },
  getWebhooks: { response: { data: [webhook], meta: { result_count: 1 } } },
  createWebhooks: { request: { url: webhook.url }, response: { data: webhook } },
  validateWebhooks: { response: { data: { valid: true } } },
  deleteWebhooks: { response: { data: { deleted: true } } },
  getWebhooksStreamLinks: {
    response: {
      data: {
        links: [
          {
            application_id: applicationId,
            business_user_id: businessUserId,
            created_at: at,
            fields: ["tweet.fields=created_at"],
            instance_id: instanceId,
            webhook_id: webhookId,
          },
        ],
      },
    },
  },
  createWebhooksStreamLink: { response: { data: { provisioned: true } } },
  deleteWebhooksStreamLink: { response: { data: { deleted: true } } },
  createWebhookReplayJob: {
    request: { webhook_id: webhookId, from_date: "202603141200", to_date: "202603141230" },
    response: { data: { job_id: "1990004210000004040", created_at: at } },
  },
  getReplays: {
    response: {
      data: [
        {
          job_id: "1990004210000004040",
          webhook_id: webhookId,
          application_id: applicationId,
          from_date: "202603141200",
          to_date: "202603141230",
          state: "complete",
          position: 17,
          end: 17,
          delivered: 5,
          failed: 0,
          created_at: at,
          ended_at: "2026-03-14T12:40:00.000Z",
        },
      ],
      meta: { result_count: 1 },
    },
  },
  createBackfill: {
    request: { webhook_id: webhookId, rule_ids: [ruleId], since: "2026-03-07T12:00:00Z" },
    response: { data: backfill },
  },
  cancelReplay: { response: { data: { ...backfill, state: "cancelled", ended_at: "2026-03-14T12:01:00.000Z" } } },
  getSigningKey: { response: { data: { signing_key: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD" } } },
  rotateSigningKey: {
    response: {
      data: { signing_key: "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", previous_valid_until: "2026-03-15T12:00:00.000Z" },
    },
  },
  getLinkStates: { response: { data: [linkState] } },
  getLinkState: { response: { data: linkState } },
  getWebhookStates: { response: { data: [webhookState], meta: { result_count: 1 } } },
  getWebhookState: { response: { data: webhookState } },
  updateWebhook: {
    request: { name: "Zoo", description: "Writes posts of the zoo to its archive." },
    response: { data: { ...webhookState, name: "Zoo", description: "Writes posts of the zoo to its archive." } },
  },
  testWebhook: {
    response: {
      data: { at, duration_ms: 12, outcome: "delivered", status: 200, event_id: `test_${webhookId}`, bytes: 182 },
    },
  },
  updateLink: { request: { ordered: true }, response: { data: { ...linkState, ordered: true } } },
  getLinkAttempts: {
    response: {
      data: [attempt],
      meta: { result_count: 1 },
    },
  },
  getLinkAttempt: {
    response: {
      data: {
        ...attempt,
        request: {
          method: "POST",
          url: webhook.url,
          headers: { "content-type": "application/json", "webhook-id": eventId, "webhook-timestamp": "1773489600" },
          body: JSON.stringify({ data: post, matching_rules: [{ id: ruleId, tag: "birds" }] }),
        },
        response: { status: 200, headers: { "content-type": "text/plain" }, body: "ok", bytes: 2 },
      },
    },
  },
  getDeadLetters: {
    response: {
      data: [deadLetter],
      meta: { result_count: 1, newest_id: deadLetter.id, oldest_id: deadLetter.id },
    },
  },
  redeliverDeadLetters: { request: { ids: [deadLetter.id] }, response: { data: { redelivered: 1 } } },
  redeliverMatches: {
    request: { event_ids: [eventId, "msg_1990004210000004011_3"] },
    response: { data: { redelivered: 1, refused: [{ event_id: "msg_1990004210000004011_3", reason: "gone" }] } },
  },
  ingestPosts: {
    request: `${JSON.stringify({ data: post })}\n`,
    response: { lines: 1, accepted: 1, duplicates: 0, rejected: [], rejected_count: 0 },
  },
  getTroubles: { response: { data: [trouble], meta: { result_count: 1 } } },
  addTrouble: {
    request: { kind: "responses", webhook_id: webhookId, response: "503", next: 3 },
    response: { data: trouble },
  },
  clearTroubles: { response: { data: { cleared: 2 } } },
  clearTrouble: { response: { data: { cleared: 1 } } },
  disconnectStreams: {
    request: { disconnect_type: "UpstreamOperationalDisconnect" },
    response: { data: { disconnected: 1 } },
  },
  getOverview: {
    response: {
      data: {
        activity: {
          step_seconds: 10,
          until: at,
          posts_per_second: [41.3, 40.9],
          matches_per_second: [2.1, 1.8],
          deliveries_per_second: [1.9, 0],
          failures_per_second: [0, 1.7],
          lag: [0, 18],
          oldest_undelivered_seconds: [0, 9],
        },
        counts: { apps: 1, rules: 12, webhooks: 1, links: 1, has_posts: true },
        problems: [
          {
            kind: "endpoint_down",
            severity: "error",
            title: "hooks.example.com/matches is down",
            detail: "It responds with 500. 18 matches wait. One match at a time probes it.",
            since: at,
            application_id: applicationId,
            application_name: "birds",
            webhook_id: webhookId,
            console_path: `/webhooks/${webhookId}`,
          },
        ],
        problem_count: 1,
      },
    },
  },
  createApp: { request: { name: "birds" }, response: { data: credentials } },
  rotateApp: { response: { data: credentials } },
  revokeApp: { response: { data: { revoked: true } } },
  getTokens: {
    response: { data: [{ id: "2290145672386410531", kind: "operator", created_at: at }], meta: { result_count: 1 } },
  },
  createServerToken: {
    request: { kind: "ingest" },
    response: { data: { kind: "ingest", token: "sluice_ingest_5kL0…" } },
  },
  revokeToken: { response: { data: { revoked: true } } },
  getApps: { response: { data: [application], meta: { result_count: 1 } } },
  createSession: { request: { token: "sluice_operator_3q2-7wQx…" }, response: { data: session } },
  getSession: { response: { data: session } },
  deleteSession: { response: { data: { ended: true } } },
  getSources: { response: { data: [source], meta: { result_count: 1 } } },
  getSource: { response: { data: source } },
  pauseSource: { response: { data: { ...source, activity: "paused" } } },
  resumeSource: { response: { data: source } },
  rewindSource: { request: { to: at }, response: { data: source } },
  getSourceDeadLetters: {
    response: {
      data: [
        {
          id: sourceDeadLetterId,
          at,
          title: "Invalid Record",
          detail: "`text` is missing, and must be a string.",
          bytes: 17,
          encoding: "utf-8",
          record: '{"kind":"commit"}',
        },
      ],
      meta: { result_count: 1 },
    },
  },
  repeatSourceDeadLetters: {
    request: { ids: [sourceDeadLetterId] },
    response: { data: { repeated: 1, rejected: 0 } },
  },
  discardSourceDeadLetters: { request: { ids: [sourceDeadLetterId] }, response: { data: { discarded: 1 } } },
  getStoredPosts: {
    response: { data: [{ data: post }], meta: { result_count: 1, newest_id: postId, oldest_id: postId } },
  },
  getStoredPost: {
    response: {
      data: { data: post },
      matches: [
        { application_id: applicationId, position: 17, matched_at: at, matching_rules: [{ id: ruleId, tag: "birds" }] },
      ],
    },
  },
  getRuleStates: {
    response: { data: [ruleState], meta: { result_count: 1, newest_id: ruleId, oldest_id: ruleId } },
  },
  updateRuleTag: { request: { tag: "birds" }, response: { data: ruleState } },
  streamMatches: {
    response: { position: 17, matched_at: at, data: post, matching_rules: [{ id: ruleId, tag: "birds" }] },
  },
  getHealth: { response: { status: "ok" } },
  getReadiness: { response: { status: "ready" } },
}

/** The part of a document that is changed. */
interface Document {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly operationId?: string
  readonly requestBody?: WithContent
  readonly responses?: Readonly<Record<string, WithContent>>
}

interface WithContent {
  readonly content?: Readonly<Record<string, object>>
}

/** The document with the examples at the bodies of its operations. */
export function withExamples(document: object): object {
  const { paths = {}, ...rest } = document as Document
  return {
    ...rest,
    paths: mapValues(paths, (item) => mapValues(item, exampled)),
  }
}

function exampled(operation: Operation): Operation {
  const { request, response } = examples[operation.operationId ?? ""] ?? {}
  const { requestBody, responses } = operation
  return {
    ...operation,
    ...(requestBody && { requestBody: shown(requestBody, request) }),
    ...(responses && {
      responses: mapValues(responses, (one, status) => (status.startsWith("2") ? shown(one, response) : one)),
    }),
  }
}

function shown<Body extends WithContent>(body: Body, example: unknown): Body {
  if (example === undefined || body.content === undefined) return body
  const { content } = body
  return { ...body, content: mapValues(content, (media, type) => ({ ...media, example: exampleAs(type, example) })) }
}

/** Lines of JSON stand in the document as text. */
function exampleAs(type: string, example: unknown): unknown {
  const isLines = type === "application/x-ndjson" && typeof example !== "string"
  return isLines ? `${JSON.stringify({ ...(example as object), done: true })}\n` : example
}

function mapValues<Value, Mapped>(
  object: Readonly<Record<string, Value>>,
  map: (value: Value, key: string) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]))
}
