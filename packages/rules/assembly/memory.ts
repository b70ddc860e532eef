/**
 * The layout of the module's memory. Nothing allocates, and the memory does not grow.
 *
 * Its first KiB is the compiler's, and is not used.
 */

import * as layout from "./layout"

// Names of members, see `json-names.ts`.
/** Bytes of a known name, with zeros after it. */
export const nameBytes: usize = 32
export const names: usize = 1024
export const nameLengths: usize = 9216
export const nextNames: usize = 9472
export const firstNames: usize = 9728

// The objects that are open, see `json-walk.ts`.
export const depthMax: i32 = 64
/** The last object of each depth that had the name. */
export const seen: usize = 12288
export const unknown: usize = 78848

/** For each length up to 16 the mask of so many bytes. */
export const masks: usize = 79104
/** For each name the node of the member of the post that has it; 0 if there is none. */
export const dataMembers: usize = 79872
/** For each name 1 if a member of the line has it, otherwise 0. */
export const presentNames: usize = 80896
/**
 * For each name the one that followed it last, and then for each name of an object its first: senders write members in one
 * order, and a name that is expected needs one comparison.
 */
export const following: usize = 81152

/** The line, with a 0 after it, and its nodes. */
export const line: usize = 81920
export const lineBytesMax: usize = 1 << 20
export const nodes: usize = 1130560

/** Texts in UTF-16. */
export const units: usize = 9520256
/** More than the texts of a post and of its links can have, each of them written once or twice. */
export const unitsMax: usize = 4 << 20

/** The folded texts in UTF-16. Each begins at an even unit, and one of an odd length has a 0 after it. */
export const termUnits: usize = units + (unitsMax << 1)
export const termUnitsMax: i32 = 1 << 21
/** Bytes that are written beyond the end of a text. */
const written: usize = 64

/** Begin, end and toneless end of each token. */
export const tokens: usize = termUnits + (usize(termUnitsMax) << 1) + written
export const tokensMax: i32 = 1 << 18

/** Hashes, then infos, then begins: an array of `queriesMax` integers each. Number 0 is none. */
export const queries: usize = tokens + usize(tokensMax) * layout.tokenBytes
export const queriesMax: i32 = 1 << 19

/** Two integers for each token of a passage, and for each gap after one. */
export const positions: usize = queries + usize(queriesMax) * 12
export const positionsMax: i32 = 1 << 20

/** Field, first token and the one after the last of each passage. */
export const passages: usize = positions + (usize(positionsMax) << 2)
export const passagesMax: i32 = 1 << 12

/** See `counts.ts`. */
export const counts: usize = passages + usize(passagesMax) * layout.passageBytes

/** A bit for each hash that is known to have no term, see `src/walk/absent-hashes.ts`. */
export const absentHashes: usize = counts + 64
export const absentHashesBits: i32 = 1 << 20

/** The class of each code point of the first two planes, and the folded form of each unit, as far as they were met. */
export const classes: usize = absentHashes + usize(absentHashesBits >> 3)
export const classedMax: u32 = 0x20000
export const foldedUnits: usize = classes + usize(classedMax)

/** Begin and end of each text of the links. */
export const linkTexts: usize = foldedUnits + (0x10000 << 1)
export const linkTextsMax: i32 = 128
/** A row for each link: its first text, the first that readers see, the one after the last, its node, and the post that it quotes. */
export const links: usize = linkTexts + usize(linkTextsMax) * layout.textBytes
export const linksMax: i32 = 128
/** Texts of links that have become passages: begin and end of each, its first token, and the first token after it. */
export const passageTexts: usize = links + usize(linksMax) * layout.linkBytes
export const passageBegins: usize = passageTexts + usize(linkTextsMax) * layout.textBytes
export const memoryEnd: usize = passageBegins + usize(linkTextsMax + 1) * 4
