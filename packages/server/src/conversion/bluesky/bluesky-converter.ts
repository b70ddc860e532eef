/**
 * Converts the events of Bluesky's Jetstream.
 *
 *     frame ─► commit of a post      ─► post, a later version of it, or its deletion
 *           ─► commit of a repost    ─► the same, if the source takes reposts
 *           ─► commit of a profile   ─► user, if the source takes profiles
 *           ─► identity, or profile  ─► user
 *           ─► account               ─► deletion of a user
 *           ─► anything else         ─► ignored
 */
import { minuteMs } from "../../model/date-time.ts"
import type { Conversion, Converted, Converter, KnownNames } from "../converter.ts"
import { aheadMsMax, includesOf, oldMs, originalOf, repostText, type Original, timeOf } from "../foreign-envelope.ts"
import {
  atNameOf,
  atPostId,
  derivedId,
  foreignUserId,
  isRecordKey,
  microsecondsOfTid,
  nameOfAt,
  type AtName,
} from "../foreign-ids.ts"
import { isTaken, takenLanguages } from "../post-language.ts"
import {
  ignored,
  invalidMember,
  memberOf,
  RejectedRecord,
  settled,
  parsedRecord,
  unlessRejected,
  type Place,
} from "../records.ts"
import type { PostId, UserId } from "../../model/ids.ts"
import { eventOf, placeOf, uriOf, type Commit, type FrameEvent } from "./frame.ts"
import { isReadAgain } from "./overlap.ts"
import { postConversion, type PostReading, type PostVersion } from "./post.ts"
import { reasons } from "./reasons.ts"
import { authorOf, pinnedPost, userOfIdentity, userOfProfile, userOfView } from "./users.ts"

/** The records that a source of Bluesky takes, and how they become posts. */
export interface BlueskySettings {
  readonly takesReposts: boolean
  readonly takesProfiles: boolean
  /** True when the driver of the source looks up profiles: then answers of an AppView are records, too. */
  readonly looksUpProfiles: boolean
  /** Languages of posts, as BCP 47 tags or X's codes, `und` for posts without one; absent or empty takes all. */
  readonly languages?: readonly string[] | undefined
  /** True to give media and avatars the addresses of Bluesky's own servers. */
  readonly givesMediaUrls: boolean
}

/** A converter of frames of either endpoint of Jetstream. */
export function blueskyConverter(settings: BlueskySettings): Converter {
  const reading = { ...settings, languages: takenLanguages(settings.languages) }
  return { begin: (line) => begin(line, reading), idOf: (name) => derivedId(name, new Map()), isReadAgain }
}

type Reading = Omit<BlueskySettings, "languages"> & PostReading

function begin(line: string, reading: Reading): Conversion {
  return unlessRejected({}, () => {
    const frame = parsedRecord(line)
    const place = placeOf(frame)
    return unlessRejected(place, () => conversionOf(eventOf(frame), reading, place))
  })
}

function conversionOf(event: FrameEvent, reading: Reading, place: Place): Conversion {
  switch (event.kind) {
    case "commit":
      return commitConversion(event, reading, place)
    case "identity":
      return userConversion(event.did, place, (id, known) => userOfIdentity(event.did, id, event.handle, known))
    case "profile":
      if (!reading.looksUpProfiles) return settled(ignored(reasons.profile), place)
      return userConversion(event.did, place, (id, known) => userOfView(event.did, id, event.profile, known))
    case "account":
      return settled(accountOutcome(event), place)
    case "notice":
      return settled(ignored(reasons.notice), place)
    case "other":
      return settled(ignored(reasons.other), place)
  }
}

/** A takedown and a deletion remove the account's posts; every other status may end. */
function accountOutcome({ did, isActive, status }: Extract<FrameEvent, { kind: "account" }>): Converted {
  const isGone = !isActive && (status === "deleted" || status === "takendown")
  return isGone ? { kind: "user deleted", id: foreignUserId(did) } : ignored(reasons.account)
}

function userConversion(
  did: string,
  place: Place,
  convert: (id: UserId, known: KnownNames) => Converted,
  posts: readonly string[] = [],
): Conversion {
  const id = foreignUserId(did)
  return { ...place, posts, users: [id], finish: (known) => convert(id, known) }
}

function commitConversion(commit: Commit, reading: Reading, place: Place): Conversion {
  switch (commit.collection) {
    case "app.bsky.feed.post":
      return recordConversion(commit, place, (version) => postConversion(commit.record, version, reading, place))
    case "app.bsky.feed.repost":
      if (!reading.takesReposts) return settled(ignored(reasons.repost), place)
      return recordConversion(commit, place, (version) => repostConversion(commit.record, version, reading, place))
    case "app.bsky.actor.profile":
      if (!reading.takesProfiles) return settled(ignored(reasons.profile), place)
      return profileConversion(commit, reading, place)
    default:
      return settled(ignored(reasons.collection), place)
  }
}

