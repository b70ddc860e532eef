/** The view of an envelope that was parsed: a node is a value of JSON, and `undefined` is the absent one. */

import { entitiesInText, type TextEntities } from "../text/text-entities.ts"
import { knownNames, names } from "./member-names.ts"
import type { PostView } from "./post-view.ts"
import { arrayOf, idOf, isObject, numberOf, objectOf, textOf } from "./untyped-json.ts"

/** The values of a parsed envelope. */
export class ParsedView implements PostView<unknown> {
  readonly absent = undefined
  readonly data: unknown
  readonly includes: unknown

  constructor(envelope: unknown) {
    this.data = this.object(envelope, names.data)
    this.includes = this.object(envelope, names.includes)
  }

  isPresent(node: unknown): boolean {
    return node !== undefined
  }

  member(node: unknown, name: number): unknown {
    return objectOf(node)[knownNames[name - 1] ?? ""]
  }

  object(node: unknown, name: number): unknown {
    const found = this.member(node, name)
    return isObject(found) ? found : undefined
  }

  array(node: unknown, name: number): unknown {
    const found = this.member(node, name)
    return Array.isArray(found) ? found : undefined
  }

  string(node: unknown, name: number): unknown {
    return textOf(this.member(node, name))
  }

  filled(node: unknown, name: number): unknown {
    return idOf(this.member(node, name))
  }

  id(node: unknown, name: number): unknown {
    return this.filled(node, name)
  }

  included(list: number, id: unknown): unknown {
    if (id === undefined) return undefined
    return arrayOf(this.member(this.includes, list)).find((one) => objectOf(one)["id"] === id)
  }

  itemsBegin(): number {
    return 0
  }

  itemsEnd(list: unknown): number {
    return arrayOf(list).length
  }

  itemAfter(at: number): number {
    return at + 1
  }

  itemAt(list: unknown, at: number): unknown {
    return arrayOf(list)[at]
  }

  isString(node: unknown): boolean {
    return typeof node === "string"
  }

  isTrue(node: unknown): boolean {
    return node === true
  }

  number(node: unknown): number | undefined {
    return numberOf(node)
  }

  text(node: unknown): string {
    return textOf(node) ?? ""
  }

  isText(node: unknown, text: string): boolean {
    return node === text
  }

  areSame(node: unknown, other: unknown): boolean {
    return node === other
  }

  asciiAt(node: unknown, index: number): number {
    return this.text(node).charCodeAt(index)
  }

  length(node: unknown): number {
    return this.text(node).length
  }

  entitiesIn(node: unknown, length: number): TextEntities {
    return entitiesInText(this.text(node).slice(0, length))
  }
}
