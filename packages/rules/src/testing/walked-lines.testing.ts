/**
 * Invariants of every line of bytes: the walk reads the line as `JSON.parse` and `readPost` do, or leaves it to them.
 * And lines that are out of the ordinary, made of ordinary ones.
 */

import { parseRule, readPost, RuleMatcher } from "../index.ts"
import { comparedFields, countNames, zones, type KeyName, type Zone } from "../language/rule.ts"
import { EarlierPosts } from "../post/earlier-posts.ts"
import type { Facts } from "../post/post-facts.ts"
import type { RuleEnvelope } from "../post/post-objects.ts"
import { lengthShift } from "../matcher/term-layout.ts"
import type { TermTexts } from "../walk/term-texts.ts"
import { passageSlots, tokenSlots } from "../walk/walk-layout.ts"
import { WalkedPost } from "../walk/walked-post.ts"
import type { Draw } from "./draw.testing.ts"
import type { Fault } from "./rule-invariants.testing.ts"
import { writtenPosts } from "./written-posts.testing.ts"
import { writtenRules } from "./written-rules.testing.ts"

const zonesCount = new Set(Object.values(zones)).size
const all = new Uint8Array(comparedFields.length).fill(1)
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const earlier = new EarlierPosts()
for (const post of writtenPosts) earlier.learn(post)
const walked = new WalkedPost(earlier)
/** Its texts are those that rules have: others are not looked up. */
const matched = new WalkedPost(earlier)

const [matcher, walkedMatcher] = [new RuleMatcher(), new RuleMatcher()]
for (const text of writtenRules) {
  const parsed = parseRule(text)
  if (!parsed.ok) continue
  matcher.add(parsed.rule)
  walkedMatcher.add(parsed.rule)
}

/** True if the walk supports the line. */
export function isSupported(line: Uint8Array): boolean {
  return walked.read(line) && walked.texts(all) !== undefined
}

/** The invariant that the walk over the line violated; undefined if none. Never throws. */
export function walkFault(line: Uint8Array): Fault | undefined {
  try {
    const parsed = parse(line)
    if (!walked.read(line)) return undefined
    const isObject = typeof parsed?.value === "object" && parsed.value !== null && !Array.isArray(parsed.value)
    if (parsed === undefined || !isObject)
      return { invariant: "a walk supports objects in JSON and nothing else", detail: "" }
    const envelope = parsed.value as RuleEnvelope
    return tapeFault(parsed.value) ?? postFault(envelope, line)
  } catch (error) {
    return {
      invariant: "nothing throws",
      detail: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }
  }
}

function parse(line: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(decoder.decode(line)) }
  } catch {
    return undefined
  }
}

function tapeFault(value: unknown): Fault | undefined {
  const counts = { values: 0, nullMembers: 0 }
  count(value, counts)
  const { tape } = walked
  if (tape.count !== counts.values)
    return { invariant: "a tape has a node for each value", detail: `${tape.count}, not ${counts.values}` }
  if (tape.hasNulls !== counts.nullMembers > 0)
    return { invariant: "a tape says whether members are null", detail: `${counts.nullMembers} are` }
  return undefined
}

function count(value: unknown, counts: { values: number; nullMembers: number }): void {
  counts.values++
  if (typeof value !== "object" || value === null) return
  for (const member of Object.values(value)) {
    if (member === null && !Array.isArray(value)) counts.nullMembers++
    count(member, counts)
  }
}

function postFault(envelope: RuleEnvelope, line: Uint8Array): Fault | undefined {
  const facts = readPost(envelope, { earlier })
  const texts = walked.texts(all)
  if (texts !== undefined) {
    const [expected, found] = [termsOf(facts), walkedTerms(texts)]
    if (expected.join("\n") !== found.join("\n"))
      return { invariant: "a walked post has the terms of a parsed one", detail: difference(expected, found) }
  }
  const values = (post: Facts) =>
    JSON.stringify([
      post.id,
      post.location(),
      post.linkCharacters,
      post.linkTexts(),
      ...countNames.map((name) => post.count(name) ?? null),
    ])
  if (values(walked) !== values(facts))
    return { invariant: "a walked post has the values of a parsed one", detail: `${values(walked)} ${values(facts)}` }
  const hidden = facts.linkTexts().find((text) => !walked.mayLinksHold(text) || !walked.mayLinksHold(text.slice(-4)))
  if (hidden !== undefined) return { invariant: "the signs of links are those of all their texts", detail: hidden }
  if (!matched.read(line)) return { invariant: "a line that is supported once is supported again", detail: "" }
  const [expected, found] = [sorted(matcher.match(facts)), sorted(walkedMatcher.matchWalked(matched))]
  if (expected.join() !== found.join())
    return {
      invariant: "a walked post matches like a parsed one",
      detail: `[${found.join()}], not [${expected.join()}]`,
    }
  return undefined
}

