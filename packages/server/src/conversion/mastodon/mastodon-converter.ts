/**
 * Converts the events of a Mastodon instance.
 *
 *     {"event":"update","payload":{status}}          ─► post, or a repost if the source takes reblogs
 *     {"event":"status.update","payload":{status}}   ─► a later version of a post
 *     {"event":"delete","payload":"ID"}              ─► deletion
 *     {"event":…}                                    ─► ignored; `position` alone moves the position of the source
 *
 * The driver of the source makes the line of what came, over either transport; the payload is the object, or its JSON as
 * text. Next to them may stand what the driver knows: `received_ms`, the time of arrival, which is compared with times of
 * edits only; `position`, the position of the source after this line; and `account_host`, the host in the names of the
 * instance's own accounts.
 *
 * A status brings two times. Its id tells when the instance got it, by the instance's clock; `created_at` is the word of the
 * server that it came from. So `created_at` may be at most five minutes after the id's time.
 */
import { minuteMs } from "../../model/date-time.ts"
import type { PostId } from "../../model/ids.ts"
import type { Conversion, Converted, Converter, KnownNames } from "../converter.ts"
import { derivedId } from "../foreign-ids.ts"
import { aheadMsMax, includesOf, knownUser, oldMs, repostText, type UserObject } from "../foreign-envelope.ts"
import { isTaken, takenLanguages, type TakenLanguages } from "../post-language.ts"
import {
  filledOf,
  ignored,
  invalidMember,
  objectOf,
  parsedRecord,
  RejectedRecord,
  settled,
  unlessRejected,
  wholeOf,
  type Members,
} from "../records.ts"
import { reasons } from "./reasons.ts"
import {
  idOfName,
  namesIn,
  postOf,
  statusId,
  statusName,
  statusOf,
  usersIn,
  type Instance,
  type Status,
} from "./status.ts"

/** The posts that a source of Mastodon takes. */
export interface MastodonSettings extends Instance {
  readonly takesReblogs: boolean
  readonly takesUnlisted: boolean
  /** Languages of posts, as BCP 47 tags or X's codes, `und` for posts without one; absent or empty takes all. */
  readonly languages?: readonly string[] | undefined
}

/** A converter of the events of one instance. */
export function mastodonConverter(settings: MastodonSettings): Converter {
  const reading = { ...settings, host: settings.host.toLowerCase(), languages: takenLanguages(settings.languages) }
  const numbers = new Map([[reading.host, reading.number]])
  return {
    begin: (line) => begin(line, reading),
    idOf: (name) => derivedId(name, numbers),
  }
}

type Reading = Omit<MastodonSettings, "languages"> & { readonly languages: TakenLanguages }

function begin(line: string, reading: Reading): Conversion {
  let position: string | undefined
  const conversion = unlessRejected({}, () => {
    const record = parsedRecord(line)
    position = filledOf(record.position)
    const accountHost = filledOf(record.account_host)?.toLowerCase()
    return eventConversion(record, accountHost === undefined ? reading : { ...reading, accountHost })
  })
  return position === undefined ? conversion : { ...conversion, position }
}

function eventConversion({ event, payload, received_ms: received }: Members, reading: Reading): Conversion {
  if (typeof event !== "string") throw invalidMember("event", event, "a string")
  if (event === "delete") return deletion(payload, reading)
  if (event === "position") return settled(ignored(reasons.position))
  if (event !== "update" && event !== "status.update") return settled(ignored(reasons.event))
  const members = typeof payload === "string" ? parsedRecord(payload) : objectOf(payload)
  if (members === undefined) throw invalidMember("payload", payload, "a status")
  if (event === "status.update" && (members.edited_at === null || members.edited_at === undefined)) {
    return settled(ignored(reasons.unedited))
  }
  return statusConversion(members, reading, wholeOf(received))
}

function deletion(payload: unknown, reading: Reading): Conversion {
  const name = statusName(reading, payload)
  if (name === undefined) throw invalidMember("payload", payload, "the id of a status, as a string")
  const id = statusId(reading, payload)
  const finish = (known: KnownNames): Converted => ({ kind: "post deleted", name, id: known.postId(name) ?? id })
  return { posts: [name], users: [], finish }
}

/** Why a status of this visibility is not taken; undefined for one that is. */
function unseen(visibility: unknown, { takesUnlisted }: Reading): string | undefined {
  if (visibility === "public") return undefined
  if (visibility !== "unlisted") return reasons.visibility
  return takesUnlisted ? undefined : reasons.unlisted
}

function statusConversion(members: Members, reading: Reading, receivedMs: number | undefined): Conversion {
  const reblogged = objectOf(members.reblog)
  if (reblogged !== undefined && !reading.takesReblogs) return settled(ignored(reasons.reblog))
  const why = unseen(members.visibility, reading) ?? (reblogged && unseen(reblogged.visibility, reading))
  if (why !== undefined) return settled(ignored(why))
  const status = statusOf(members, reading, "payload")
  refuseFuture(status, receivedMs)
  const original = reblogged === undefined ? undefined : statusOf(reblogged, reading, "payload.reblog")
  if (!isTaken(reading.languages, [(original ?? status).language])) return settled(ignored(reasons.language))
  return original === undefined ? postConversion(status, reading) : repostConversion(status, original, reading)
}

