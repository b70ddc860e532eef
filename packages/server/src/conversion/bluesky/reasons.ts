/** Why a record of Bluesky is ignored. Each is counted by its text. */
export const reasons = {
  collection: "a record of another collection",
  repost: "a repost",
  unnamed: "a repost of a post whose id is unknown",
  profile: "a profile",
  language: "a post in another language",
  account: "an account whose posts stay",
  noHandle: "an identity without a handle",
  notice: "a notice of the server",
  other: "an event of another kind",
  operation: "an operation of another kind",
} as const
