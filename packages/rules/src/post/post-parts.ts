/**
 * The texts that count as the post's own, with their entities and media.
 *
 *     post      its text
 *     repost    `RT @name:`, then the text of the original
 *     quote     the text of either, then the text of the quoted post (on a stream)
 */

import type { TextEntities, TextEntity } from "../text/text-entities.ts"
import type { FieldSource } from "./field-values.ts"
import type { MarkKind, MarkSink } from "./key-sink.ts"
import type { LinkSink } from "./links.ts"
import { names } from "./member-names.ts"
import type { PostObjects } from "./post-objects.ts"
import type { PostView } from "./post-view.ts"

/** The kinds of marks by X's names. A mention has two keys, if X gives the id. Source: enterprise documentation of `@`. */
const markKinds = {
  hashtags: { list: names.hashtags, name: names.tag, hasIds: false },
  mentions: { list: names.mentions, name: names.username, hasIds: true },
  cashtags: { list: names.cashtags, name: names.tag, hasIds: false },
} as const satisfies Readonly<Record<string, MarkKind>>

type MarkName = keyof typeof markKinds

/** One of these texts. */
export type PostPart<Node> = {
  where: FieldSource
  post: Node
  text: Node
  /** How much of the text counts, as its view measures lengths. */
  length: number
  /**
   * X lists the marks and links of a text separately. A post without this member is searched for them instead: clients
   * that request no fields get such posts. One of another network is not searched for mentions.
   */
  entities: Node
  found: TextEntities | undefined
  /** Id of the post that this one quotes. */
  quotedId: Node
  /** Only the mentions of a repost's prefix count. */
  isRepostPrefix: boolean
}

/** The parts of one post, or of one after the other. */
export class PostParts<Node> {
  readonly #post: PostObjects<Node>
  readonly #view: PostView<Node>
  readonly #parts: PostPart<Node>[] = []
  readonly #first: FirstMark<Node>
  #count = 0

  constructor(post: PostObjects<Node>) {
    this.#post = post
    this.#view = post.view
    this.#first = new FirstMark(post.view)
  }

  /** Number of parts; at least one once they are read. */
  get count(): number {
    return this.#count
  }

  /** The part with the index, which is valid until the next post. */
  at(index: number): PostPart<Node> {
    return this.#parts[index] as PostPart<Node>
  }

  /** Finds the parts of the post. */
  read(): void {
    const { view, data, shown, shownQuotedId, quoted, isOriginalIncluded } = this.#post
    this.#count = 0
    if (isOriginalIncluded) {
      // A repost's own text is cut off, and its entities with it. Its prefix and its mentions are complete.
      const prefix = this.#add("text", data, view.absent)
      prefix.length = repostPrefixLength(this.#post, prefix.text)
      prefix.isRepostPrefix = true
    }
    this.#add(isOriginalIncluded ? "original" : "text", shown, shownQuotedId)
    if (view.isPresent(quoted)) this.#add("quoted", quoted, view.absent)
  }

  /** Adds the marks of a kind. */
  addMarks(name: MarkName, sink: MarkSink<Node>): void {
    const view = this.#view
    const kind = markKinds[name]
    const isSearched = name !== "mentions" || !this.#post.isForeign
    for (let index = 0; index < this.#count; index++) {
      const part = this.at(index)
      if (part.isRepostPrefix && name !== "mentions") continue
      if (view.isPresent(part.entities)) sink.addMarks(view.array(part.entities, kind.list), kind, part.where)
      else if (isSearched) for (const mark of this.foundIn(part)[name]) sink.addFoundMark(mark, part.where)
    }
  }

  /** Source of the first mark of the kind; undefined if there is none. */
  firstMark(name: MarkName): FieldSource | undefined {
    this.#first.where = undefined
    this.addMarks(name, this.#first)
    return this.#first.where
  }

  /** Adds the links. */
  addLinks(sink: LinkSink<Node>): void {
    const view = this.#view
    for (let index = 0; index < this.#count; index++) {
      const part = this.at(index)
      if (part.isRepostPrefix) continue
      if (view.isPresent(part.entities)) sink.addListed(view.array(part.entities, names.urls), part.quotedId)
      else for (const { value } of this.foundIn(part).links) sink.addFound(value, part.quotedId)
    }
  }

  /** The marks and links in the text of the part, also if X lists others. */
  foundIn(part: PostPart<Node>): TextEntities {
    return (part.found ??= this.#view.entitiesIn(part.text, part.length))
  }

  /** False if the text has no sign of a mention, as most have none: `foundIn` takes longer. */
  mayMention({ text }: PostPart<Node>): boolean {
    const shown = this.#view.text(text)
    return shown.includes("@") || shown.includes("＠")
  }

  #add(where: FieldSource, post: Node, quotedId: Node): PostPart<Node> {
    const view = this.#view
    const text = view.string(post, names.text)
    const entities = view.object(post, names.entities)
    const length = view.length(text)
    const part = { where, post, text, length, entities, found: undefined, quotedId, isRepostPrefix: false }
    this.#parts[this.#count++] = part
    return part
  }
}

/** Notes where the first mark stands. */
class FirstMark<Node> implements MarkSink<Node> {
  readonly #view: PostView<Node>
  where: FieldSource | undefined

  constructor(view: PostView<Node>) {
    this.#view = view
  }

  addMarks(list: Node, { name, hasIds }: MarkKind, where: FieldSource): void {
    const view = this.#view
    const end = view.itemsEnd(list)
    for (let at = view.itemsBegin(list); at < end && this.where === undefined; at = view.itemAfter(at)) {
      const mark = view.itemAt(list, at)
      const isNamed = view.isPresent(view.filled(mark, name)) || (hasIds && view.isPresent(view.filled(mark, names.id)))
      if (isNamed) this.where = where
    }
  }

  addFoundMark(_mark: TextEntity, where: FieldSource): void {
    this.where ??= where
  }
}

const space = 0x20
const dash = 0x2d
const dot = 0x2e
const colon = 0x3a
const atSign = 0x40

/**
 * Length of the `RT @name:` that a repost's text begins with, such as `RT @alice@social.example:` in another network; 0 if it
 * begins otherwise.
 */
export function repostPrefixLength<Node>({ view, isForeign }: PostObjects<Node>, text: Node): number {
  const begins =
    view.asciiAt(text, 0) === 0x52 &&
    view.asciiAt(text, 1) === 0x54 &&
    view.asciiAt(text, 2) === space &&
    view.asciiAt(text, 3) === atSign
  if (!begins) return 0
  const isOfName = isForeign ? isForeignNameCharacter : isWordCharacter
  let length = 4
  while (isOfName(view.asciiAt(text, length))) length++
  return length > 4 && view.asciiAt(text, length) === colon ? length + 1 : 0
}

/** `\w` of a regular expression. */
function isWordCharacter(code: number): boolean {
  const letter = code | 0x20
  return (letter >= 0x61 && letter <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x5f
}

function isForeignNameCharacter(code: number): boolean {
  return isWordCharacter(code) || code === dot || code === dash || code === atSign
}
