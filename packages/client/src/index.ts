/**
 * A client of the X API v2 and of Sluice: resources, requests, pages and the filtered stream. Runs wherever
 * `fetch` does, so nothing here imports from `node:`. The receiver of deliveries is `@sluice/client/receiver`.
 */
export type { IncludesIn, PostIn, UserIn } from "@sluice/api"
export { createClient, type Client } from "./client.ts"
export { ApiError, type ApiErrorEntry, type ApiErrorKind } from "./errors.ts"
export type { Call, List, ListCall, MethodOptions, SelectingCall, SelectingListCall } from "./methods.ts"
export type { Operations, OptionsOf, PagedName, PageOptions, Query, RequestHeaders, ResponseOf } from "./operations.ts"
export { problemText, type ProblemText } from "./problem-text.ts"
export { reconnectDelayMs, withRetries, type RetryOptions } from "./retry.ts"
export { sumOfRuleTests, type RuleTestSum } from "./rule-test-sum.ts"
export { RuleSyncError, type DesiredRule, type RuleDifference, type RuleSyncOptions } from "./rules-sync.ts"
export type { StreamDisconnect, StreamLine, StreamOptions } from "./stream.ts"
export type { ClientOptions } from "./transport.ts"
