/** Why a record of Mastodon is ignored. Each is counted by its text. */
export const reasons = {
  event: "an event of another kind",
  position: "no event: the position of the source",
  visibility: "a post that is not public",
  unlisted: "an unlisted post",
  reblog: "a reblog",
  unnamed: "a reblog of a post whose id is unknown",
  language: "a post in another language",
  unedited: "an update that edits nothing",
} as const
