/**
 * The module in WebAssembly that walks over lines (`assembly/json-walk.ts`) and takes the words of their texts
 * (`assembly/unit-tokens.ts`). Each instance has a memory, whose parts the readers see as typed arrays, and calls them
 * for what is rare.
 */

import { knownNames } from "../post/member-names.ts"
import { jsonWalkModule } from "./json-walk-module.ts"
import { counted } from "./walk-layout.ts"

/** The place of a part in the memory, or its size. */
type Constant = { readonly value: number }

/** The counts of the module. */
export function countsOf(walk: Walk): Int32Array {
  return new Int32Array(walk.memory.buffer, walk.counts.value, Object.keys(counted).length)
}

/** Functions that the module calls: see `rare-tokens.ts` and `walked-links.ts`. */
type RareTexts = {
  addToken(text: number, begin: number, at: number, end: number, isGlued: number): number
  addKey(field: number, begin: number, end: number): void
  addDestination(text: number, hash: number): number
  schemeEnd(begin: number, end: number): number
}

/** The exports of the module, and the functions that it calls, which its readers set. */
export type Walk = {
  readonly rare: RareTexts
  readonly memory: { readonly buffer: ArrayBuffer }
  readonly line: Constant
  readonly lineBytesMax: Constant
  readonly nodes: Constant
  readonly dataMembers: Constant
  readonly presentNames: Constant
  readonly units: Constant
  readonly unitsMax: Constant
  addName(number: number, length: number): void
  walk(length: number): number
  writeUnits(begin: number, end: number, to: number): number

  readonly termUnits: Constant
  readonly termUnitsMax: Constant
  readonly tokens: Constant
  readonly tokensMax: Constant
  readonly queries: Constant
  readonly queriesMax: Constant
  readonly positions: Constant
  readonly positionsMax: Constant
  readonly passages: Constant
  readonly passagesMax: Constant
  readonly counts: Constant
  readonly absentHashes: Constant
  readonly absentHashesBits: Constant
  readonly classes: Constant
  readonly classedMax: Constant
  readonly foldedUnits: Constant
  readonly links: Constant
  readonly linksMax: Constant
  readonly linkTexts: Constant
  readonly linkTextsMax: Constant
  addTokens(begin: number, end: number, isPost: number): void
  addPassage(field: number, from: number, to: number, gap: number): void
  addKey(field: number, end: number): void

  member(node: number, name: number): number
  included(includes: number, list: number, id: number): number

  addText(field: number, begin: number, end: number, gap: number): void
  addTextOf(field: number, text: number): void
  addStringKey(field: number, node: number): void
  addWords(field: number, node: number): void
  addMarks(field: number, list: number, name: number, hasIds: number): void
  addPairs(field: number, list: number, first: number, second: number): void
  addNames(field: number, list: number, object: number, name: number): void

  addListedLinks(list: number, quotedId: number): void
  addLinkText(begin: number, end: number): number
  addLink(from: number, displayedFrom: number, node: number, quotedId: number): void
  addPages(field: number, name: number): void
  addTargets(field: number, gap: number, otherField: number): void
  addDisplayed(field: number): void
}

/** The used part of `WebAssembly`, which TypeScript declares for browsers only. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
}

/** Compiled when the first instance is made. */
let compiled: object | undefined

/** A new instance, which knows the names of X's members. */
export function newWalk(): Walk {
  compiled ??= new WebAssembly.Module(Uint8Array.from(atob(jsonWalkModule), (character) => character.charCodeAt(0)))
  const rare: RareTexts = {
    addToken: () => 0,
    addKey: () => undefined,
    addDestination: () => -1,
    schemeEnd: (begin) => begin,
  }
  const imports: RareTexts = {
    addToken: (text, begin, at, end, isGlued) => rare.addToken(text, begin, at, end, isGlued),
    addKey: (field, begin, end) => rare.addKey(field, begin, end),
    addDestination: (text, hash) => rare.addDestination(text, hash),
    schemeEnd: (begin, end) => rare.schemeEnd(begin, end),
  }
  const { exports } = new WebAssembly.Instance(compiled, { rare: imports })
  const walk: Walk = { ...(exports as Omit<Walk, "rare">), rare }
  for (const [index, name] of knownNames.entries()) {
    new Uint8Array(walk.memory.buffer, walk.line.value).set(new TextEncoder().encode(name))
    walk.addName(index + 1, name.length)
  }
  return walk
}
