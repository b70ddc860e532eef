/** The keys of a post go into a sink: a list with their sources, or the terms of a walked post. */

import type { TextEntity } from "../text/text-entities.ts"
import type { FieldSource } from "./field-values.ts"

/** Takes marks: hashtags, mentions and cashtags. */
export interface MarkSink<Node> {
  /** True once more marks change nothing. */
  readonly isDone: boolean
  /** Adds a string of the mark that X lists. */
  addMark(value: Node, mark: Node, where: FieldSource): void
  /** Adds a mark that was found in a text. */
  addFoundMark(mark: TextEntity, where: FieldSource): void
}

/** Takes keys and folds them. Absent and empty values are left out. */
export interface KeySink<Node> extends MarkSink<Node> {
  /** Adds a string. */
  addString(value: Node, where: FieldSource): void
  /** Adds the words of a name as one key. */
  addWords(name: Node, where: FieldSource): void
  /** Adds the ids of a domain and of an entity with a dot between them. `*` stands for an absent one. */
  addPair(domain: Node, entity: Node, where: FieldSource): void
  /** Adds a text that is no value of the envelope, folded. */
  addText(text: string, where: FieldSource): void
}
