/** Users as posts show them: their names as they are compared, and the words by which they are found. */
import type { UserId } from "./ids.ts"

/** A user object within the envelope that brought it. Offsets are of bytes. */
export interface IncludedUser {
  readonly id: UserId
  /** As `foldedUsername` returns it. */
  readonly username: string
  readonly begin: number
  /** Exclusive. */
  readonly end: number
}

/**
 * Longest username that is kept, so that an index can hold it. Ours: an account name and the name of its host, of 253
 * characters each, as a rule or a look-up can name them.
 */
const usernameCharactersMax = 507

/** Largest user object that is kept, so that a page of a thousand takes some megabytes. Ours: X's have about 1 KB. */
export const userBytesMax = 16_384

/** The username without regard to case; undefined for a text that no caller could name a user by. */
export function foldedUsername(text: string): string | undefined {
  const isOne = text !== "" && text.length <= usernameCharactersMax && !/[\s\p{Cc}\p{Cs}]/u.test(text)
  return isOne ? text.toLowerCase() : undefined
}

/** Most words of a user by which they are found; the others have no effect. Ours: X's names have at most 50 characters. */
const wordsMax = 32

/** Longest word by which a user is found: longer ones are cut. Ours: a query has at most 50 characters. */
const wordCharactersMax = 50

/**
 * The words of a text as search for users compares them, each once: letters and digits of ASCII and `_`, without case and
 * diacritics. A query can name no others.
 */
export function searchWords(text: string): readonly string[] {
  const plain = text.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase()
  const words = plain.match(/[a-z0-9_]+/g) ?? []
  return [...new Set(words.map((word) => word.slice(0, wordCharactersMax)))].slice(0, wordsMax)
}

/**
 * The words of the name in a user object. Those of the description are left out: their rows took most of the time that
 * ingest spends on a new user, and most of the space.
 */
export function userWords(json: string): readonly string[] {
  const { name } = JSON.parse(json) as { readonly name?: unknown }
  return typeof name === "string" ? searchWords(name) : []
}
