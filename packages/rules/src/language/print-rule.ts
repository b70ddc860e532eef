/** Printing a rule as text. */

import { fold } from "../text/fold.ts"
import { embeddingThreshold, type Operator, type Rule } from "./rule.ts"

/**
 * Text that parses to a rule with the same meaning. Groups get parentheses where they are needed. A tree that the
 * language does not allow (only negations, `has:media` alone) prints too, but its text does not parse.
 */
export function printRule(rule: Rule): string {
  switch (rule.kind) {
    case "any":
      return rule.rules.map((one) => (one.kind === "any" ? grouped(one) : printRule(one))).join(" OR ")
    case "all":
      return rule.rules.map((one) => (isSeveral(one) ? grouped(one) : printRule(one))).join(" ")
    case "not":
      return isSeveral(rule.rule) || rule.rule.kind === "not" ? `-${grouped(rule.rule)}` : `-${printRule(rule.rule)}`
    default:
      return printOperator(rule)
  }
}

/** True if the rule prints as more than one operator. */
function isSeveral(rule: Rule): boolean {
  return rule.kind === "any" || rule.kind === "all" || hasOwnThreshold(rule)
}

function grouped(rule: Rule): string {
  return `(${printRule(rule)})`
}

const sigils: Readonly<Record<string, string>> = { hashtag: "#", mention: "@", cashtag: "$" }

function printOperator(operator: Operator): string {
  switch (operator.kind) {
    case "words":
      return printWords(operator.name, operator.value)
    case "near":
      return `${quoted(operator.value)}~${operator.distance}`
    case "key": {
      const sigil = sigils[operator.name]
      return sigil === undefined ? `${operator.name}:${valueOf(operator.value)}` : sigil + operator.value
    }
    case "contains":
      return `url_contains:${valueOf(operator.value)}`
    case "count":
      return `${operator.name}:${operator.least}${operator.most === undefined ? "" : `..${operator.most}`}`
    case "area":
      return `${operator.area.kind === "circle" ? "point_radius" : "bounding_box"}:${operator.value}`
    case "sample":
      return `sample:${operator.percent}`
    case "embedding": {
      const text = `embedding:${quoted(operator.value)}`
      return hasOwnThreshold(operator) ? `${text} embedding_threshold:${decimal(operator.threshold)}` : text
    }
  }
}

/** Such an operator prints as two, in parentheses if another `embedding:` may stand next to it. */
function hasOwnThreshold(rule: Rule): boolean {
  return rule.kind === "embedding" && rule.threshold !== embeddingThreshold
}

/** Up to nine decimals, which the language accepts, and no exponent, which JavaScript uses for small numbers. */
function decimal(number: number): string {
  return number.toFixed(9).replace(/\.?0+$/, "")
}

function printWords(name: string, value: string): string {
  if (name === "keyword") return isBareWord(value) ? value : quoted(value)
  return name === "phrase" ? quoted(value) : `${name}:${valueOf(value)}`
}

/** The value of an operator, in quotes if it would end early without them. */
function valueOf(value: string): string {
  return /^[^\s()[\]"\\]+$/u.test(value) ? value : quoted(value)
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}

/**
 * True if the text needs no quotes. May be false for a word that needs none: quotes never change the meaning of a
 * keyword.
 */
function isBareWord(text: string): boolean {
  return (
    /^[\p{L}\p{N}\u{1F300}-\u{1FAFF}](?:[\p{L}\p{N}\p{M}\u{1F300}-\u{1FAFF}'._&-]|\u200D)*$/u.test(text) &&
    !/^(?:or|and)$/.test(fold(text))
  )
}
