/** The X API v2 dialect as types, schemas and constants. Nothing here does I/O. */
export * from "./attempts.ts"
export * from "./envelope.ts"
export * from "./fields.ts"
export * from "./limits.ts"
export * from "./paths.ts"
export * from "./problems.ts"
export * from "./schemas/apps.ts"
export {
  DeletedBody,
  idPattern,
  NoQuery,
  ownPageSizes,
  PageMeta,
  ProblemBody,
  selectionParameters,
  WebhookParams,
} from "./schemas/common.ts"
export * from "./schemas/deliveries.ts"
export * from "./schemas/overview.ts"
export * from "./schemas/posts.ts"
export * from "./schemas/rules.ts"
export * from "./schemas/service.ts"
export * from "./schemas/trouble.ts"
export * from "./schemas/sessions.ts"
export * from "./schemas/webhooks.ts"
export * from "./signature.ts"
export * from "./snowflake.ts"