function profileConversion({ did, record }: Commit, { givesMediaUrls }: Reading, place: Place): Conversion {
  const pinned = pinnedPost(record)
  const convert = (id: UserId, known: KnownNames): Converted =>
    userOfProfile(did, id, { record, known, givesMediaUrls })
  return userConversion(did, place, convert, pinned === undefined ? [] : [pinned])
}

/** The deletion of a record, or the conversion that `convert` begins of a version of it. */
function recordConversion(commit: Commit, place: Place, convert: (version: PostVersion) => Conversion): Conversion {
  const { did, collection, operation, rkey } = commit
  if (typeof rkey !== "string" || !isRecordKey(rkey)) throw invalidMember("rkey", rkey, "a record key")
  const at = { did, collection, rkey }
  if (operation === "create" || operation === "update") return convert(versionOf(at, commit))
  if (operation !== "delete") return settled(ignored(reasons.operation), place)
  const name = nameOfAt(at)
  const finish = (known: KnownNames): Converted => ({
    kind: "post deleted",
    name,
    id: known.postId(name) ?? atPostId(at),
  })
  return { ...place, posts: [name], users: [], finish }
}

/**
 * The version that the commit makes. The revision tells when: services of the network refuse one that is ahead of their
 * clock, and no service looks at a key, which may name any time.
 */
function versionOf(at: AtName, { operation, rev }: Commit): PostVersion {
  const revMs = typeof rev === "string" ? millisecondsOfTid(rev) : undefined
  if (typeof rev !== "string" || revMs === undefined) throw invalidMember("rev", rev, "a TID")
  const keyMs = millisecondsOfTid(at.rkey)
  if (keyMs !== undefined && keyMs > revMs + aheadMsMax) {
    const minutes = Math.floor((keyMs - revMs) / minuteMs)
    const detail = `\`rkey\` ${at.rkey} names a time ${minutes} minutes after that of the commit, ${rev}, and at most ${aheadMsMax / minuteMs} may be between them.`
    throw new RejectedRecord("Time in the Future", detail)
  }
  const first = { name: nameOfAt(at), id: atPostId(at) }
  if (operation === "create") {
    return { at, ...first, isOld: keyMs !== undefined && keyMs < revMs - oldMs }
  }
  const later = { ...at, rev }
  return { at, name: nameOfAt(later), id: atPostId(later), first, isOld: false }
}

function millisecondsOfTid(text: string): number | undefined {
  const microseconds = microsecondsOfTid(text)
  return microseconds === undefined ? undefined : Math.floor(microseconds / 1_000)
}

/** Begins to convert a repost: it has the text and the objects of its original, if that is stored. */
function repostConversion(value: unknown, version: PostVersion, reading: Reading, place: Place): Conversion {
  const subject = uriOf(memberOf(value, "subject"))
  const at = subject === undefined ? undefined : atNameOf(subject)
  if (subject === undefined || at === undefined)
    throw invalidMember("record.subject.uri", subject, "the name of a post")
  const authorId = foreignUserId(version.at.did)
  const repostedId = foreignUserId(at.did)
  return {
    ...place,
    posts: [version.name, subject],
    users: authorId === repostedId ? [authorId] : [authorId, repostedId],
    originals: [subject],
    finish: (known) => {
      const envelope = known.envelope?.(subject)
      const original = envelope === undefined ? undefined : originalOf(envelope)
      if (!isTaken(reading.languages, [original?.language ?? "und"])) return ignored(reasons.language)
      const id = known.postId(subject) ?? atPostId(at)
      if (id === undefined) return ignored(reasons.unnamed)
      const { name, isOld } = version
      const envelopeWith = (own: PostId): string => repostEnvelope(own, { version, at, id, original, known })
      return { kind: "post", name, id: version.id, isOld, envelopeWith }
    },
  }
}

function repostEnvelope(
  own: PostId,
  repost: {
    readonly version: PostVersion
    /** The original's name and id. */
    readonly at: AtName
    readonly id: PostId
    readonly original: Original | undefined
    readonly known: KnownNames
  },
): string {
  const { version, at, id, original, known } = repost
  const authorId = foreignUserId(version.at.did)
  const repostedId = foreignUserId(at.did)
  const kept = original?.author ?? known.user(repostedId)
  const reposted = kept === undefined ? undefined : { ...kept, id: repostedId }
  const { text, entities } = repostText(reposted ?? { id: repostedId, username: at.did }, original?.text)
  const data = {
    id: own,
    text,
    author_id: authorId,
    created_at: timeOf(own),
    edit_history_tweet_ids: [own],
    conversation_id: own,
    referenced_tweets: [{ type: "retweeted", id }],
    lang: original?.language ?? "und",
    possibly_sensitive: original?.post.possibly_sensitive === true,
    entities,
    source_uri: version.name,
  }
  const users = [authorOf(version.at.did, authorId, known), reposted]
  const tweets = original === undefined ? [] : [original.post]
  return JSON.stringify({ data, includes: includesOf({ users, tweets, media: original?.media ?? [] }) })
}
