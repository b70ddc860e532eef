/**
 * A rule as a tree, and the tree as text.
 *
 * The tree keeps values as they were written: printing gives the author's words back. What is
 * compared is folded where it is compared, except the words of a text, which are cut once here.
 */

import { fold } from "./fold.ts"
import { tokenise } from "./tokenise.ts"

/** A rule: what must hold of a post. Source: docs.x.com, "Build a rule". */
export type Rule =
  /** At least one holds. Two or more when parsed. */
  | { readonly kind: "any"; readonly rules: readonly Rule[] }
  /** All hold. Two or more when parsed. */
  | { readonly kind: "all"; readonly rules: readonly Rule[] }
  | { readonly kind: "not"; readonly rule: Rule }
  | Operator

/** A leaf of a rule: one fact about a post. */
export type Operator =
  /** The words follow each other in the text or in a link. */
  | { readonly kind: "keyword" | "phrase"; readonly value: string; readonly words: readonly Word[] }
  /** The words follow each other in one of the links. */
  | { readonly kind: "url"; readonly value: string; readonly words: readonly Word[] }
  /** Value without its `#`, `@` or `$`. */
  | { readonly kind: "hashtag" | "mention" | "cashtag"; readonly value: string }
  /** Value is a username without `@`, or an id. */
  | { readonly kind: "from" | "to" | "retweets_of"; readonly value: string }
  | { readonly kind: "conversation_id" | "lang"; readonly value: string }
  | { readonly kind: "is"; readonly value: IsValue }
  | { readonly kind: "has"; readonly value: HasValue }

/** What `is:` asks. */
export type IsValue = (typeof isValues)[number]

/** What `has:` asks. */
export type HasValue = (typeof hasValues)[number]

/** The values of `is:` that this package understands. */
export const isValues = ["retweet", "reply", "quote", "verified"] as const

/** The values of `has:` that this package understands. */
export const hasValues = ["hashtags", "cashtags", "links", "mentions", "media", "images"] as const

/** One token of a keyword, phrase or link. */
export type Word = {
  /** Case-folded. */
  readonly text: string
  /** Must touch the word before it. */
  readonly glued: boolean
}

/** The words of a keyword or phrase; none when it holds no letter, digit or emoji. */
export function wordsOf(text: string): readonly Word[] {
  return tokenise(text, "rule").map(({ text: word, glued }) => ({ text: word, glued }))
}

/** The words of a link: as `wordsOf`, without the scheme that nearly all links share. */
export function wordsOfLink(link: string): readonly Word[] {
  return wordsOf(withoutScheme(link))
}

/** The link after `https://`; a link without a scheme as it is. */
export function withoutScheme(link: string): string {
  return link.replace(/^\s*https?:\/\//i, "")
}

/**
 * The rule as text that parses to a rule of the same meaning. Groups get parentheses where they are
 * needed. A tree that the language cannot say (only negations, `has:media` alone) still prints,
 * and is refused when parsed.
 */
export function printRule(rule: Rule): string {
  switch (rule.kind) {
    case "any":
      return rule.rules.map((one) => (one.kind === "any" ? grouped(one) : printRule(one))).join(" OR ")
    case "all":
      return rule.rules.map((one) => (isGroup(one) ? grouped(one) : printRule(one))).join(" ")
    case "not":
      return isGroup(rule.rule) || rule.rule.kind === "not"
        ? `-${grouped(rule.rule)}`
        : `-${printRule(rule.rule)}`
    default:
      return printOperator(rule)
  }
}

function isGroup(rule: Rule): boolean {
  return rule.kind === "any" || rule.kind === "all"
}

function grouped(rule: Rule): string {
  return `(${printRule(rule)})`
}

const sigils = { hashtag: "#", mention: "@", cashtag: "$" } as const

function printOperator(operator: Operator): string {
  switch (operator.kind) {
    case "keyword":
      return isBareWord(operator.value) ? operator.value : quoted(operator.value)
    case "phrase":
      return quoted(operator.value)
    case "url":
      return /^[^\s()[\]"\\]+$/u.test(operator.value)
        ? `url:${operator.value}`
        : `url:${quoted(operator.value)}`
    case "hashtag":
    case "mention":
    case "cashtag":
      return `${sigils[operator.kind]}${operator.value}`
    default:
      return `${operator.kind}:${operator.value}`
  }
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}

/** Says no to some words that would do: quotes never change what a keyword means. */
function isBareWord(text: string): boolean {
  return (
    /^[\p{L}\p{N}\u{1F300}-\u{1FAFF}](?:[\p{L}\p{N}\p{M}\u{1F300}-\u{1FAFF}'._&-]|\u200D)*$/u.test(text) &&
    !/^(?:or|and)$/.test(fold(text))
  )
}
