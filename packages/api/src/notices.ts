/**
 * Notices in X's streams, by the member that holds one: `{"delete":{…}}` in v1.1, `{"data":{"delete":{…}}}` in v2.
 *
 * Source: docs.x.com, "Post compliance stream", "User compliance stream"; X's archived "Streaming message types".
 */

/** Names of the notices that tell of a deletion. */
export const deletionNotices: readonly string[] = ["delete", "user_delete"]

/** Names of the notices that tell of anything else. */
export const otherNotices: readonly string[] = [
  ..."drop undrop withheld tweet_edit user_undelete user_protect user_unprotect user_suspend user_unsuspend".split(" "),
  ..."user_withheld scrub_geo user_profile_modification status_withheld limit disconnect warning".split(" "),
]

/** Whether the object of a line tells of a deletion: Sluice obeys such a line. A post has an id and a text. */
export function tellsOfDeletion(line: Readonly<Record<string, unknown>>): boolean {
  const { data } = line
  const members: object = typeof data === "object" && data !== null ? data : {}
  if ("id" in members || "text" in members) return false
  return "delete" in line || deletionNotices.some((name) => name in members)
}
