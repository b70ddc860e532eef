/** The layout of the memory, and other constants that the walk shares with TypeScript. Written by `npm run build:walk` from `scripts/build/walk-constants.ts`. */

// Kinds of values on the tape; strings are those from `kindPlain` on.
export const kindObject: i32 = 0
export const kindArray: i32 = 1
export const kindNumber: i32 = 2
export const kindTrue: i32 = 3
export const kindFalse: i32 = 4
export const kindNull: i32 = 5
export const kindPlain: i32 = 6
export const kindUtf8: i32 = 7
export const kindEscaped: i32 = 8
export const kindUnusual: i32 = 9

// The first integer of a node: the kind, and the name above it.
export const nameShift: i32 = 4
export const kindMask: i32 = 15

// A node's number shifted so far is its place in bytes.
export const nodeShift: usize = 4

// Bytes of a node's integers.
export const nodeKindAndName: usize = 0
export const nodeBegin: usize = 4
export const nodeEnd: usize = 8
export const nodeNext: usize = 12

// Numbers of the names that are read here.
export const nameData: i32 = 1
export const nameId: i32 = 3
export const nameUrl: i32 = 22
export const nameExpandedUrl: i32 = 23
export const nameDisplayUrl: i32 = 24
export const nameUnwoundUrl: i32 = 25

// One more than the greatest number of a name.
export const namesMax: i32 = 0x100

// Places of the counts in bytes.
export const countedUnits: usize = 0
export const countedTokens: usize = 4
export const countedQueries: usize = 8
export const countedPositions: usize = 12
export const countedPassages: usize = 16
export const countedIsFull: usize = 20
export const countedSources: usize = 24
export const countedIsUncertain: usize = 28
export const countedLinkTexts: usize = 32
export const countedLinks: usize = 36

// Zeros after each text, in units.
export const unitsAfter: i32 = 2

// Bytes of a token, and of its integers.
export const tokenBytes: usize = 12
export const tokenBegin: usize = 0
export const tokenEnd: usize = 4
export const tokenTonelessEnd: usize = 8

// Bytes of a passage, and of its integers.
export const passageBytes: usize = 12
export const passageField: usize = 0
export const passageFrom: usize = 4
export const passageTo: usize = 8

// Bytes of a link, and of its integers.
export const linkBytes: usize = 20
export const linkFrom: usize = 0
export const linkDisplayedFrom: usize = 4
export const linkTo: usize = 8
export const linkNode: usize = 12
export const linkQuotedId: usize = 16

// Bytes of a link's text, and of its integers.
export const textBytes: usize = 8
export const textBegin: usize = 0
export const textEnd: usize = 4

// Bits of a query's info below the length.
export const lengthShift: i32 = 6

// A step of a hash.
export const hashMultiplier: u32 = 0x9e3779b1
export const hashShift: u32 = 15
