/**
 * The JSON of an envelope, as readers of posts see it. Everything that a post says is decided once over this interface:
 *
 *     parsed objects ── ParsedView ──┐
 *                                    ├─ PostView ─► PostObjects ─► PostReader ─► keys, flags, parts, places, numbers
 *     tape of the walk ── TapeView ──┘
 *
 * A node is a value of the envelope, and only its view knows what it is. `absent` is a node too, which has no members,
 * no items and no text, so readers need not ask before they go on. Envelopes come from any source: a value that does
 * not have the requested type counts as absent. Members are named by `member-names.ts`.
 */

import type { TextEntities } from "../text/text-entities.ts"

/** The values of an envelope, of which `Node` names one. */
export interface PostView<Node> {
  readonly absent: Node
  /** The post; absent if it is no object. */
  readonly data: Node
  /** The objects that the post refers to; absent if the member is no object. */
  readonly includes: Node
  isPresent(node: Node): boolean
  /** The member of an object, of any type. */
  member(node: Node, name: number): Node
  /** The member if it is an object, */
  object(node: Node, name: number): Node
  /** an array, */
  array(node: Node, name: number): Node
  /** a string, */
  string(node: Node, name: number): Node
  /** a string that is not empty, */
  filled(node: Node, name: number): Node
  /** or one that is to be compared with another. */
  id(node: Node, name: number): Node
  /** The first object of a list of `includes` that has the id. */
  included(list: number, id: Node): Node

  /**
   * The items of an array from `itemsBegin` on, `itemAfter` by `itemAfter`, before `itemsEnd`. An absent array has
   * none.
   */
  itemsBegin(list: Node): number
  itemsEnd(list: Node): number
  itemAfter(at: number): number
  itemAt(list: Node, at: number): Node

  isString(node: Node): boolean
  isTrue(node: Node): boolean
  /** The value if it is a finite number. */
  number(node: Node): number | undefined
  /** The value if it is a string, otherwise "". */
  text(node: Node): string
  /** True if the value is this string, which is ASCII without quotes and backslashes. */
  isText(node: Node, text: string): boolean
  /** True if two strings are equal. */
  areSame(node: Node, other: Node): boolean
  /**
   * The character of a string at the index if it is ASCII and everything before it is; otherwise a number that is none.
   */
  asciiAt(node: Node, index: number): number
  /** Length of a string, in units of the view's own; 0 of an absent one. */
  length(node: Node): number
  /** The marks and links in so much of a string, from its beginning on. */
  entitiesIn(node: Node, length: number): TextEntities
}
