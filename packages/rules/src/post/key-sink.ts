/**
 * The keys of a post go into a sink: a list with their sources, or the terms of a walked post. Lists of X's are handed
 * over whole, because the walk reads one in a single call of its module.
 */

import type { TextEntity } from "../text/text-entities.ts"
import type { FieldSource } from "./field-values.ts"

/** A kind of marks: hashtags, mentions or cashtags. */
export interface MarkKind {
  /** The members that list the marks, and name each. */
  readonly list: number
  readonly name: number
  /** True if the id of a mark is a key, too. */
  readonly hasIds: boolean
}

/** Takes marks. */
export interface MarkSink<Node> {
  /** Adds the marks that X lists, which may be none: each one's name, and its id if the kind has ids. */
  addMarks(list: Node, kind: MarkKind, where: FieldSource): void
  /** Adds a mark that was found in a text. */
  addFoundMark(mark: TextEntity, where: FieldSource): void
}

/** Takes keys and folds them. Absent and empty values are left out. */
export interface KeySink<Node> extends MarkSink<Node> {
  /** Adds a string. */
  addString(value: Node, where: FieldSource): void
  /** Adds the words of a name as one key. */
  addWords(name: Node, where: FieldSource): void
  /**
   * Adds for each item of the list the ids of its two objects with a dot between them, and either id with `*` for the
   * other. Items without both ids are left out.
   */
  addPairs(list: Node, first: number, second: number, where: FieldSource): void
  /** Adds the words of this name of each item of the list, or of an object of the item. */
  addNames(list: Node, name: number, where: FieldSource, object?: number): void
  /** Adds a text that is no value of the envelope, folded. */
  addText(text: string, where: FieldSource): void
}
