/**
 * Posts as responses and deliveries show them: the fields of the selection, and, with the posts, the objects that its
 * expansions reach.
 *
 *     envelope ─► data ──────────────► members in the selection ─► "data"
 *         │         └─ paths of the expansions ─► ids
 *         └─► includes ─► objects of these ids ─► members in the selection ─► "includes"
 *                         └─ none of that id ─► "errors"
 *
 * Sluice has only the objects that the source sent with a post: an object that an expansion asks for and the envelope
 * does not hold is an error next to the post. Members keep the names and the order in which they came; a response under
 * the new names has those of `response-names.ts`.
 */
import { setImmediate as nextTurn } from "node:timers/promises"
import type { defaultFields, Expansion, Vocabulary } from "@sluice/api"
import { newIncludesNames, newMemberNames, type MemberNames } from "./response-names.ts"
import type { FieldSelection } from "./field-selection.ts"
import { elementsOf, membersOf, objectOf, textOf, withoutLineBreaks } from "./json-text.ts"
import type { PostId } from "./ids.ts"
import { ExpansionErrors, type ExpandedObject } from "./expansion-errors.ts"
import type { PostShape, StoredPost } from "./post.ts"
import type { Problem } from "./problem.ts"

/** The one of a post's two texts that this selection needs. */
export function shapeFor(selection: Pick<FieldSelection, "isDefault">): PostShape {
  return selection.isDefault ? "core" : "envelope"
}

/**
 * One delivery as JSON text: `{"data":…,"includes":…,"errors":[…],"matching_rules":[…]}`, without `includes` or
 * `errors` when there are none. `matching_rules_omitted` counts the rules that are left out, if any. `postJson` is the
 * text of `shapeFor(selection)`; with the default selection it goes in as it is.
 */
export function renderDelivery(
  entry: { readonly postJson: string; readonly rulesJson: string; readonly rulesOmitted?: number },
  selection: FieldSelection,
): string {
  const omitted = entry.rulesOmitted === undefined ? "" : `,"matching_rules_omitted":${entry.rulesOmitted}`
  return lineOf(entry.postJson, selection, `,"matching_rules":${entry.rulesJson}${omitted}`)
}

/** As `renderDelivery`, of a post that no rule had to match: without `matching_rules`. */
export function renderPostLine(postJson: string, selection: FieldSelection): string {
  return lineOf(postJson, selection, "")
}

/** `end`: the last members, each after a comma. */
function lineOf(postJson: string, selection: FieldSelection, end: string): string {
  if (selection.isDefault) return `{"data":${postJson}${end}}`
  const shown = new ShownObjects(selection)
  const data = shown.takePost(postJson)
  const includes = shown.includesJson()
  const errors = shown.missing().map((problem) => problem.toErrorObject())
  const included =
    (includes === undefined ? "" : `,"includes":${includes}`) +
    (errors.length === 0 ? "" : `,"errors":${JSON.stringify(errors)}`)
  return `{"data":${data}${included}${end}}`
}

/** Posts of a page, and the included objects. */
export interface RenderedPosts {
  /** The ids of the posts of `data`. */
  readonly ids: readonly PostId[]
  /** JSON text of the array `data`. */
  readonly dataJson: string
  /** JSON text of the object `includes`; absent when there are no objects. */
  readonly includesJson: string | undefined
  /** A problem for each missing object of an expansion. */
  readonly missing: readonly Problem[]
}

/**
 * Renders the posts of a page. Each included object appears once, as the first of the posts that brings it shows it: on
 * a page with the newest first, in its newest version. Yields to the event loop between turns.
 */
export async function renderPosts(posts: readonly StoredPost[], selection: FieldSelection): Promise<RenderedPosts> {
  const rendering = new PostsRendering(selection)
  await rendering.add(posts)
  return rendering.rendered()
}

/** Posts of one response that are rendered in parts, so that the stored texts need not be there all at once. */
export class PostsRendering {
  readonly #ids: PostId[] = []
  readonly #data: string[] = []
  /** Absent with the default selection: then posts go in as they are stored. */
  readonly #shown: ShownObjects | undefined
  #dataCharacters = 0
  /** Characters read since others had their turn. */
  #turnCharacters = 0

