/**
 * Names of users in rules: X's, and those of other networks, such as `alice.bsky.social` and `alice@social.example`.
 *
 *     name  := part ( "@" host )?         part and host have at most 253 characters, the longest name of a domain
 *     part  := letters, digits, "_", "." and "-", of which the last two stand only within it
 *     host  := the same of ASCII, without "_"
 *
 * Networks that we know have only ASCII in their names. Letters and digits of other scripts are accepted too: such a name
 * finds users of a network that we do not know.
 */

/** Any name, at the beginning of a text. Longest part: source RFC 1035, the length of a domain's name as text. */
const anyName =
  /^[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]{0,251}[\p{L}\p{N}_])?(?:@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)?/u

/** A name of X, or an id. Source: twitter-text, in which a name ends after 20 characters. */
const nameOfX = /^\w{1,20}/

/** The name or id that a text begins with, as long as possible; "" if it begins with none. Linear in the text. */
export function usernameAtStart(text: string, { isStrict }: { readonly isStrict: boolean }): string {
  return (isStrict ? nameOfX : anyName).exec(text)?.[0] ?? ""
}

/** True if a rule of the lenient dialect can name a user so: `@` and the text are one clause. */
export function isUsername(text: string): boolean {
  return text !== "" && usernameAtStart(text, { isStrict: false }) === text
}
