/**
 * The constants that the walk's AssemblyScript shares with TypeScript, as the source files that `assembly/` imports. Each is
 * defined once: what a reader of the module also needs in `packages/rules/src`, a character that only `assembly/` compares in
 * the table below.
 */
import { lengthShift } from "../../packages/rules/src/matcher/term-layout.ts"
import { names, namesMax } from "../../packages/rules/src/post/member-names.ts"
import * as classes from "../../packages/rules/src/text/character-class.ts"
import { needsWholeFold } from "../../packages/rules/src/text/fold.ts"
import { hashMultiplier, hashShift } from "../../packages/rules/src/text/hash-step.ts"
import {
  counted,
  jsonKind,
  kindMask,
  linkSlot,
  linkSlots,
  nameShift,
  nodeShift,
  nodeSlot,
  passageSlot,
  passageSlots,
  textSlot,
  textSlots,
  tokenSlot,
  tokenSlots,
  unitsAfter,
} from "../../packages/rules/src/walk/walk-layout.ts"

/** Names of members that are read in `assembly/`. */
const namesRead = ["data", "id", "url", "expanded_url", "display_url", "unwound_url"] as const

/** Characters of ASCII by name. */
const characters = {
  tab: "\t",
  lineFeed: "\n",
  carriageReturn: "\r",
  backspace: "\b",
  formFeed: "\f",
  space: " ",
  quote: '"',
  numberSign: "#",
  ampersand: "&",
  asterisk: "*",
  plus: "+",
  comma: ",",
  hyphen: "-",
  dot: ".",
  slash: "/",
  zero: "0",
  nine: "9",
  colon: ":",
  semicolon: ";",
  capitalA: "A",
  capitalH: "H",
  openBracket: "[",
  backslash: "\\",
  closeBracket: "]",
  smallA: "a",
  smallB: "b",
  smallE: "e",
  smallF: "f",
  smallH: "h",
  smallN: "n",
  smallR: "r",
  smallS: "s",
  smallT: "t",
  smallU: "u",
  openBrace: "{",
  closeBrace: "}",
} as const

/** Characters beyond ASCII by name. */
const otherCharacters = {
  joiner: "\u200d",
  ellipsis: "\u2026",
  keycap: "\u20e3",
  textSelector: "\ufe0e",
  emojiSelector: "\ufe0f",
} as const

/** Bytes that are no character by themselves. */
const bounds = {
  /** The bit in which capital and small letters differ. */
  caseBit: 0x20,
  beyondAscii: 0x80,
  leadOfThreeBytes: 0xe0,
  leadOfFourBytes: 0xf0,
} as const

/** The first of each half of surrogate pairs. */
const surrogates = {
  highSurrogate: 0xd800,
  lowSurrogate: 0xdc00,
} as const

/** Words that are compared in one step, as bytes. */
const bytesOf = { bytesTrue: "true", bytesNull: "null", bytesFals: "fals" } as const

/** Words that are compared in one step, as UTF-16 units. */
const unitsOf = {
  unitsHttp: "http",
  unitsTco: "t.co",
  unitsColonSlash: ":/",
  unitsAm: "am",
  unitsP: "p;",
  unitsLt: "lt",
  unitsGt: "gt",
  /** The case bits of the letters of `t.co`. */
  caseBitsOfTco: " \0  ",
} as const

