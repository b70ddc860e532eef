/**
 * Terms as the tokens that an index stores.
 *
 *     t:cat                    ──►  t:cat
 *     s:twitter for iphone     ──►  s:twitter+for+iphone
 *     t:кот, t:"OR", t:a+b     ──►  =, then the SHA-256 of the term
 *
 * Terms are texts of outsiders, and an index has a language of its own for texts and for queries. A token consists of
 * characters that mean nothing in any of them within quotes, that no tokeniser splits and that have no upper case. Two
 * terms never have the same token: plain ones are kept as they are, and two texts with the same hash cannot be found.
 */
import { hash } from "node:crypto"

declare const kind: unique symbol

/** A term in an index: ASCII, without spaces, quotes and capitals. */
export type Token = string & { readonly [kind]: "token" }

/** The characters of tokens other than letters and digits. */
export const tokenSigns = ":#@$*._/+=-"

/** The token of every post, for queries of which no term is required. No term has it. */
export const everyPost = "=" as Token

/** Longest term that is kept as it is, in characters; a longer one is hashed. Ours: few words are longer. */
const plainTerm = /^[a-z0-9:#@$*._/ -]{1,64}$/

/** Hexadecimal digits of a hash. Ours: 128 bits, so that two equal ones would take 2^64 tries. */
const hashDigits = 32

/** The token of a term. */
export function tokenOf(term: string): Token {
  if (plainTerm.test(term)) return (term.includes(" ") ? term.replaceAll(" ", "+") : term) as Token
  // The units of the string: UTF-8 has the same bytes for all halves of surrogate pairs.
  return `=${hash("sha256", Buffer.from(term, "utf16le"), "hex").slice(0, hashDigits)}` as Token
}
