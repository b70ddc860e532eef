/**
 * Posts as answers and deliveries show them: the fields that were asked for, and beside the posts the objects
 * that the asked expansions reach.
 *
 *     envelope ─► data ──────────────► members in the selection ─► "data"
 *         │         └─ paths of the expansions ─► ids
 *         └─► includes ─► objects of these ids ─► members in the selection ─► "includes"
 *
 * An object that an expansion asks for and the envelope does not hold is left out, without a word: what Sluice
 * shows of others is what the source sent along.
 */
import type { Expansion } from "@sluice/api"
import { defaultFields } from "@sluice/api"
import type { FieldSelection } from "./field-selection.ts"
import { elementsOf, membersOf, objectOf } from "./json-text.ts"
import type { PostShape, StoredPost } from "./post.ts"

/** Which of a post's two texts this selection needs. */
export function shapeFor(selection: FieldSelection): PostShape {
  return selection.isDefault ? "core" : "envelope"
}

/**
 * One delivery as JSON text: `{"data":…,"includes":…,"matching_rules":[…]}`, without `includes` when there are
 * none. `postJson` is the text of `shapeFor(selection)`; with the default selection it goes in as it is.
 */
export function renderDelivery(
  entry: { readonly postJson: string; readonly rulesJson: string },
  selection: FieldSelection,
): string {
  if (selection.isDefault) return `{"data":${entry.postJson},"matching_rules":${entry.rulesJson}}`
  const shown = new ShownObjects(selection)
  const data = shown.takePost(entry.postJson)
  const includes = shown.includesJson()
  return `{"data":${data}${includes === undefined ? "" : `,"includes":${includes}`},"matching_rules":${entry.rulesJson}}`
}

/**
 * `data` and `includes` of a page, as JSON text. Each included object is there once, as the first of the posts
 * that brings it shows it: on a page with the newest first, as it was last known.
 */
export function renderPosts(
  posts: readonly StoredPost[],
  selection: FieldSelection,
): { dataJson: string; includesJson: string | undefined } {
  if (selection.isDefault)
    return { dataJson: listOf(posts.map((post) => post.json)), includesJson: undefined }
  const shown = new ShownObjects(selection)
  const data = posts.map((post) => shown.takePost(post.json))
  return { dataJson: listOf(data), includesJson: shown.includesJson() }
}

/** JSON text with everything outside ASCII as `\uXXXX`: it means the same, and no cut falls inside a character. */
export function asciiJson(json: string): string {
  return json.replace(beyondAscii, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

// Without the `u` flag an expression sees UTF-16 units, and units are what JSON escapes.
const beyondAscii = /[\u0080-\uffff]/g

function listOf(parts: readonly string[]): string {
  return `[${parts.join(",")}]`
}

/** An object of an envelope: its members' JSON texts by name. */
type Members = ReadonlyMap<string, string>

/** Kinds of included objects: which fields they show, and what names one. */
const kinds = {
  users: { fields: "user", key: "id" },
  tweets: { fields: "post", key: "id" },
  media: { fields: "media", key: "media_key" },
  places: { fields: "place", key: "id" },
  polls: { fields: "poll", key: "id" },
} as const

type Kind = keyof typeof kinds

const kindsInOrder = ["users", "tweets", "media", "places", "polls"] as const satisfies readonly Kind[]

/** Where an expansion finds the names of what it includes, and of what kind that is. */
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

/** Renders posts one after the other and gathers the objects to show beside them. */
class ShownObjects {
  readonly #selection: FieldSelection
  readonly #routes: readonly Route[]
  readonly #included: Readonly<Record<Kind, Map<string, string>>> = {
    users: new Map(),
    tweets: new Map(),
    media: new Map(),
    places: new Map(),
    polls: new Map(),
  }

  constructor(selection: FieldSelection) {
    this.#selection = selection
    this.#routes = Object.entries(routes).flatMap(([expansion, route]) =>
      selection.expansions.has(expansion) ? [route] : [],
    )
  }

  /** JSON text of the envelope's post. */
  takePost(envelopeJson: string): string {
    const envelope = membersOf(envelopeJson)
    const post = membersOf(envelope.get("data") ?? "")
    if (this.#routes.length > 0) this.#include(post, new IncludedObjects(envelope.get("includes") ?? ""))
    return postJson(post, this.#selection.post)
  }

  #include(post: Members, objects: IncludedObjects): void {
    for (const route of this.#routes) {
      for (const source of route.from === "post" ? [post] : referencedPosts(post, objects)) {
        for (const name of namesAt(source, route.path)) this.#add(route.to, objects.find(route, name))
      }
    }
  }

  #add(kind: Kind, members: Members | undefined): void {
    const key = members && textOf(members.get(kinds[kind].key))
    if (members === undefined || key === undefined || this.#included[kind].has(key)) return
    const fields = this.#selection[kinds[kind].fields]
    this.#included[kind].set(key, kind === "tweets" ? postJson(members, fields) : objectJson(members, fields))
  }

  /** JSON text of all objects gathered so far; `undefined` when there are none. */
  includesJson(): string | undefined {
    const filled = kindsInOrder.filter((kind) => this.#included[kind].size > 0)
    if (filled.length === 0) return undefined
    return objectOf(filled.map((kind) => [kind, listOf([...this.#included[kind].values()])]))
  }
}

/** The included objects of one envelope. Those of a kind are looked at when the first of them is asked for. */
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

function referencedPosts(post: Members, objects: IncludedObjects): Members[] {
  const { path, to } = routes["referenced_tweets.id"]
  return namesAt(post, path).flatMap((id) => objects.find({ to }, id) ?? [])
}

/** The texts that stand at the end of a path; whatever is not of the shape that the path expects is passed over. */
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

/** The text that a JSON text is, if it is a text. */
function textOf(json: string | undefined): string | undefined {
  return json?.startsWith('"') === true ? String(JSON.parse(json)) : undefined
}

/** A post that shows these fields. Its edit history is always there: of a post that was not edited, itself. */
function postJson(members: Members, fields: ReadonlySet<string>): string {
  const id = members.get("id")
  if (id === undefined || elementsOf(members.get(historyField) ?? "").length > 0)
    return objectJson(members, fields)
  return objectJson(new Map([...members, [historyField, listOf([id])]]), fields)
}

const historyField = defaultFields.post[2]

/** An object that shows these of its fields, in the order in which it came, absent values left out. */
function objectJson(members: Members, fields: ReadonlySet<string>): string {
  return objectOf([...members].filter(([name, json]) => fields.has(name) && json !== "null"))
}
