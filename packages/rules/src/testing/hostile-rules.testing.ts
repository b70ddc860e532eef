/**
 * Texts that an attacker may give a rule parser, or an author by accident.
 *
 *     noise      code units of any kind: halves of pairs, controls, bidi and zero-width marks, emoji, scripts
 *     pieces     pieces of the language in a random order
 *     mutations  rules with a few changes, which get further into the parser than the others
 *
 * Made from a `Draw` alone, at about a microsecond each: fast-check's strings cost fifty times as
 * much, and a million of them is the point.
 */

import type { Draw } from "./draw.testing.ts"
import { writtenRules } from "./written-rules.testing.ts"

/** A text of any of the kinds. `rules` are what mutations begin with; not empty. */
export function hostileRule(draw: Draw, rules: readonly string[] = writtenRules): string {
  switch (draw.below(10)) {
    case 0:
    case 1:
      return noise(draw)
    case 2:
    case 3:
    case 4:
      return pieces(draw)
    default:
      return mutated(windowOf(draw.oneOf(rules), draw), draw.oneOf(rules), draw)
  }
}

/** The text with one to four changes; `other` is what a part may be taken from. */
export function mutated(text: string, other: string, draw: Draw): string {
  let changed = text
  for (let changes = 1 + draw.below(4); changes > 0; changes--) changed = changedOnce(changed, other, draw)
  return changed
}

/** Pieces of the language, right and wrong: operators, values, and all that stands between them. */
export const rulePieces: readonly string[] = [
  ...'(|)|(|)|((|))|()|"|"|""|-|-|--|-(|)-|[|]|~|~3|"~2|"~99|:|,|.|..|\'|\\|\\"|#|@|$|*|?|&|/|_|=|<|>|{|}|`|^|;|+|!|%'.split(
    "|",
  ),
  ..." | | | |\t|\n|\r\n|\u00a0|\u3000|\u2028|\u0085|\ufeff|\u200b|\u200d|\u202e|\u0000|\ud83d|\udc4d".split("|"),
  ..."|OR| OR | OR | OR |OR OR| or | Or | and | AND |NOT|-OR|(OR|OR)".split("|"),
  ..."cat|dog|CAT|catalog|hot dog|don't|gpt-3|a|the|rt|straße|İ|ΟΔΟΣ|e\u0301|é|猫|東京|ケース|สวัสดี|שלום|مرحبا|한국|3|007".split(
    "|",
  ),
  ..."👍|👍🏽|👩‍💻|1️⃣|🇫🇷|🇫|❤️|©️|#️⃣|*️⃣|🏽|\ufe0f|\u20e3|𝒳|（|）|“|”|–|—|－|：|＃|＠|＄|«|»".split("|"),
  ...'"hot dog"|"cat"|"cat dog"~3|"a b c"~1|"\\"hi\\""|"\\\\"|" "|"cat'.split("|"),
  ..."#cat|#猫|#1|#_|##|@nasa|@a.b|@a-b.c@d.e|@@|$BTC|$brk.b|$1|$$".split("|"),
  ..."from:|to:|retweets_of:|from_affiliate_of:|to_affiliate_of:|conversation_id:|in_reply_to_tweet_id:".split("|"),
  ..."retweets_of_tweet_id:|quotes_of_tweet_id:|in_reply_to_status_id:|retweets_of_status_id:|list:".split("|"),
  ..."url:|url_title:|url_description:|url_contains:|context:|entity:|bio:|bio_name:|bio_location:|place:".split("|"),
  ..."place_country:|point_radius:|bounding_box:|lang:|is:|has:|sample:|source:|min_followers:|min_likes:".split("|"),
  ..."min_replies:|min_reposts:|min_retweets:|user_bio:|within_url_title:|followers_count:|following_count:|friends_count:".split(
    "|",
  ),
  ..."tweets_count:|statuses_count:|listed_count:|embedding:|embedding_threshold:|profile_region:".split("|"),
  ..."form:|hash:|lange:|since:|filter:|http:|x:|1:|猫:|FROM:|__proto__:|constructor:|toString:".split("|"),
  ..."nasa|@nasa|a.bsky.social|a-b@c.d|12|99999999999999999999|0|-1|1e3|0.5|1..2|..2|2..|2..1|1...2|100|101|NaN|Infinity".split(
    "|",
  ),
  ..."retweet|reply|quote|verified|nullcast|hashtags|cashtags|links|mentions|media|images|videos|video_link|geo".split(
    "|",
  ),
  ..."en|EN|ja|zh-TW|iw|xx|und|US|fr|10.799|*.799|10.*|*.*|fd70c22040963ac7|example.com|https://h.com/~bob".split("|"),
  ..."[2.35 48.86 16km]|[-105.3 39.96 -105.1 40.1]|[1 2 3mi]|[0 0 0km]|[181 91 1km]|[1,2,3km]|[]|[|1 2]|km]".split("|"),
  "is:retweet",
  "-is:nullcast",
  "has:media",
  "lang:en",
  "sample:10",
  "from:nasa",
  "url:example.com",
]

