/** The values and texts of a post's fields, each with its source. */

import { isAscii } from "../text/fold.ts"
import { foldFor, type Mode } from "../text/mode.ts"
import { tokenise, type TextKind, type Token } from "../text/tokenise.ts"

/** The part of an envelope in which a value was found. Part of the public API, as `where` of a match's spans. */
export type FieldSource =
  /** The post's own text. */
  | "text"
  /** The text of the reposted post. */
  | "original"
  /** The text of the quoted post. */
  | "quoted"
  /** A link, with short links resolved. */
  | "url"
  /** The title and the description of a linked page. */
  | "url_title"
  | "url_description"
  | "author"
  /** The author's description, name and location. */
  | "bio"
  | "bio_name"
  | "bio_location"
  /** The user or the post that is replied to. */
  | "reply"
  /** A property of the post as a whole. */
  | "post"
  | "media"
  /** The place that the post was sent from. */
  | "place"
  /** X's annotations of what the post is about. */
  | "context"

/** A value of a post that operators compare for equality: a hashtag, an author's name, a language. */
export type Key = {
  /** Folded in the same way as the keys of rules. */
  readonly key: string
  readonly where: FieldSource
  /** Code points in the text that `where` names, end exclusive; absent if the envelope does not say. */
  readonly start?: number
  readonly end?: number
}

/** A text of a post with its tokens. */
export type Passage = { readonly where: FieldSource; readonly tokens: readonly Token[] }

/** The text, tokenised and folded for the mode. */
export function passageOf(mode: Mode, where: FieldSource, text: string, kind: TextKind): Passage {
  const tokens = tokenise(text, kind)
  if (mode === "stream" || isAscii(text)) return { where, tokens }
  return { where, tokens: tokens.map((token) => foldedFor(mode, token)) }
}

/** Most tokens are folded already. */
function foldedFor(mode: Mode, token: Token): Token {
  const text = foldFor(mode, token.text)
  return text === token.text ? token : { ...token, text }
}

/** The passages of the values that are strings. */
export function passagesOf(mode: Mode, where: FieldSource, values: readonly unknown[]): readonly Passage[] {
  return values.flatMap((value) => (typeof value === "string" ? [passageOf(mode, where, value, "post")] : []))
}
