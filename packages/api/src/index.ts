/** The X API v2 dialect as types, schemas and constants. Nothing here talks to anything. */
export * from "./envelope.ts"
export * from "./fields.ts"
export * from "./limits.ts"
export * from "./paths.ts"
export * from "./problems.ts"
export * from "./schemas.ts"
export * from "./signature.ts"
export * from "./snowflake.ts"