  constructor(selection: FieldSelection) {
    this.#shown = selection.isDefault ? undefined : new ShownObjects(selection)
  }

  /** Characters of the posts and included objects so far. */
  get characters(): number {
    return this.#dataCharacters + (this.#shown?.characters ?? 0)
  }

  /** Adds posts, the texts of `shapeFor(selection)`, after those that are there. */
  async add(posts: readonly StoredPost[]): Promise<void> {
    for (const { id, json } of posts) {
      this.#ids.push(id)
      const data = this.#shown?.takePost(json) ?? json
      this.#data.push(data)
      this.#dataCharacters += data.length
      if (this.#shown === undefined) continue
      this.#turnCharacters += json.length
      if (this.#turnCharacters < turnCharactersMax) continue
      this.#turnCharacters = 0
      await nextTurn()
    }
  }

  /** All that was added. */
  rendered(): RenderedPosts {
    return {
      ids: this.#ids,
      dataJson: listOf(this.#data),
      includesJson: this.#shown?.includesJson(),
      missing: this.#shown?.missing() ?? [],
    }
  }
}

/** Characters rendered before others have their turn; the last post may go over it. Ours: a few milliseconds. */
export const turnCharactersMax = 262_144

/**
 * A JSON text with everything outside ASCII as `\uXXXX`: it means the same, and no cut of its bytes falls inside a
 * character. Written digit by digit, since a text may be a megabyte of emoji: an expression takes ten times as long.
 */
export function asciiText(json: string): string {
  // Counted by the machine's vector instructions: an expression takes three times as long for a text that is ASCII.
  if (Buffer.byteLength(json) === json.length) return json
  const first = json.search(beyondAscii)
  let escaped = 0
  for (let index = first; index < json.length; index += 1) if (json.charCodeAt(index) > 0x7f) escaped += 1
  const bytes = Buffer.allocUnsafe(json.length + escaped * 5)
  let at = bytes.write(json.slice(0, first), "latin1")
  for (let index = first; index < json.length; index += 1) {
    const unit = json.charCodeAt(index)
    if (unit <= 0x7f) {
      bytes[at++] = unit
      continue
    }
    bytes[at++] = 0x5c
    bytes[at++] = 0x75
    for (let shift = 12; shift >= 0; shift -= 4) bytes[at++] = hexDigits.charCodeAt((unit >> shift) & 0xf)
  }
  return bytes.toString("latin1")
}

// Without the `u` flag an expression sees UTF-16 units, and units are what JSON escapes.
const beyondAscii = /[\u0080-\uffff]/

const hexDigits = "0123456789abcdef"

/** JSON text of an array of these texts. */
export function listOf(parts: readonly string[]): string {
  return `[${parts.join(",")}]`
}

/** An object of an envelope: its members' JSON texts by name. */
type Members = ReadonlyMap<string, string>

/** Kinds of included objects in the order of `includes`: which fields they show, and what names one. */
const kinds = {
  users: { fields: "user", key: "id" },
  tweets: { fields: "post", key: "id" },
  media: { fields: "media", key: "media_key" },
  places: { fields: "place", key: "id" },
  polls: { fields: "poll", key: "id" },
} as const

type Kind = keyof typeof kinds

/** The place of the names of the objects that an expansion includes, and their kind. */
interface Route {
  /** In the post itself, or in the included posts that it refers to. */
  readonly from: "post" | "referenced posts"
  /** Through objects, and through each element of arrays. */
  readonly path: readonly [string, ...string[]]
  readonly to: Kind
  readonly by?: "username"
}

const routes: Readonly<Record<Expansion, Route>> = {
  author_id: { from: "post", path: ["author_id"], to: "users" },
  in_reply_to_user_id: { from: "post", path: ["in_reply_to_user_id"], to: "users" },
  "entities.mentions.username": {
    from: "post",
    path: ["entities", "mentions", "username"],
    to: "users",
    by: "username",
  },
  "entities.note.mentions.username": {
    from: "post",
    path: ["note_tweet", "entities", "mentions", "username"],
    to: "users",
    by: "username",
  },
  "referenced_tweets.id": { from: "post", path: ["referenced_tweets", "id"], to: "tweets" },
  "referenced_tweets.id.author_id": { from: "referenced posts", path: ["author_id"], to: "users" },
  "referenced_tweets.id.attachments.media_keys": {
    from: "referenced posts",
    path: ["attachments", "media_keys"],
    to: "media",
  },
  edit_history_tweet_ids: { from: "post", path: ["edit_history_tweet_ids"], to: "tweets" },
  "attachments.media_keys": { from: "post", path: ["attachments", "media_keys"], to: "media" },
  "attachments.media_source_tweet": {
    from: "post",
    path: ["attachments", "media_source_tweet_id"],
    to: "tweets",
  },
  "attachments.poll_ids": { from: "post", path: ["attachments", "poll_ids"], to: "polls" },
  "geo.place_id": { from: "post", path: ["geo", "place_id"], to: "places" },
  "article.cover_media": { from: "post", path: ["article", "cover_media"], to: "media" },
  "article.media_entities": { from: "post", path: ["article", "media_entities"], to: "media" },
}

/** Renders posts one after the other and gathers the objects to include. */
class ShownObjects {
  readonly #selection: FieldSelection
  readonly #routes: readonly (Route & { readonly expansion: Expansion })[]
  readonly #isNew: boolean
  readonly #postIds = new Set<string>()
  readonly #missing = new ExpansionErrors()
  readonly #included: Readonly<Record<Kind, Map<string, string>>> = {
    users: new Map(),
    tweets: new Map(),
    media: new Map(),
    places: new Map(),
    polls: new Map(),
  }
  #characters = 0

  constructor(selection: FieldSelection) {
    this.#selection = selection
    this.#isNew = selection.vocabulary === "new"
    this.#routes = Object.entries(routes).flatMap(([name, route]) =>
      selection.expansions.has(name) ? [{ ...route, expansion: name as Expansion }] : [],
    )
  }

  /** Characters of the included objects so far. */
  get characters(): number {
    return this.#characters
  }

  /** JSON text of the envelope's post. */
  takePost(envelopeJson: string): string {
    // Stores of earlier versions hold some.
    const envelope = membersOf(withoutLineBreaks(envelopeJson))
    const post = membersOf(envelope.get("data") ?? "")
    if (this.#routes.length > 0) this.#include(post, new IncludedObjects(envelope.get("includes") ?? ""))
    return this.#shown("post", withHistory(post))
  }

  /** JSON text of an object of a kind: the fields of the selection, under its names. */
  #shown(kind: (typeof kinds)[Kind]["fields"], members: Members): string {
    return objectJson(members, this.#selection[kind], this.#isNew ? newMemberNames[kind] : undefined)
  }

  #include(post: Members, objects: IncludedObjects): void {
    const missing: ExpandedObject[] = []
    const findAll = (route: Route, expansion: Expansion, source: Members): Members[] =>
      namesAt(source, route.path).flatMap((name) => {
        const found = objects.find(route, name)
        const isMissing =
          found === undefined && name !== "" && (route.by !== undefined || !this.#isShown(route.to, name))
        if (isMissing) missing.push({ expansion, kind: route.to, name })
        return found ?? []
      })
    this.#postIds.add(textOf(post.get("id")) ?? "")
    for (const route of this.#routes) {
      const sources = route.from === "post" ? [post] : findAll(routes[toReferenced], toReferenced, post)
      for (const source of sources) {
        for (const found of findAll(route, route.expansion, source)) this.#add(route.to, found)
      }
    }
    this.#missing.add(missing)
  }

  /** Whether a post so far is this object, or brought it. */
  #isShown(kind: Kind, key: string): boolean {
    return this.#included[kind].has(key) || (kind === "tweets" && this.#postIds.has(key))
  }

  #add(kind: Kind, members: Members): void {
    const key = textOf(members.get(kinds[kind].key))
    if (key === undefined || this.#included[kind].has(key)) return
    const json = this.#shown(kinds[kind].fields, kind === "tweets" ? withHistory(members) : members)
    this.#included[kind].set(key, json)
    this.#characters += json.length
  }

  /** JSON text of all objects gathered so far; undefined when there are none. */
  includesJson(): string | undefined {
    const filled = (Object.keys(kinds) as Kind[]).filter((kind) => this.#included[kind].size > 0)
    if (filled.length === 0) return undefined
    const nameOf = (kind: Kind): string => (this.#isNew ? newIncludesNames.get(kind) : undefined) ?? kind
    return objectOf(filled.map((kind) => [nameOf(kind), listOf([...this.#included[kind].values()])]))
  }

  /** A problem for each object that the expansions of the posts so far refer to, and none of them brought. */
  missing(): readonly Problem[] {
    const usernames = new Set<string>()
    for (const json of this.#included.users.values()) {
      usernames.add((textOf(membersOf(json).get("username")) ?? "").toLowerCase())
    }
    return this.#missing.problems(
      ({ expansion, kind, name }) =>
        routes[expansion].by === "username" ? usernames.has(name.toLowerCase()) : this.#isShown(kind, name),
      this.#selection.vocabulary,
    )
  }
}

/** The expansion that leads to the posts in which others go on. */
const toReferenced = "referenced_tweets.id" satisfies Expansion

/** The included objects of one envelope. Those of a kind are read when the first of them is needed. */
class IncludedObjects {
  readonly #lists: Members
  readonly #indexes = new Map<string, ReadonlyMap<string, Members>>()

  constructor(includesJson: string) {
    this.#lists = membersOf(includesJson)
  }

  find(route: { readonly to: Kind; readonly by?: "username" }, name: string): Members | undefined {
    const key = route.by ?? kinds[route.to].key
    const indexName = `${route.to} ${key}`
    const index = this.#indexes.get(indexName) ?? this.#indexOf(route.to, key)
    this.#indexes.set(indexName, index)
    return index.get(key === "username" ? name.toLowerCase() : name)
  }

  #indexOf(kind: Kind, key: string): ReadonlyMap<string, Members> {
    const index = new Map<string, Members>()
    for (const json of elementsOf(this.#lists.get(kind) ?? "")) {
      const members = membersOf(json)
      const name = textOf(members.get(key))
      if (name !== undefined) index.set(key === "username" ? name.toLowerCase() : name, members)
    }
    return index
  }
}

/** The texts at the end of a path. Values that do not have the shape of the path are skipped. */
function namesAt(members: Members, [first, ...rest]: Route["path"]): string[] {
  const json = members.get(first)
  if (json === undefined) return []
  let found: unknown[] = [JSON.parse(json)]
  for (const name of rest) found = found.flatMap(eachOf).map((value) => memberOf(value, name))
  return found.flatMap(eachOf).filter((value) => typeof value === "string")
}

function eachOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined
  return Reflect.get(value, name)
}

/** JSON text of an envelope's post alone, with these of its fields. */
export function renderBarePost(envelopeJson: string, fields: ReadonlySet<string>, vocabulary: Vocabulary): string {
  const post = membersOf(withoutLineBreaks(envelopeJson)).get("data")
  const named = vocabulary === "new" ? newMemberNames.post : undefined
  return objectJson(withHistory(membersOf(post ?? "")), fields, named)
}

/** The members of a post with its edit history, which is always shown: of a post that was not edited, itself. */
function withHistory(post: Members): Members {
  const id = post.get("id")
  if (id === undefined || elementsOf(post.get(historyField) ?? "").length > 0) return post
  return new Map([...post, [historyField, listOf([id])]])
}

const historyField = "edit_history_tweet_ids" satisfies (typeof defaultFields.post)[number]

/** JSON text of an object that shows these of its fields, in the order in which it came, absent values left out. */
export function objectJson(members: Members, fields: ReadonlySet<string>, named?: MemberNames): string {
  const shown = [...members].filter(([name, json]) => fields.has(name) && json !== "null")
  return objectOf(named === undefined ? shown : shown.map(named))
}
