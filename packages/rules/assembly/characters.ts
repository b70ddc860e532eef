/** Characters and their classes, as numbers. Written by `npm run build:walk` from `scripts/build/walk-constants.ts`. */

// Classes of characters.
export const classSeparator: u32 = 1
export const classMark: u32 = 2
export const classPictograph: u32 = 4
export const classUnsegmented: u32 = 5
export const classFirstScript: u32 = 7

// Marks a unit that cannot be folded without its neighbours.
export const needsWholeFold: u16 = 0xffff

// Characters of ASCII.
export const tab: u8 = 9
export const lineFeed: u8 = 10
export const carriageReturn: u8 = 13
export const backspace: u8 = 8
export const formFeed: u8 = 12
export const space: u8 = 32
export const quote: u8 = 34
export const numberSign: u8 = 35
export const ampersand: u8 = 38
export const asterisk: u8 = 42
export const plus: u8 = 43
export const comma: u8 = 44
export const hyphen: u8 = 45
export const dot: u8 = 46
export const slash: u8 = 47
export const zero: u8 = 48
export const nine: u8 = 57
export const colon: u8 = 58
export const semicolon: u8 = 59
export const capitalA: u8 = 65
export const capitalH: u8 = 72
export const openBracket: u8 = 91
export const backslash: u8 = 92
export const closeBracket: u8 = 93
export const smallA: u8 = 97
export const smallB: u8 = 98
export const smallE: u8 = 101
export const smallF: u8 = 102
export const smallH: u8 = 104
export const smallN: u8 = 110
export const smallR: u8 = 114
export const smallS: u8 = 115
export const smallT: u8 = 116
export const smallU: u8 = 117
export const openBrace: u8 = 123
export const closeBrace: u8 = 125

// Other characters.
export const joiner: u16 = 0x200d
export const ellipsis: u16 = 0x2026
export const keycap: u16 = 0x20e3
export const textSelector: u16 = 0xfe0e
export const emojiSelector: u16 = 0xfe0f

// Bytes that are no character by themselves.
export const caseBit: u8 = 32
export const beyondAscii: u8 = 128
export const leadOfThreeBytes: u8 = 224
export const leadOfFourBytes: u8 = 240

// The first of each half of surrogate pairs.
export const highSurrogate: u16 = 0xd800
export const lowSurrogate: u16 = 0xdc00

// Words as bytes.
export const bytesTrue: u32 = 0x65757274
export const bytesNull: u32 = 0x6c6c756e
export const bytesFals: u32 = 0x736c6166

// Words as units.
export const unitsHttp: u64 = 0x70007400740068
export const unitsTco: u64 = 0x6f0063002e0074
export const unitsColonSlash: u64 = 0x2f003a
export const unitsAm: u64 = 0x6d0061
export const unitsP: u64 = 0x3b0070
export const unitsLt: u64 = 0x74006c
export const unitsGt: u64 = 0x740067
export const caseBitsOfTco: u64 = 0x20002000000020
