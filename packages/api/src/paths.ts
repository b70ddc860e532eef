/** Paths of the dialect and of Sluice's own routes, with `:name` for parameters. */
export const paths = {
  token: "/oauth2/token",
  rules: "/2/tweets/search/stream/rules",
  ruleCounts: "/2/tweets/search/stream/rules/counts",
  stream: "/2/tweets/search/stream",
  links: "/2/tweets/search/webhooks",
  link: "/2/tweets/search/webhooks/:webhook_id",
  webhooks: "/2/webhooks",
  webhook: "/2/webhooks/:webhook_id",
  userPosts: "/2/users/:id/tweets",
  ingest: "/sluice/v1/posts",
  linkStates: "/sluice/v1/links",
  ruleTest: "/sluice/v1/rules/test",
  openapi: "/openapi.json",
  healthz: "/healthz",
  readyz: "/readyz",
  metrics: "/metrics",
} as const
