/**
 * A post record of Bluesky as an envelope.
 *
 *     record ─► text, facets, embeds, references ─► names of posts, ids of users ─► known ones ─► data and includes
 *
 * `app.bsky.feed.post`; its time is that of its key, since `createdAt` is the client's word.
 */
import type { PostId, UserId } from "../../model/ids.ts"
import type { Conversion, KnownNames } from "../converter.ts"
import { displayedLink, EntityLists, type Entities, type LinkEntity } from "../entities.ts"
import { includesOf, knownUser, timeOf } from "../foreign-envelope.ts"
import { atNameOf, atPostId, foreignUserId, type AtName } from "../foreign-ids.ts"
import { isTaken, postLanguage, type TakenLanguages } from "../post-language.ts"
import {
  distinct,
  filledOf,
  ignored,
  invalidMember,
  itemsOf,
  memberOf,
  objectOf,
  settled,
  stringOf,
  type Members,
  type Place,
} from "../records.ts"
import { pointsOf, postText } from "../text-offsets.ts"
import { embeddedIn, type Embedded, type EmbeddedLink } from "./embeds.ts"
import { addFacets, facetsOf, type Facet } from "./facets.ts"
import { uriOf } from "./frame.ts"
import { reasons } from "./reasons.ts"
import { authorOf } from "./users.ts"

/** A record with its version's names and ids. */
export interface PostVersion {
  readonly at: AtName
  readonly name: string
  readonly id: PostId | undefined
  /** The name of the first version, when this is a later one. */
  readonly first?: { readonly name: string; readonly id: PostId | undefined } | undefined
  readonly isOld: boolean
}

/** How a source reads posts. */
export interface PostReading {
  readonly languages: TakenLanguages
  readonly givesMediaUrls: boolean
}

/** Labels that an author gives and that X's `possibly_sensitive` stands for. Source: Bluesky's global labels. */
const sensitiveLabels: ReadonlySet<unknown> = new Set(["porn", "sexual", "nudity", "graphic-media"])

/** Most values of a list of tags, labels or languages that are read. Ours: the lexicon allows 8 tags and 3 languages. */
const valuesMax = 100

/** Begins to convert the record. Throws `RejectedRecord`. */
export function postConversion(value: unknown, version: PostVersion, reading: PostReading, place: Place): Conversion {
  const record = objectOf(value)
  if (record === undefined) throw invalidMember("record", value, "an object")
  const whole = stringOf(record.text)
  if (whole === undefined) throw invalidMember("record.text", record.text, "a string")
  const languages = languagesOf(record.langs)
  if (!isTaken(reading.languages, languages)) return settled(ignored(reasons.language), place)
  const { did } = version.at
  const text = postText(whole)
  const { parent, root } = repliedToOf(record.reply)
  const authorId = foreignUserId(did)
  const parts: PostParts = {
    authorId,
    repliedToUser: parent === undefined ? undefined : parent.did === did ? authorId : foreignUserId(parent.did),
    text,
    language: languages[0] ?? "und",
    // No facet is over the ellipsis of a text that was cut.
    facets: facetsOf(text === whole ? text : text.slice(0, -1), record.facets),
    tags: tagsOf(record.tags),
    embedded: embeddedIn(record.embed, { did, givesMediaUrls: reading.givesMediaUrls }),
    isSensitive: isSensitive(record.labels),
    parent,
    root,
  }
  return {
    position: place.position,
    atMs: place.atMs,
    posts: namesIn(version, parts),
    users: usersIn(parts),
    finish: (known) => ({
      kind: "post",
      name: version.name,
      firstName: version.first?.name,
      id: version.id,
      isOld: version.isOld,
      envelopeWith: (id) => envelopeOf(id, version, parts, known),
    }),
  }
}

/** The parts of a record that its envelope is made of. */
interface PostParts {
  readonly authorId: UserId
  readonly repliedToUser: UserId | undefined
  readonly text: string
  readonly language: string
  readonly facets: readonly Facet[]
  readonly tags: readonly string[]
  readonly embedded: Embedded
  readonly isSensitive: boolean
  readonly parent: Reference | undefined
  readonly root: Reference | undefined
}

/** A post that another one names. */
interface Reference {
  readonly name: string
  readonly id: PostId | undefined
  readonly did: string
}

/** The parent and the first post of the conversation, which often are one. */
function repliedToOf(reply: unknown): Pick<PostParts, "parent" | "root"> {
  if (reply === undefined) return notReplying
  const [parentName, rootName] = [uriOf(memberOf(reply, "parent")), uriOf(memberOf(reply, "root"))]
  const parent = referenceOf(parentName)
  return { parent, root: rootName === parentName ? parent : referenceOf(rootName) }
}

