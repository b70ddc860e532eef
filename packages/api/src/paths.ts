/** Paths of the dialect and of Sluice's own routes, with `:name` for parameters. */
export const paths = {
  home: "/",
  oauthToken: "/oauth2/token",
  rules: "/2/tweets/search/stream/rules",
  ruleCounts: "/2/tweets/search/stream/rules/counts",
  stream: "/2/tweets/search/stream",
  sample: "/2/tweets/sample/stream",
  sample10: "/2/tweets/sample10/stream",
  postsCompliance: "/2/tweets/compliance/stream",
  usersCompliance: "/2/users/compliance/stream",
  connections: "/2/connections",
  allConnections: "/2/connections/all",
  endpointConnections: "/2/connections/:endpoint_id",
  links: "/2/tweets/search/webhooks",
  link: "/2/tweets/search/webhooks/:webhook_id",
  webhooks: "/2/webhooks",
  webhook: "/2/webhooks/:webhook_id",
  postsById: "/2/tweets",
  postById: "/2/tweets/:id",
  users: "/2/users",
  user: "/2/users/:id",
  usersBy: "/2/users/by",
  userByUsername: "/2/users/by/username/:username",
  userSearch: "/2/users/search",
  me: "/2/users/me",
  userPosts: "/2/users/:id/tweets",
  mentions: "/2/users/:id/mentions",
  quotes: "/2/tweets/:id/quote_tweets",
  reposts: "/2/tweets/:id/retweets",
  reposters: "/2/tweets/:id/retweeted_by",
  searchRecent: "/2/tweets/search/recent",
  searchAll: "/2/tweets/search/all",
  countsRecent: "/2/tweets/counts/recent",
  countsAll: "/2/tweets/counts/all",
  usage: "/2/usage/tweets",
  posts: "/sluice/v1/posts",
  deletions: "/sluice/v1/deletions",
  linkDetails: "/sluice/v1/links",
  linkDetail: "/sluice/v1/links/:webhook_id",
  attempts: "/sluice/v1/links/:webhook_id/attempts",
  attempt: "/sluice/v1/links/:webhook_id/attempts/:attempt_id",
  deadLetters: "/sluice/v1/dead-letters",
  redeliver: "/sluice/v1/dead-letters/redeliver",
  redeliverMatches: "/sluice/v1/deliveries/redeliver",
  replays: "/sluice/v1/replays",
  replay: "/sluice/v1/replays/:job_id",
  webhookReplay: "/2/webhooks/replay",
  webhookDetails: "/sluice/v1/webhooks",
  webhookDetail: "/sluice/v1/webhooks/:webhook_id",
  webhookTest: "/sluice/v1/webhooks/:webhook_id/test",
  signingKey: "/sluice/v1/webhooks/:webhook_id/signing_key",
  ruleDetails: "/sluice/v1/rules",
  ruleDetail: "/sluice/v1/rules/:rule_id",
  post: "/sluice/v1/posts/:post_id",
  matches: "/sluice/v1/matches",
  ruleCost: "/sluice/v1/rules/cost",
  ruleTest: "/sluice/v1/rules/test",
  troubles: "/sluice/v1/trouble",
  trouble: "/sluice/v1/trouble/:trouble_id",
  troubleDisconnect: "/sluice/v1/trouble/disconnect",
  overview: "/sluice/v1/overview",
  apps: "/sluice/v1/apps",
  app: "/sluice/v1/apps/:id",
  rotateApp: "/sluice/v1/apps/:id/rotate",
  appLimits: "/sluice/v1/apps/:id/limits",
  limits: "/sluice/v1/limits",
  tokens: "/sluice/v1/tokens",
  token: "/sluice/v1/tokens/:token_id",
  session: "/sluice/v1/session",
  sources: "/sluice/v1/sources",
  source: "/sluice/v1/sources/:name",
  pauseSource: "/sluice/v1/sources/:name/pause",
  resumeSource: "/sluice/v1/sources/:name/resume",
  rewindSource: "/sluice/v1/sources/:name/rewind",
  sourceDeadLetters: "/sluice/v1/sources/:name/dead_letters",
  repeatSourceDeadLetters: "/sluice/v1/sources/:name/dead_letters/repeat",
  discardSourceDeadLetters: "/sluice/v1/sources/:name/dead_letters/discard",
  openapi: "/openapi.json",
  dialectOpenapi: "/2/openapi.json",
  healthz: "/healthz",
  readyz: "/readyz",
  metrics: "/metrics",
} as const

/** The beginning of every path of X. */
export const dialectPath = "/2/"

/** Path of the console; its pages are below it. */
export const consolePath = "/console"

/** Path of the API reference for people. */
export const docsPath = "/docs"

/** The parameters that a path has, by their names; `never` when it has none. */
export type ParameterOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/** A path with its parameters filled in, each escaped. Throws when one is missing. */
export function pathOf<Path extends string>(
  path: Path,
  parameters: Readonly<Record<ParameterOf<Path>, string>>,
): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value: string | undefined = (parameters as Readonly<Record<string, string>>)[name]
    if (value === undefined) throw new TypeError(`${path} needs ${name}`)
    return encodeURIComponent(value)
  })
}