const spaces: readonly string[] = [" ", " ", " ", "", "", "-", " -", " OR ", "(", ")"]

function pieces(draw: Draw): string {
  let text = ""
  for (let count = 1 + draw.below(draw.isOneIn(32) ? 40 : 4); count > 0; count--)
    text += draw.oneOf(rulePieces) + draw.oneOf(spaces)
  return text
}

/** First and last code points of what noise is made of. */
const ranges: readonly (readonly [number, number])[] = [
  [0x20, 0x7e],
  [0x20, 0x7e],
  [0x00, 0x1f],
  [0x7f, 0xff],
  [0xd800, 0xdfff],
  [0xd800, 0xdfff],
  [0x200b, 0x200f],
  [0x2028, 0x202f],
  [0x2060, 0x206f],
  [0xfeff, 0xfeff],
  [0xfff0, 0xffff],
  [0x0300, 0x036f],
  [0x0370, 0x03ff],
  [0x0400, 0x04ff],
  [0x0590, 0x06ff],
  [0x0900, 0x0e7f],
  [0x1100, 0x11ff],
  [0x2000, 0x2bff],
  [0x3000, 0x30ff],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xe000, 0xf8ff],
  [0xf900, 0xffef],
  [0xfe00, 0xfe0f],
  [0x1d400, 0x1d7ff],
  [0x1f1e6, 0x1f1ff],
  [0x1f300, 0x1faff],
  [0x1f3fb, 0x1f3ff],
  [0x20000, 0x2ffff],
  [0xe0000, 0xe01ef],
  [0x0000, 0xffff],
  [0x10000, 0x10ffff],
]

function character([first, last]: readonly [number, number], draw: Draw): string {
  return String.fromCodePoint(first + draw.below(last - first + 1))
}

/** Mostly of two ranges, as text of one script is what reaches into the tokeniser; sometimes of all. */
function noise(draw: Draw): string {
  const usual = draw.isOneIn(3) ? ranges : [draw.oneOf(ranges), draw.oneOf(ranges)]
  let text = ""
  for (let length = draw.below(draw.isOneIn(32) ? 80 : 10); length > 0; length--)
    text += draw.isOneIn(8) ? draw.oneOf(rulePieces) : character(draw.oneOf(usual), draw)
  return text
}

/**
 * A stretch of the rule from the beginning of a word: whole rules are mostly the same words again, and
 * cost as much as five stretches.
 */
function windowOf(rule: string, draw: Draw): string {
  if (rule.length <= 16 || draw.isOneIn(64)) return rule
  const start = rule.indexOf(" ", draw.below(rule.length - 12)) + 1
  return rule.slice(start, start + 5 + draw.below(12))
}

const pairs = [
  ["(", ")"],
  ["(", ")"],
  ["-(", ")"],
  ['"', '"'],
  ["[", "]"],
] as const

function changedOnce(text: string, other: string, draw: Draw): string {
  const start = draw.below(text.length + 1)
  const end = Math.min(text.length, start + 1 + draw.below(draw.isOneIn(4) ? text.length : 4))
  const [head, part, tail] = [text.slice(0, start), text.slice(start, end), text.slice(end)]
  switch (draw.below(9)) {
    case 0:
    case 1:
      return head + draw.oneOf(rulePieces) + part + tail
    case 2:
      return head + tail
    case 3:
      return head + draw.oneOf(rulePieces) + tail
    case 4:
      return head + part + part + tail
    case 5: {
      const next = 1 + draw.below(6)
      return head + tail.slice(0, next) + part + tail.slice(next)
    }
    case 6: {
      const from = draw.below(other.length)
      const taken = other.slice(from, from + 1 + draw.below(20))
      return draw.isOneIn(2) ? head + taken : head + taken + part + tail
    }
    case 7: {
      const [opening, closing] = draw.oneOf(pairs)
      return head + opening + part + closing + tail
    }
    default:
      return draw.isOneIn(2)
        ? head + character(draw.oneOf(ranges), draw) + tail
        : head + (draw.isOneIn(2) ? part.toUpperCase() : part.toLowerCase()) + tail
  }
}