function sorted(numbers: readonly number[]): readonly number[] {
  return numbers.toSorted((left, right) => left - right)
}

/** The words of the zones in order; the keys each once, since the order of keys and repeated ones mean nothing. */
function termsOf(facts: Facts): readonly string[] {
  const passages = comparedFields.slice(0, zonesCount).flatMap((zone) =>
    facts.passages(zone as Zone).map(({ tokens }) => {
      const words = tokens.map(({ text, glued, toneless = "" }) => `${text}${glued ? "+" : ""}~${toneless}`)
      return `${zone}: ${words.join(" ")}`
    }),
  )
  const keys = comparedFields
    .slice(zonesCount)
    .flatMap((name) => facts.keys(name as KeyName).map(({ key }) => `${name}= ${key}`))
  return [...passages, ...new Set(keys.toSorted())]
}

function walkedTerms(texts: TermTexts): readonly string[] {
  const textOf = (begin = 0, end = 0): string => String.fromCharCode(...texts.units.subarray(begin, end))
  const wordOf = (token: number): string => {
    const [begin, end = 0, tonelessEnd = 0] = texts.tokens.subarray(token * tokenSlots)
    const textEnd = end >>> 1
    const toneless = tonelessEnd > textEnd ? textOf(textEnd + (textEnd & 1), tonelessEnd) : ""
    return `${textOf(begin, textEnd)}${(end & 1) === 1 ? "+" : ""}~${toneless}`
  }
  const passages = Array.from({ length: texts.passagesCount }, (_, index) => {
    const [field = 0, from = 0, to = 0] = texts.passages.subarray(index * passageSlots)
    const words = Array.from({ length: to - from }, (__, word) => wordOf(from + word))
    return `${comparedFields[field]}: ${words.join(" ")}`
  })
  // Those of passages come first.
  const lastOfPassages = texts.positions
    .subarray(0, texts.positionsCount)
    .reduce((last, position, at) => Math.max(last, at % 2 === 0 ? position >>> 1 : position), 0)
  const keys = Array.from({ length: texts.queriesCount - lastOfPassages }, (_, index) => {
    const query = lastOfPassages + 1 + index
    const [info = 0, begin = 0] = [texts.infos[query], texts.begins[query]]
    const field = comparedFields[info & ((1 << lengthShift) - 1)]
    return `${field}= ${textOf(begin * 2, begin * 2 + (info >>> lengthShift))}`
  })
  return [...passages, ...new Set(keys.toSorted())]
}

function difference(expected: readonly string[], found: readonly string[]): string {
  const lost = expected.filter((one) => !found.includes(one))
  const added = found.filter((one) => !expected.includes(one))
  return JSON.stringify({ lost, added })
}

/** Pieces of strings, as JSON writes them. */
const stringPieces = [
  "\\u0041",
  "\\ud83d\\udc4d\\ud83c\\udffd",
  "\\ud83d",
  "\\u0130",
  "\\/",
  "\\n",
  "\\u00e9",
  '\\"',
  "e\u0301",
  " cat ",
  " Hot DOG ",
  "#cat",
  "#猫",
  "@bob_1 ",
  " $BTC ",
  " https://t.co/x ",
  " HTTPS://T.CO/Y",
  "https://h.com/~bob",
  "RT @bob_1: ",
  "RT @alice.example.com: ",
  "RT @bob-b@social.example: ",
  " @alice.example.com @bob-b@social.example. ",
  "Http://Example.com/status/8 ",
  "h.com/~b…",
  "&amp;&lt;",
  "1️⃣ ©️ 👍🏽 🇫🇷 猫",
  "\u2126 ﬀ İı ς",
  "ΟΔΌΣ",
  ".",
  "…",
  "12",
].map(asBytes)

