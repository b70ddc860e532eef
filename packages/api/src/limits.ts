/** Bounds of the dialect. Bounds that an operator sets are in the server's configuration. */
export * from "./limit-profiles.ts"

/** Page sizes of lists. Source: X's OpenAPI document 2.167; links: ours, as no page is shown there. */
export const pageSizes = {
  userPosts: { min: 5, max: 100, default: 10 },
  userSearch: { min: 1, max: 1000, default: 100 },
  rules: { min: 1, max: 1000, default: 1000 },
  links: { min: 1, max: 100, default: 100 },
  searchRecent: { min: 10, max: 100, default: 10 },
  searchAll: { min: 10, max: 500, default: 10 },
  mentions: { min: 5, max: 100, default: 10 },
  quotes: { min: 10, max: 100, default: 10 },
  reposts: { min: 1, max: 100, default: 100 },
  connections: { min: 1, max: 100, default: 10 },
} as const

/** Most characters of a search's query. Source: docs.x.com, "Build a query", for Enterprise. */
export const searchQueryCharactersMax = 4_096

/** Longest name of an app, a token or a webhook, characters. Ours. */
export const nameCharactersMax = 100

/** Longest description of a webhook, characters. Ours. */
export const descriptionCharactersMax = 500

/** Page sizes of lists that X does not have. */
export const ownPageSizes = {
  attempts: { min: 1, max: 1000, default: 100 },
  deadLetters: { min: 1, max: 100, default: 100 },
  sourceDeadLetters: { min: 1, max: 100, default: 20 },
  ruleDetails: { min: 1, max: 1000, default: 100 },
  posts: { min: 1, max: 100, default: 20 },
  webhookDetails: { min: 1, max: 100, default: 100 },
  linkDetails: { min: 1, max: 100, default: 100 },
} as const

/** Most bytes of a record that a dead letter of a source shows. Ours. */
export const recordBytesShownMax = 65_536

/** Most ids of a look-up of posts. Source: X's OpenAPI document 2.167. */
export const postIdsMax = 100
/** Most users that one look-up names. Source: X's OpenAPI document 2.167. */
export const usersLookedUpMax = 100

/** Most rules that a request adds, and most ids or values by which it deletes. Source: X's page size of rules. */
export const ruleChangesMax = 1000

/** Most characters of a webhook's URL. Source: X's OpenAPI document 2.167. */
export const webhookUrlCharactersMax = 200

/** Most characters of a rule's tag. Source: docs.x.com, PowerTrack "tag". */
export const ruleTagCharactersMax = 255

/** Largest JSON request body, and the largest line of an NDJSON body that a server can be set to accept. Ours. */
export const bodyBytesMax = 1_048_576

/** Days that usage is reported of. Source: X's OpenAPI document 2.167. */
export const usageDays = { min: 1, max: 90, default: 7 } as const

/** Most connections that a request ends by their UUIDs. Source: X's OpenAPI document 2.167. */
export const connectionsEndedMax = 100

/** Most partitions of the 10 % sample. Source: X's OpenAPI document 2.167. */
export const samplePartitions = 2

/** Most partitions of a compliance stream. Source: X's OpenAPI document 2.167. */
export const compliancePartitions = 4

/** Most minutes of backfill that a stream connection may request. Source: docs.x.com, "Recovery and redundancy". */
export const backfillMinutesMax = 5

/** Most characters of a post's text. Source: docs.x.com, "Counting characters": the longest post that X accepts. */
export const postCharactersMax = 25_000

/** Time between two keep-alives on a stream connection. X's 20 s trips clients that time out at 21 s. */
export const keepAliveMs = 12_000

/** Longest a webhook may take to respond, body included. Source: docs.x.com, "Webhooks: introduction". */
export const webhookResponseMsMax = 10_000
