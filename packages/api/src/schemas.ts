/**
 * The bodies, query strings and path parameters of the API as schemas, for what validates or describes them. An entry by
 * itself: with their library they take longer to load than all else of the API, which every thread of the server needs.
 */
export * from "./schemas/apps.ts"
export * from "./schemas/connections.ts"
export { DeletedBody, idPattern, NoQuery, PageMeta, ProblemBody, WebhookParams } from "./schemas/common.ts"
export * from "./schemas/deliveries.ts"
export * from "./schemas/limits.ts"
export * from "./schemas/overview.ts"
export * from "./schemas/posts.ts"
export * from "./schemas/rules.ts"
export * from "./schemas/search.ts"
export * from "./schemas/service.ts"
export * from "./schemas/sessions.ts"
export * from "./schemas/sources.ts"
export * from "./schemas/trouble.ts"
export * from "./schemas/users.ts"
export * from "./schemas/webhooks.ts"