/** The texts of the files in `assembly/`, by their names. */
export function walkConstants(): Readonly<Record<"characters.ts" | "layout.ts", string>> {
  const characterGroups = [
    group("Classes of characters", "u32", prefixed("class", classNumbers())),
    group("Marks a unit that cannot be folded without its neighbours", "u16", { needsWholeFold }),
    group("Characters of ASCII", "u8", codes(characters)),
    group("Other characters", "u16", codes(otherCharacters)),
    group("Bytes that are no character by themselves", "u8", bounds),
    group("The first of each half of surrogate pairs", "u16", surrogates),
    group("Words as bytes", "u32", words(bytesOf, 8)),
    group("Words as units", "u64", words(unitsOf, 16)),
  ]
  const layoutGroups = [
    group("Kinds of values on the tape; strings are those from `kindPlain` on", "i32", prefixed("kind", jsonKind)),
    group("The first integer of a node: the kind, and the name above it", "i32", { nameShift, kindMask }),
    group("A node's number shifted so far is its place in bytes", "usize", { nodeShift: nodeShift + 2 }),
    group("Bytes of a node's integers", "usize", inBytes("node", nodeSlot)),
    group("Numbers of the names that are read here", "i32", nameNumbers()),
    group("One more than the greatest number of a name", "i32", { namesMax }),
    group("Places of the counts in bytes", "usize", inBytes("counted", counted)),
    group("Zeros after each text, in units", "i32", { unitsAfter }),
    group("Bytes of a token, and of its integers", "usize", {
      tokenBytes: tokenSlots * 4,
      ...inBytes("token", tokenSlot),
    }),
    group("Bytes of a passage, and of its integers", "usize", {
      passageBytes: passageSlots * 4,
      ...inBytes("passage", passageSlot),
    }),
    group("Bytes of a link, and of its integers", "usize", { linkBytes: linkSlots * 4, ...inBytes("link", linkSlot) }),
    group("Bytes of a link's text, and of its integers", "usize", {
      textBytes: textSlots * 4,
      ...inBytes("text", textSlot),
    }),
    group("Bits of a query's info below the length", "i32", { lengthShift }),
    group("A step of a hash", "u32", { hashMultiplier, hashShift }),
  ]
  return {
    "characters.ts": fileOf("Characters and their classes, as numbers", characterGroups),
    "layout.ts": fileOf(
      "The layout of the memory, and other constants that the walk shares with TypeScript",
      layoutGroups,
    ),
  }
}

function fileOf(title: string, groups: readonly string[]): string {
  return `/** ${title}. Written by \`npm run build:walk\` from \`scripts/build/walk-constants.ts\`. */\n${groups.join("")}`
}

type Numbers = Readonly<Record<string, number | bigint>>

function group(title: string, type: string, values: Numbers): string {
  const lines = Object.entries(values).map(([name, value]) => `export const ${name}: ${type} = ${asWritten(value)}\n`)
  return `\n// ${title}.\n${lines.join("")}`
}

function asWritten(value: number | bigint): string {
  return value > 255 ? `0x${value.toString(16)}` : String(value)
}

function prefixed(prefix: string, values: Numbers): Numbers {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`${prefix}${name.charAt(0).toUpperCase()}${name.slice(1)}`, value]),
  )
}

/** Slots of integers as offsets in bytes. */
function inBytes(prefix: string, slots: Readonly<Record<string, number>>): Numbers {
  return prefixed(prefix, Object.fromEntries(Object.entries(slots).map(([name, slot]) => [name, slot * 4])))
}

function nameNumbers(): Numbers {
  const camel = (name: string): string => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  return prefixed("name", Object.fromEntries(namesRead.map((name) => [camel(name), names[name]])))
}

function classNumbers(): Numbers {
  const { separator, mark, pictograph, unsegmented, firstScript } = classes
  return { separator, mark, pictograph, unsegmented, firstScript }
}

function codes(texts: Readonly<Record<string, string>>): Numbers {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      if (text.length !== 1) throw new Error(`${name} is more than a unit`)
      return [name, text.charCodeAt(0)]
    }),
  )
}

/** The text in one integer, whose lowest bits are its first character. */
function words(texts: Readonly<Record<string, string>>, bits: 8 | 16): Numbers {
  const wordOf = (text: string): bigint =>
    Array.from(text, (character) => BigInt(character.charCodeAt(0))).reduceRight(
      (word, code) => (word << BigInt(bits)) | code,
      0n,
    )
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, wordOf(text)]))
}