function refuseFuture({ createdMs, arrivedMs, editedMs }: Status, receivedMs: number | undefined): void {
  if (arrivedMs !== undefined && createdMs > arrivedMs + aheadMsMax) {
    throw inFuture("payload.created_at", createdMs - arrivedMs, "the time in `payload.id`")
  }
  if (receivedMs !== undefined && editedMs !== undefined && editedMs > receivedMs + aheadMsMax) {
    throw inFuture("payload.edited_at", editedMs - receivedMs, "its arrival")
  }
}

function inFuture(name: string, aheadMs: number, of: string): RejectedRecord {
  const minutes = Math.floor(aheadMs / minuteMs)
  const detail = `\`${name}\` is ${minutes} minutes after ${of}, and may be at most ${aheadMsMax / minuteMs}.`
  return new RejectedRecord("Time in the Future", detail)
}

/** True for a post that was written a day before it came. */
function isOld({ createdMs, arrivedMs, editedMs }: Status): boolean {
  return editedMs === undefined && arrivedMs !== undefined && createdMs < arrivedMs - oldMs
}

function atMsOf({ editedMs, arrivedMs }: Status): Pick<Conversion, "atMs"> {
  return { atMs: editedMs ?? arrivedMs }
}

/** The users whom the status mentions, as far as they are known. */
function knownUsers(status: Status, known: KnownNames): readonly (UserObject | undefined)[] {
  return usersIn(status).map((id) => knownUser(id, known))
}

function postConversion(status: Status, reading: Reading): Conversion {
  const quoted = quotedOf(status, reading)
  return {
    ...atMsOf(status),
    posts: namesIn(status),
    users: usersIn(status),
    originals: status.repliedTo === undefined ? [] : [status.repliedTo],
    finish: (known) => ({
      kind: "post",
      name: status.name,
      firstName: status.name === status.firstName ? undefined : status.firstName,
      id: status.id,
      isOld: isOld(status),
      envelopeWith: (id) => {
        const data = postOf(status, { id, instance: reading, known })
        const included = quoted === undefined ? undefined : includedPost(quoted, reading, known)
        const users = [status.user, ...knownUsers(status, known), ...(included === undefined ? [] : [quoted?.user])]
        const media = [...status.media, ...(included === undefined ? [] : (quoted?.media ?? []))]
        const tweets = included === undefined ? [] : [included]
        return JSON.stringify({ data, includes: includesOf({ users, media, tweets, polls: pollsOf(status) }) })
      },
    }),
  }
}

function pollsOf({ poll }: Status): readonly Members[] {
  return poll === undefined ? [] : [poll]
}

/** The quoted status, when it came, can be read and may be seen. */
function quotedOf(status: Status, reading: Reading): Status | undefined {
  if (status.quoted === undefined || unseen(status.quoted.visibility, reading) !== undefined) return undefined
  try {
    return statusOf(status.quoted, reading, "payload.quote")
  } catch (error) {
    if (error instanceof RejectedRecord) return undefined
    throw error
  }
}

/** A quoted or reblogged status as the post that it was at first, by which others refer to it. */
function includedPost(status: Status, instance: Instance, known: KnownNames): Members | undefined {
  const id = idOfName(status.firstName, { instance, known })
  return id === undefined ? undefined : postOf(status, { id, instance, known })
}

function repostConversion(status: Status, original: Status, reading: Reading): Conversion {
  return {
    ...atMsOf(status),
    posts: [...new Set([status.name, ...namesIn(original)])],
    users: usersIn(original),
    originals: original.repliedTo === undefined ? [] : [original.repliedTo],
    finish: (known) => {
      const id = idOfName(original.firstName, { instance: reading, known })
      if (id === undefined) return ignored(reasons.unnamed)
      const { name } = status
      const envelopeWith = (own: PostId): string => repostEnvelope(own, { status, original, id, reading, known })
      return { kind: "post", name, id: status.id, isOld: isOld(status), envelopeWith }
    },
  }
}

function repostEnvelope(
  own: PostId,
  repost: {
    readonly status: Status
    readonly original: Status
    /** The id of the original. */
    readonly id: PostId
    readonly reading: Reading
    readonly known: KnownNames
  },
): string {
  const { status, original, id, reading, known } = repost
  const data = {
    id: own,
    ...repostText(original.user, original.content.text),
    author_id: status.user.id,
    created_at: status.writtenAt,
    edit_history_tweet_ids: [own],
    conversation_id: own,
    referenced_tweets: [{ type: "retweeted", id }],
    lang: original.language,
    possibly_sensitive: original.isSensitive,
    public_metrics: original.metrics,
    source_uri: status.name,
  }
  const includes = includesOf({
    users: [status.user, original.user, ...knownUsers(original, known)],
    tweets: [postOf(original, { id, instance: reading, known })],
    media: original.media,
    polls: pollsOf(original),
  })
  return JSON.stringify({ data, includes })
}