const notReplying = { parent: undefined, root: undefined }

function referenceOf(name: string | undefined): Reference | undefined {
  const at = name === undefined ? undefined : atNameOf(name)
  return name === undefined || at === undefined ? undefined : { name, id: atPostId(at), did: at.did }
}

function languagesOf(value: unknown): readonly string[] {
  const tags = itemsOf(value)
  return tags.length === 0 ? noLanguage : tags.slice(0, valuesMax).map(postLanguage)
}

const noLanguage = ["und"]

function tagsOf(value: unknown): readonly string[] {
  return itemsOf(value)
    .slice(0, valuesMax)
    .flatMap((tag) => filledOf(stringOf(tag)?.replace(/^[#＃]/, "")) ?? [])
}

function isSensitive(labels: unknown): boolean {
  return itemsOf(memberOf(labels, "values"))
    .slice(0, valuesMax)
    .some((label) => sensitiveLabels.has(memberOf(label, "val")))
}

function namesIn({ name, first }: PostVersion, { parent, root, embedded }: PostParts): readonly string[] {
  return distinct([name, first?.name, parent?.name, root?.name, embedded.quoted])
}

/** The author first. */
function usersIn({ authorId, repliedToUser, facets }: PostParts): readonly UserId[] {
  const mentioned = facets.map((facet) => (facet.kind === "mention" ? facet.id : undefined))
  return distinct([authorId, repliedToUser, ...mentioned])
}

function envelopeOf(id: PostId, version: PostVersion, parts: PostParts, known: KnownNames): string {
  const { text, authorId, parent, embedded } = parts
  const { media } = embedded
  const author = authorOf(version.at.did, authorId, known)
  const others = usersIn(parts).slice(1)
  const history = historyOf(id, version, known)
  const references = referencesOf(parts, known)
  // Members that are undefined are not written, and one shape of the object is written faster than many.
  const data = {
    id,
    text,
    author_id: authorId,
    created_at: timeOf(id),
    edit_history_tweet_ids: history,
    conversation_id: idOf(parts.root, known) ?? idOf(parent, known) ?? history[0],
    in_reply_to_user_id: parts.repliedToUser,
    referenced_tweets: references.length > 0 ? references : undefined,
    lang: parts.language,
    possibly_sensitive: parts.isSensitive,
    entities: entitiesOf(parts, known),
    attachments: media.length > 0 ? { media_keys: media.map((one) => one.media_key) } : undefined,
    source_uri: version.name,
  }
  const users = others.length === 0 ? [author] : [author, ...others.map((other) => knownUser(other, known))]
  return JSON.stringify({ data, includes: includesOf({ users, media }) })
}

function idOf(reference: Reference | undefined, known: KnownNames): PostId | undefined {
  return reference === undefined ? undefined : (known.postId(reference.name) ?? reference.id)
}

function referencesOf({ parent, embedded }: PostParts, known: KnownNames): readonly Members[] {
  const references: Members[] = []
  const repliedTo = idOf(parent, known)
  const quoted = quotedId(embedded.quoted, known)
  if (repliedTo !== undefined) references.push({ type: "replied_to", id: repliedTo })
  if (quoted !== undefined) references.push({ type: "quoted", id: quoted })
  return references
}

function quotedId(name: string | undefined, known: KnownNames): PostId | undefined {
  if (name === undefined) return undefined
  const at = atNameOf(name)
  return known.postId(name) ?? (at === undefined ? undefined : atPostId(at))
}

/** The versions that this one names: the first one, when that is known or derived, and itself. */
function historyOf(id: PostId, { first }: PostVersion, known: KnownNames): readonly PostId[] {
  if (first === undefined) return [id]
  const firstId = known.postId(first.name) ?? first.id
  return firstId === undefined || firstId === id ? [id] : [firstId, id]
}

function entitiesOf({ text, facets, tags, embedded }: PostParts, known: KnownNames): Entities {
  const entities = new EntityLists()
  const textEnd = facets.length + tags.length + embedded.links.length === 0 ? 0 : pointsOf(text)
  addFacets(facets, { entities, textEnd, known })
  for (const tag of tags) entities.addUnshown(tag, textEnd)
  for (const link of embedded.links) addLink(link, entities.urls, textEnd)
  return entities.in(text)
}

/** Adds the page to the link of the text that leads to it, or at the end of the text. */
function addLink({ url, title, description }: EmbeddedLink, urls: LinkEntity[], textEnd: number): void {
  const page = { unwound_url: url, title, description }
  const shown = urls.findIndex((one) => one.url === url)
  const link = urls[shown] ?? { start: textEnd, end: textEnd, url, expanded_url: url, display_url: displayedLink(url) }
  urls[shown < 0 ? urls.length : shown] = { ...link, ...page }
}
