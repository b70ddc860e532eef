/**
 * The module in WebAssembly that walks over lines (`assembly/json-walk.ts`) and takes the words of their texts
 * (`assembly/term-texts.ts`). Each instance has a memory, whose parts the readers see as typed arrays.
 */

import { jsonWalkModule } from "./json-walk-module.ts"
import { knownNames } from "./member-names.ts"

/** The place of a part in the memory, or its size. */
type Constant = { readonly value: number }

/** What the module exports. */
export type Walk = {
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
  addAsciiTokens(begin: number, end: number, isPost: number): number
  addPassage(field: number, from: number, to: number, gap: number): void
  addKey(field: number, end: number): void
  addKeyOfTokens(field: number, from: number): void
  addFoldedKey(field: number, begin: number, end: number): number
}

/** What is used of `WebAssembly`, which TypeScript declares for browsers only. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

/** Compiled when the first instance is made. */
let compiled: object | undefined

/** A new instance, which knows the names of X's members. */
export function newWalk(): Walk {
  compiled ??= new WebAssembly.Module(Uint8Array.from(atob(jsonWalkModule), (character) => character.charCodeAt(0)))
  const walk = new WebAssembly.Instance(compiled).exports as Walk
  for (const [index, name] of knownNames.entries()) {
    new Uint8Array(walk.memory.buffer, walk.line.value).set(new TextEncoder().encode(name))
    walk.addName(index + 1, name.length)
  }
  return walk
}
