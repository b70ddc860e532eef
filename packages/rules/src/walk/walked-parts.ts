/** The texts that count as a post's own, like `partsOf`, with what X lists beside each. */

import { entitiesInText, type TextEntities } from "../text/text-entities.ts"
import { jsonKind } from "./json-tape.ts"
import { textOfUnits } from "./json-units.ts"
import { names, type PostNodes } from "./post-nodes.ts"

/** Kinds of marks, with the field of X's list that has the name. */
export const markLists = [
  { kind: "hashtags", list: names.hashtags, name: names.tag },
  { kind: "mentions", list: names.mentions, name: names.username },
  { kind: "cashtags", list: names.cashtags, name: names.tag },
] as const

/** One of these texts. Its units are those of the tape from `begin` to `end`, and zeros after them. */
export type WalkedPart = {
  /** The post; 0 if it is none. */
  post: number
  begin: number
  end: number
  /** What X lists; 0 if it lists nothing, and the text is searched. */
  entities: number
  /** Id of the post that it quotes, or 0. */
  quotedId: number
  /** Only the mentions of a repost's prefix count. */
  isPrefix: boolean
  found: TextEntities | undefined
}

const partsMax = 3
const none: TextEntities = { hashtags: [], mentions: [], cashtags: [], links: [] }

/** The parts of one post after the other. */
export class WalkedParts {
  readonly #nodes: PostNodes
  readonly #parts: WalkedPart[] = Array.from({ length: partsMax }, () => ({
    post: 0,
    begin: 0,
    end: 0,
    entities: 0,
    quotedId: 0,
    isPrefix: false,
    found: undefined,
  }))
  #count = 0

  constructor(nodes: PostNodes) {
    this.#nodes = nodes
  }

  /** Number of parts. */
  get count(): number {
    return this.#count
  }

  part(index: number): WalkedPart {
    return this.#parts[index] as WalkedPart
  }

  /** Reads the parts of the post. */
  read(): void {
    const nodes = this.#nodes
    const { data, original, quoted } = nodes
    this.#count = 0
    const shown = original === 0 ? data : original
    if (original !== 0) {
      const text = nodes.string(data, names.text)
      const { tape } = nodes
      this.#add(data, tape.begin(text), repostPrefixEnd(nodes, text)).isPrefix = true
    }
    this.#addPost(shown).quotedId = nodes.quotedIdOf(shown)
    if (quoted !== 0) this.#addPost(quoted)
  }

  /** The marks and links in the text of a part that X lists nothing for. */
  found(part: WalkedPart): TextEntities {
    const { units } = this.#nodes.tape
    return (part.found ??= mayHoldEntities(units, part.begin, part.end)
      ? entitiesInText(textOfUnits(units, part.begin, part.end))
      : none)
  }

  #addPost(post: number): WalkedPart {
    const { tape } = this.#nodes
    const text = this.#nodes.string(post, names.text)
    return text === 0 ? this.#add(post, 0, 0) : this.#add(post, tape.begin(text), tape.end(text))
  }

  #add(post: number, begin: number, end: number): WalkedPart {
    const { tape } = this.#nodes
    const part = this.part(this.#count++)
    part.post = post
    part.begin = tape.unitsCount
    part.end = tape.writeUnits(begin, end)
    part.entities = this.#nodes.object(post, names.entities)
    part.quotedId = 0
    part.isPrefix = false
    part.found = undefined
    return part
  }
}

/** The byte after the prefix `RT @name:` of a repost's text; the begin of the text if it has none. */
export function repostPrefixEnd(nodes: PostNodes, text: number): number {
  const { tape } = nodes
  if (text === 0) return 0
  if (tape.kind(text) === jsonKind.unusual) nodes.doubt()
  const { bytes } = tape
  const begin = tape.begin(text)
  // "RT @"
  if (bytes[begin] !== 0x52 || bytes[begin + 1] !== 0x54 || bytes[begin + 2] !== 0x20 || bytes[begin + 3] !== 0x40)
    return begin
  let at = begin + 4
  while (isWordByte(bytes[at] ?? 0)) at++
  return at > begin + 4 && bytes[at] === 0x3a ? at + 1 : begin
}

/** `\w` of a regular expression. */
function isWordByte(byte: number): boolean {
  const letter = byte | 0x20
  return (letter >= 0x61 && letter <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte === 0x5f
}

/** Whether the text has a sign of a mark, or a dot before what may be a top-level domain. Most texts have neither. */
function mayHoldEntities(units: Uint16Array, begin: number, end: number): boolean {
  for (let at = begin; at < end; at++) {
    const unit = units[at] ?? 0
    if (unit === 0x23 || unit === 0x40 || unit === 0x24 || unit === 0xff03 || unit === 0xff20) return true
    const next = units[at + 1] ?? 0
    if (unit === 0x2e && (next >= 0x80 || isWordByte(next))) return true
  }
  return false
}
