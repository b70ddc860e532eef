/** Kinds of values, like `jsonKind` of `src/walk/json-tape.ts`: strings are those from `kindPlain` on. */

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

/** Bits of a node's first integer: the kind, and the name above it. */
export const nameShift: i32 = 4
export const kindMask: i32 = 15
