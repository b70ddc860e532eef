/**
 * A post as the operators see it. Each field is read from the envelope when a rule first needs it, and only once.
 *
 *     envelope ─► PostObjects ─► parts, links ─► passages, keys, counts …
 *
 * Envelopes come from any source, so no member is trusted to have its type: a value that X would not write counts as
 * absent. Reading never throws.
 *
 * A repost is read through its original, because its own text and entities are cut off. Its own text contributes only
 * the prefix `RT @name:` and its mentions: X's search for `happy has:mentions` finds reposts of @happy_… whose
 * original contains neither. On a stream, a quote post is read together with the post that it quotes. Source: results
 * of X's own search; for quotes and replies on a stream, docs.x.com, "Operators".
 */

import type { Point } from "../language/area.ts"
import type { CountName, KeyName, Zone } from "../language/rule.ts"
import type { Mode } from "../text/mode.ts"
import type { EarlierPosts } from "./earlier-posts.ts"
import { passageOf, passagesOf, type Key, type Passage } from "./field-values.ts"
import { KeyList } from "./key-list.ts"
import { displayedPassages, LinkList, linkTextsOf, targetPassages, type Link } from "./links.ts"
import { ParsedView } from "./parsed-view.ts"
import { PostObjects, type RuleEnvelope } from "./post-objects.ts"
import { PostReader } from "./post-reader.ts"

/** How a post is read. */
export type ReadOptions = {
  /** The mode of the rules. Default `stream`. */
  readonly mode?: Mode
  /** Places and links known from earlier posts. */
  readonly earlier?: EarlierPosts
  /** Cosine of the embeddings of the post and of a rule's text; undefined if it is unknown. */
  readonly similarity?: (text: string) => number | undefined
}

/** Reads a post. Total: an envelope of arbitrary JSON gives a post without values. */
export function readPost(envelope: RuleEnvelope, options: ReadOptions = {}): PostFacts {
  return new PostFacts(envelope, options)
}

/** Everything that operators read of a post. */
export type Facts = Pick<PostFacts, keyof PostFacts>

/** The facts of a parsed post. Made by `readPost` only. */
export class PostFacts {
  readonly mode: Mode
  readonly #view: ParsedView
  readonly #reader: PostReader<unknown, LinkList>
  readonly #earlier: EarlierPosts | undefined
  readonly #similarity: ReadOptions["similarity"]
  #targets: readonly Passage[] | undefined
  // The zones that most rules read are members: a member is found faster than an entry of a map.
  #text: readonly Passage[] | undefined
  #link: readonly Passage[] | undefined
  readonly #passages = new Map<Zone, readonly Passage[]>()
  readonly #keys = new Map<KeyName, readonly Key[]>()
  #linkTexts: readonly string[] | undefined
  #location: Point | undefined

  constructor(envelope: RuleEnvelope, { mode = "stream", earlier, similarity }: ReadOptions) {
    this.#view = new ParsedView(envelope)
    this.#reader = new PostReader(new PostObjects(this.#view, mode, earlier), new LinkList())
    this.#earlier = earlier
    this.#similarity = similarity
    this.mode = mode
  }

  /** "" if the post has none. */
  get id(): string {
    return this.#reader.id
  }

  /** The texts of a zone. */
  passages(zone: Zone): readonly Passage[] {
    if (zone === "text") return (this.#text ??= this.#textPassages())
    if (zone === "link") return (this.#link ??= this.#linkPassages())
    const known = this.#passages.get(zone)
    if (known !== undefined) return known
    const passages = this.#readPassages(zone)
    this.#passages.set(zone, passages)
    return passages
  }

  /** The values that an operator compares with its own. */
  keys(name: KeyName): readonly Key[] {
    const known = this.#keys.get(name)
    if (known !== undefined) return known
    const list = new KeyList(this.#view, this.mode)
    this.#reader.addKeys(name, list)
    this.#keys.set(name, list.keys)
    return list.keys
  }

  /**
   * A number of the author or of the post, a repost's original if it is included; undefined if the envelope does not
   * say.
   */
  count(name: CountName): number | undefined {
    return this.#reader.count(name)
  }

  /** The links, folded: where they lead, their short forms, and what readers see of them. */
  linkTexts(): readonly string[] {
    return (this.#linkTexts ??= linkTextsOf(this.#links, this.mode, this.#earlier))
  }

  /** Characters of the texts of the links. */
  get linkCharacters(): number {
    return this.linkTexts().reduce((sum, text) => sum + text.length, 0)
  }

  /** False only if no text of the links holds this one, which is folded. A hint, for what need not make the texts. */
  mayLinksHold(_text: string): boolean {
    return true
  }

  /** The point that the post was sent from; undefined if it is unknown. */
  location(): Point | undefined {
    // An unknown place is looked up again: a post that is read meanwhile may have named it.
    return (this.#location ??= this.#reader.location())
  }

  /** Cosine of the embeddings of the post and the text; undefined if it is unknown. */
  similarity(text: string): number | undefined {
    return this.#similarity?.(text)
  }

  get #links(): readonly Link[] {
    return this.#reader.links.links
  }

  /** Words of a text are also searched for where the links lead. */
  #textPassages(): readonly Passage[] {
    const passages: Passage[] = []
    const { parts } = this.#reader
    for (let index = 0; index < parts.count; index++) {
      const { where, text, length } = parts.at(index)
      passages.push(passageOf(this.mode, where, this.#view.text(text).slice(0, length), "post"))
    }
    for (const target of this.#targetPassages()) passages.push(target)
    return passages
  }

  #linkPassages(): readonly Passage[] {
    const displayed = displayedPassages(this.#links, this.mode)
    return displayed.length === 0 ? this.#targetPassages() : [...this.#targetPassages(), ...displayed]
  }

  #targetPassages(): readonly Passage[] {
    return (this.#targets ??= targetPassages(this.#links, this.mode, this.#earlier))
  }

  #readPassages(zone: Exclude<Zone, "text" | "link">): readonly Passage[] {
    switch (zone) {
      case "title":
      case "description":
        return passagesOf(
          this.mode,
          `url_${zone}`,
          this.#links.map((link) => link[zone]),
        )
      case "bio":
        return passagesOf(this.mode, "bio", [this.#reader.authorText(zone)])
      case "name":
      case "location":
        return passagesOf(this.mode, `bio_${zone}`, [this.#reader.authorText(zone)])
    }
  }
}
