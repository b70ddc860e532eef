/**
 * The X API v2 dialect as types and constants; the schemas themselves are in `schemas.ts`. Nothing here does I/O or loads a
 * library.
 */
export * from "./attempts.ts"
export * from "./envelope.ts"
export * from "./endpoints.ts"
export * from "./fields.ts"
export * from "./limits.ts"
export * from "./not-offered.ts"
export * from "./notices.ts"
export * from "./paths.ts"
export * from "./problems.ts"
export type * from "./response-objects.ts"
export type * from "./schemas.ts"
export * from "./signature.ts"
export * from "./snowflake.ts"