/** Members and items, with the comma after them. */
const memberPieces = [
  '"id":"1",',
  '"id":"44",',
  '"text":"cat",',
  '"text":null,',
  '"\\u0069d":"2",',
  '"nobody":{"knows":1,"knows":2},',
  '"somebody":[{"knows":[1,null,{}]}],',
  '"entities":{},',
  '"entities":{"urls":[{"url":"https://t.co/x"}]},',
  '"entities":{"mentions":[{"username":"bob_1","id":"44"}]},',
  '"entities":{"mentions":[{"username":"Alice.example.com","id":"3"},{"username":"bob-b@social.example"}]},',
  '"source_uri":"https://social.example/users/bob/statuses/7",',
  '"source_uri":"",',
  '"source_uri":7,',
  '"geo":{"place_id":"fd70c22040963ac7"},',
  '"geo":{"coordinates":{"coordinates":[2.3551,48.8611]}},',
  '"affiliation":{"user_id":["3"]},',
  '"in_reply_to_user_id":"44",',
  '"unwound_url":"https://h.com/~bob",',
  '"url":"https://h.com/~bob",',
  '"source":"Twitter for Advertisers",',
  '"attachments":{"media_keys":["3_1","nothing",7]},',
  '"referenced_tweets":[{"type":"quoted","id":"8"}],',
  '"referenced_tweets":[{"type":"retweeted","id":"45"},{"type":"replied_to","id":"8"}],',
  '"context_annotations":[{"domain":{"id":"10"},"entity":{"id":"799","name":"👍🏽 cat"}}],',
  '"created_at":"2024-02-29T23:59:59.999Z",',
  '"created_at":"2025-02-29T23:59:59.999Z",',
  '"created_at":"2026-03-14T09:26:53+01:00",',
  '"edit_history_tweet_ids":["1","9223372036854775807"],',
  '"edit_history_tweet_ids":["01"],',
  '"author_id":"9223372036854775808",',
  '"matching_rules":[],',
  '{"id":"007","username":"bond"},',
  '{"id":"44","username":"bob-b@social.example"},',
  '{"domain":{"id":"1"},"entity":{"id":"2","name":"Cat!"}},',
  '{"tag":"ΟΔΌΣ"},',
  '{"id":"8","text":"a cat h.com/~bob","author_id":"44"},',
  '{"id":"44","type":"retweeted"},',
  '{"id":"fd70c22040963ac7","name":"Cat town"},',
].map(asBytes)

/** Pieces that break most lines. */
const otherPieces = ['"', "\\", "{", "}", "[", "]", ",", ":", " ", "\r", "\t", "null", "true", "0", "1e999", "01", "-"]
const longPieces = ["[".repeat(70), "9".repeat(210)]

const simpleMember = /"\w+":(?:"[^"\\]*"|[-\d.]+|true|false|\{[^{}]*\}|\[[^[\]]*\]),/g

/** The line with a change or two, as its bytes, each a character; `other` is what a part may be taken from. */
export function changedLine(line: string, other: string, draw: Draw): string {
  let changed = line
  do changed = changedOnce(changed, other, draw)
  while (draw.isOneIn(3))
  return changed
}

/** Mostly a change that leaves JSON what it is. */
function changedOnce(line: string, other: string, draw: Draw): string {
  const at = draw.below(line.length + 1)
  switch (draw.below(8)) {
    case 0:
    case 1:
      return inserted(line, line.indexOf(':"', at) + 2, draw.oneOf(stringPieces))
    case 2:
    case 3:
      return inserted(line, after(line, draw.oneOf(["{", "[{", ",{", '":{']), at), draw.oneOf(memberPieces))
    case 4: {
      const members = other.match(simpleMember) ?? [""]
      return inserted(line, after(line, "{", at), draw.oneOf(members))
    }
    case 5: {
      const members = line.match(simpleMember) ?? [""]
      return line.replace(draw.oneOf(members), "")
    }
    case 6: {
      const piece = draw.isOneIn(16) ? draw.oneOf(longPieces) : draw.oneOf([...otherPieces, ...stringPieces])
      return inserted(line, at, piece, draw.below(3))
    }
    default: {
      if (draw.isOneIn(2)) return inserted(line, at, String.fromCharCode(draw.below(256)), draw.below(2))
      const from = draw.below(other.length)
      return inserted(line, at, other.slice(from, from + draw.below(60)), draw.below(6))
    }
  }
}

function after(line: string, part: string, from: number): number {
  const at = line.indexOf(part, from)
  return (at < 0 ? line.indexOf(part) : at) + part.length
}

function inserted(line: string, at: number, piece: string, removed = 0): string {
  return line.slice(0, at) + piece + line.slice(at + removed)
}

/** The bytes of a text in UTF-8, each as a character. */
export function asBytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("")
}

/** The line of these bytes. */
export function lineOf(bytes: string): Uint8Array {
  return Uint8Array.from(bytes, (character) => character.charCodeAt(0))
}

/** The written posts as bytes. */
export const writtenLines: readonly string[] = writtenPosts.map((post) => asBytes(JSON.stringify(post)))
