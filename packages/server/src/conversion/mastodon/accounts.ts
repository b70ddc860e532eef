/** Accounts of Mastodon as users in X's shape. */
import { isDateTime } from "../../model/date-time.ts"
import type { UserId } from "../../model/ids.ts"
import type { UserObject } from "../foreign-envelope.ts"
import { accountName, foreignUserId } from "../foreign-ids.ts"
import { filledOf, invalidMember, objectOf, stringOf, wholeOf, type Members } from "../records.ts"
import { postText } from "../text-offsets.ts"
import { linkedTextOf } from "./html-text.ts"

/** A name of an account with its host, and the id that follows from it. */
export interface AccountName {
  /** `user@host`, also for accounts of the instance itself. */
  readonly username: string
  readonly id: UserId
}

/** The name of an account by its `acct`, where local ones have no host; undefined for a text that is none. */
export function accountOf(acct: unknown, host: string): AccountName | undefined {
  const text = stringOf(acct)
  if (text === undefined || text.length > namesMax || !/^[^\s@/\p{Cc}]+(?:@[^\s@/\p{Cc}]+)?$/u.test(text))
    return undefined
  const username = text.includes("@") ? text : `${text}@${host}`
  return { username, id: foreignUserId(accountName(username)) }
}

/** Longest name, `acct` as it came. Ours: a user's name, and the longest host. */
const namesMax = 300

/** The account as a user. `path` leads to it, for messages. Throws `RejectedRecord` for an account without a name. */
export function userOf(value: unknown, host: string, path: string): UserObject {
  const account = objectOf(value)
  if (account === undefined) throw invalidMember(path, value, "an object")
  const name = accountOf(account.acct, host)
  if (name === undefined) throw invalidMember(`${path}.acct`, account.acct, "the name of an account")
  const { username, id } = name
  return {
    id,
    username,
    name: filledOf(account.display_name) ?? username,
    created_at:
      typeof account.created_at === "string" && isDateTime(account.created_at) ? account.created_at : undefined,
    description: postText(linkedTextOf(stringOf(account.note) ?? "").text),
    profile_image_url: filledOf(account.avatar),
    url: filledOf(account.url),
    protected: account.locked === true,
    // A link that the account proves is no badge of X's.
    verified: false,
    public_metrics: countsOf(account),
  }
}

function countsOf(account: Members): Members {
  return {
    followers_count: wholeOf(account.followers_count),
    following_count: wholeOf(account.following_count),
    tweet_count: wholeOf(account.statuses_count),
    listed_count: 0,
  }
}
