import { expect, test } from "vitest"
import { cpuMs } from "../testing/cpu-time.testing.ts"
import { messagesOf } from "../testing/matches.testing.ts"
import { parseRule, type RuleOptions } from "./parse-rule.ts"

/*
 * Invalid rules with all messages of their problems. X's own wordings are spelled here once
 * each, from live responses; the program builds them elsewhere.
 */

type BadRule = readonly [rule: string, ...messages: string[]]

const negation = (at: number) => `Rules must contain a non-negation term (at position ${at})`
const stopword = (at: number) => `Rules must contain at least one positive, non-stopword clause (at position ${at})`
const standalone = (at: number) => `is/has/lang cannot be used as a standalone operator (at position ${at})`
const unavailable = (operator: string, at: number) =>
  `Reference to invalid operator '${operator}'. Operator is not available in current product or product packaging. Please refer to complete available operator list at http://t.co/operators. (at position ${at})`
const character = (one: string, at: number, rest = "") =>
  `no viable alternative at character '${one}' (at position ${at})${rest}`
const input = (text: string, at: number, rest: string) =>
  `no viable alternative at input '${text}' (at position ${at})${rest}`
const extra = (at: number) => `missing EOF at ')' (at position ${at}). No parenthesis is open here`
const unclosed = (at: number, openAt: number) =>
  `mismatched input 'EOF' expecting ')' (at position ${at}). The parenthesis at position ${openAt} is never closed`
const unfinished = (at: number) =>
  `mismatched character '<EOF>' expecting '=' (at position ${at}). Use "quotes" to find punctuation`
const ambiguous = {
  and: (at: number) =>
    `Ambiguous use of and as a keyword. Use a space to logically join two clauses, or "and" to find occurrences of and in text (at position ${at})`,
  or: (at: number) =>
    `Ambiguous use of or as a keyword. Use OR to logically join two clauses, or "or" to find occurrences of or in text (at position ${at})`,
}

const unknown = (name: string, at: number, suggestion?: string) => {
  const hint = suggestion === undefined ? "" : ` Did you mean '${suggestion}'?`
  const invalid = `Reference to invalid operator '${name}' (at position ${at}).${hint}`
  return [invalid, `Reference to invalid field '${name}' (at position ${at}).`]
}
const sampling = (at: number) => `has/is/lang/sample/source cannot be used as a standalone operator (at position ${at})`
const besideOr = (at: number) =>
  `The sample operator cannot be used with an OR. To use the sample operator with an OR in the rule, the ORed clauses must be grouped together with parenthesis.  For example, to get 10% of activites that have term1 or term2, the rule should be (excluding the single quotes) '(term1 OR term2) sample:10' (at position ${at})`
const notNegated = (operator: string, at: number) => `Operator '${operator}' cannot be negated (at position ${at})`
const mustBeNegated = (at: number) =>
  `Operator 'is:nullcast' must be negated (at position ${at}). Did you mean '-is:nullcast'?`

/** The text after that of `input`, for several operators with the same message. */
const noWords = ". It has no letter, digit or emoji to find"
const valueExpected = ". A value follows the colon, without a space"
const idExpected = ". An id of 1 to 19 digits is expected"
const userExpected = ". A username or a numeric id is expected"
const bracketOpen = ". The bracket is never closed"
const percentage = ". A percentage of 1 to 100 is expected"
const circle = ". [longitude latitude radius] is expected, such as [2.355128 48.861118 16km]"
const box = ". [west south east north] is expected, such as [-105.301758 39.964069 -105.178505 40.09455]"
const latitudeRange = ". A latitude is between -90 and 90"
const longitudeRange = ". A longitude is between -180 and 180"
const radiusRange = ". A radius of more than 0 and at most 25mi is expected"
const southFirst = ". The south comes before the north, and is not above it"
const sideMax = ". Each side may be at most 25mi long"
const annotation = ". A domain and an entity are expected, such as 66.961961812492148736, or * for either"
const country = ". A country code of two letters (ISO 3166-1) is expected"
const range = ". A number or a range such as 1000..10000 is expected"
const twoWords = ". Two words or more are expected before ~"
const distance = ". A distance of 1 to 6 is expected after ~"
const similarity = ". A number from 0 to 1, such as 0.45, is expected"
const besideEmbedding = ". It stands beside the embedding: that it belongs to"

const manyWords = `"${"w ".repeat(33)}"~2`

const badRules: Readonly<Record<string, readonly BadRule[]>> = {
  "nothing there": [
    ["", stopword(1)],
    [" ", stopword(1)],
    ["\t\n", stopword(1)],
    ["\u3000", stopword(1)],
  ],
  "only negations": [
    ["-cat", negation(1), stopword(1)],
    ["--b", negation(1), stopword(1)],
    ["--cat", negation(1), stopword(1)],
    ["-cat -dog", negation(1), stopword(1)],
    ["-is:retweet", negation(1), stopword(1)],
    ["-is:retweet -is:reply", negation(1), stopword(1)],
    ["-(cat)", negation(1), stopword(1)],
    ["-(cat OR dog)", negation(1), stopword(1)],
    ["-cat OR -dog", negation(1), stopword(1)],
    ["-#cat -@dog -$cow", negation(1), stopword(1)],
    ["-url:nytimes -url:bbc", negation(1), stopword(1)],
    ['-"cat dog"', negation(1), stopword(1)],
    ["(-cat)", negation(1), stopword(1)],
    ["---cat", negation(1), stopword(1)],
  ],
  "a branch of an OR that is only a negation": [
    ["apple OR -ipad", negation(10)],
    ["-ipad OR apple", negation(1)],
    ["apple OR (-ipad -iphone)", negation(11)],
    ["apple OR (ipad OR -iphone)", negation(19)],
    ["apple OR --ipad", negation(10)],
    ["a1 OR b1 OR -(c1 d1)", negation(13)],
  ],
  "operators that cannot stand alone": [
    ["is:retweet", standalone(1)],
    ["has:media", standalone(1)],
    ["lang:en", standalone(1)],
    ["has:links OR is:retweet", standalone(1), standalone(14)],
    ["has:links is:retweet", standalone(1)],
    ["is:quote -cat", standalone(1)],
    ["(lang:en)", standalone(2)],
    ["cat OR lang:en", standalone(8)],
    ["cat OR (has:media lang:en)", standalone(9)],
    ["(cat dog) OR (is:reply -fox)", standalone(15)],
    ["IS:Retweet", standalone(1)],
    ["lang:en (has:media OR has:links)", standalone(1)],
  ],
  stopwords: [
    ["a", stopword(1)],
    ["the", stopword(1)],
    ["A", stopword(1)],
    ["a the", stopword(1)],
    ["a OR the", stopword(1), stopword(6)],
    ["cat OR the", stopword(8)],
    ["the lang:en", stopword(1)],
    ["the -cat", stopword(1)],
  ],
  "and and or as words": [
    ["cat and dog", ambiguous.and(5)],
    ["cat AND dog", ambiguous.and(5)],
    ["cat And dog", ambiguous.and(5)],
    ["cat or dog", ambiguous.or(5)],
    ["cat Or dog", ambiguous.or(5)],
    ["and", ambiguous.and(1)],
    ["or", ambiguous.or(1)],
    ["(cat AND dog)", ambiguous.and(6)],
    ["cat -or dog", ambiguous.or(6)],
    ["cat oR dog and cow", ambiguous.or(5), ambiguous.and(12)],
  ],
  "OR in the wrong place": [
    ["OR", input("OR", 1, ". OR stands between two clauses")],
    ["OR cat", input("OR", 1, ". OR stands between two clauses")],
    ["cat OR", input("OR", 5, ". OR stands between two clauses")],
    ["cat OR OR dog", input("OR", 8, ". OR stands between two clauses")],
    ["(OR cat)", input("OR", 2, ". OR stands between two clauses")],
    ["(cat OR)", input("OR", 6, ". OR stands between two clauses")],
    ["cat (OR) dog", input("OR", 6, ". OR stands between two clauses")],
    ["cat -OR dog", input("OR", 6, ". OR cannot be negated")],
    ["OR OR", input("OR", 1, ". OR stands between two clauses"), input("OR", 4, ". OR stands between two clauses")],
  ],
  parentheses: [
    ["()", input("(", 1, ". The group is empty")],
    ["cat ()", input("(", 5, ". The group is empty")],
    ["( )", input("(", 1, ". The group is empty")],
    ["(cat", unclosed(5, 1)],
    ["(cat  ", unclosed(7, 1)],
    ["cat)", extra(4)],
    ["((cat)", unclosed(7, 1)],
    ["(cat (dog", unclosed(10, 6)],
    ['((("#quotedhashtag"', unclosed(20, 3)],
    ["(🍕", unclosed(4, 1)],
    ["(cat))", extra(6)],
    ["cat)))) dog)", extra(4)],
    [")cat(", extra(1), unclosed(6, 5)],
    ["-()", input("(", 2, ". The group is empty")],
    ["cat (dog OR ()", input("(", 13, ". The group is empty"), unclosed(15, 5)],
    ["(", unclosed(2, 1)],
  ],
  brackets: [
    ["[cat]", input("[", 1, "."), input("]", 5, ".")],
    ["cat [dog", input("[", 5, ".")],
    ["cat dog]", input("]", 8, ".")],
    ["[(cat OR dog) (#cow OR #fox)]", input("[", 1, "."), input("]", 29, ".")],
  ],
  "quotation marks": [
    ['"cat', character('"', 1, ". The quotation mark is never closed")],
    ['cat "dog', character('"', 5, ". The quotation mark is never closed")],
    ['cat"', character('"', 4, ". The quotation mark is never closed")],
    ["'cat dog'", character("'", 1, ". Did you mean '\"'?")],
    ["'cat'", character("'", 1, ". Did you mean '\"'?")],
    [
      "(cat OR 'dog cow' OR 'fox')",
      character("'", 9, ". Did you mean '\"'?"),
      character("'", 22, ". Did you mean '\"'?"),
    ],
    ["“cat dog”", character("“", 1, ". Did you mean '\"'?")],
    ["«cat»", character("«", 1, ". Did you mean '\"'?")],
    ['""', input('""', 1, ". It has no letter, digit or emoji to find")],
    ['cat ""', input('""', 5, ". It has no letter, digit or emoji to find")],
    ['"..."', input('"..."', 1, ". It has no letter, digit or emoji to find")],
    ['"cat\\"', character('"', 1, ". The quotation mark is never closed")],
    ["‘cat’", character("‘", 1, ". Did you mean '\"'?")],
  ],
  "characters that begin nothing": [
    ["!cat", character("!", 1)],
    ["cat & dog", character("&", 5)],
    ["?", character("?", 1)],
    ["cat | dog", character("|", 5)],
    ["cat || dog", character("|", 5), character("|", 6)],
    ["cat && dog", character("&", 5), character("&", 6)],
    [".cat", character(".", 1)],
    ["/cat/", character("/", 1)],
    ["*", character("*", 1)],
    ["%", character("%", 1)],
    ["+cat", character("+", 1)],
    ["cat , dog", character(",", 5)],
    [":)", character(":", 1), extra(2)],
    ["~cat", character("~", 1)],
    ["—cat", character("—", 1, ". Did you mean '-'?")],
    ["–cat dog", character("–", 1, ". Did you mean '-'?")],
    ["（cat）", character("（", 1, ". Did you mean '('?"), character("）", 5, ". Did you mean ')'?")],
    ["…", character("…", 1)],
    ["\u0301cat", character("́", 1)],
  ],
  "characters that a word cannot hold": [
    ["cat*", character("*", 4, '. Use "quotes" to find punctuation')],
    ["c*t dog", character("*", 2, '. Use "quotes" to find punctuation')],
    ["cat=dog", character("=", 4, '. Use "quotes" to find punctuation')],
    ["cat;dog", character(";", 4, '. Use "quotes" to find punctuation')],
    ["cat<dog>", character("<", 4, '. Use "quotes" to find punctuation'), unfinished(9)],
    ["cat >", unfinished(6)],
    ["cat AND >", ambiguous.and(5), unfinished(10)],
    ["cat > dog", character(">", 5)],
    ["cat> dog", character(">", 4, '. Use "quotes" to find punctuation')],
    ["c|d", character("|", 2, '. Use "quotes" to find punctuation')],
    ["12:30", character(":", 3, '. Use "quotes" to find punctuation')],
    ["cat-dog:cow", character(":", 8, '. Use "quotes" to find punctuation')],
    ["{cat}", character("{", 1), character("}", 5, '. Use "quotes" to find punctuation')],
  ],
  "dashes alone": [
    ["-", character("-", 1, ". A dash stands right before what it negates")],
    ["cat -", character("-", 5, ". A dash stands right before what it negates")],
    ["cat - dog", character("-", 5, ". A dash stands right before what it negates")],
    ["- cat", character("-", 1, ". A dash stands right before what it negates")],
    ["(cat -)", character("-", 6, ". A dash stands right before what it negates")],
  ],
  "invisible characters": [
    ["cat\u0000dog", character("\\u0000", 4)],
    ["\u0000", character("\\u0000", 1)],
    ["cat \u0007 dog", character("\\u0007", 5)],
    ["cat\u200bdog", character("\\u200B", 4)],
    ["\u202ecat", character("\\u202E", 1)],
    ["cat \u2066dog\u2069", character("\\u2066", 5), character("\\u2069", 9)],
    ["\ufeffcat", character("\\uFEFF", 1)],
    ["cat\u00addog", character("\\u00AD", 4)],
    ['"cat\u0000dog"', character("\\u0000", 5)],
    ["cat\u007f", character("\\u007F", 4)],
    ["cat \u0085 dog", character("\\u0085", 5)],
    ["url:example.com\u200b/x cat", character("\\u200B", 16)],
  ],
  "halves of a surrogate pair": [
    ["\ud800", character("\\uD800", 1)],
    ["cat \udc00 dog", character("\\uDC00", 5)],
    ["cat\ud83d", character("\\uD83D", 4)],
    ['"\udfff"', input('"\\uDFFF"', 1, ". It has no letter, digit or emoji to find"), character("\\uDFFF", 2)],
    ["🍕 \ud83c", character("\\uD83C", 4)],
  ],
  entities: [
    ["#", character("#", 1)],
    ["# cat", character("#", 1)],
    ["cat #", character("#", 5)],
    ["#123", input("#123", 1, ". A hashtag has a letter")],
    ["#cat-dog", character("-", 5, ". A hashtag ends before it")],
    ["#cat.", character(".", 5, ". A hashtag ends before it")],
    ["#cat#dog", character("#", 5, ". A hashtag ends before it")],
    ["@", character("@", 1)],
    ["@ cat", character("@", 1)],
    ["@cat-", character("-", 5, ". A mention ends before it")],
    ["@cat!", character("!", 5, ". A mention ends before it")],
    ["cat @dog.", character(".", 9, ". A mention ends before it")],
    ["@dog.bsky.social. cat", character(".", 17, ". A mention ends before it")],
    ["@dog@", character("@", 5, ". A mention ends before it")],
    ["@dog@.social", character("@", 5, ". A mention ends before it")],
    ["@dog@bsky.social@x", character("@", 17, ". A mention ends before it")],
    ["@dog@bsky_social", character("_", 10, ". A mention ends before it")],
    ["@dog,@cow", character(",", 5, ". A mention ends before it")],
    [`@${"a".repeat(254)}`, character("a", 255, ". A mention ends before it")],
    [`@a@${"b".repeat(254)}`, character("b", 257, ". A mention ends before it")],
    ["$", character("$", 1)],
    ["$5", character("$", 1)],
    ["$cat$", character("$", 5, ". A cashtag ends before it")],
    ["$BRK-B", character("-", 5, ". A cashtag ends before it")],
    ["#!", character("#", 1)],
    ["@-cat", character("@", 1)],
  ],
  "operators nobody knows": [
    ["h:m", "Reference to invalid operator 'h' (at position 1).", "Reference to invalid field 'h' (at position 1)."],
    [
      "form:nasa",
      "Reference to invalid operator 'form' (at position 1). Did you mean 'from'?",
      "Reference to invalid field 'form' (at position 1).",
    ],
    [
      "fron:nasa",
      "Reference to invalid operator 'fron' (at position 1). Did you mean 'from'?",
      "Reference to invalid field 'fron' (at position 1).",
    ],
    [
      "From_:nasa",
      "Reference to invalid operator 'From_' (at position 1). Did you mean 'from'?",
      "Reference to invalid field 'From_' (at position 1).",
    ],
    [
      "retweet_of:nasa",
      "Reference to invalid operator 'retweet_of' (at position 1). Did you mean 'retweets_of'?",
      "Reference to invalid field 'retweet_of' (at position 1).",
    ],
    [
      "conversationid:12",
      "Reference to invalid operator 'conversationid' (at position 1). Did you mean 'conversation_id'?",
      "Reference to invalid field 'conversationid' (at position 1).",
    ],
    [
      "langs:en cat",
      "Reference to invalid operator 'langs' (at position 1). Did you mean 'lang'?",
      "Reference to invalid field 'langs' (at position 1).",
    ],
    [
      "ur:example.com",
      "Reference to invalid operator 'ur' (at position 1). Did you mean 'url'?",
      "Reference to invalid field 'ur' (at position 1).",
    ],
    [
      "prefix:bbb",
      "Reference to invalid operator 'prefix' (at position 1).",
      "Reference to invalid field 'prefix' (at position 1).",
    ],
    [
      "http://example.com/x",
      "Reference to invalid operator 'http' (at position 1). Did you mean 'url:\"http://example.com/x\"'?",
      "Reference to invalid field 'http' (at position 1).",
    ],
    [
      "cat https://h.com/~bob",
      "Reference to invalid operator 'https' (at position 5). Did you mean 'url:\"https://h.com/~bob\"'?",
      "Reference to invalid field 'https' (at position 5).",
    ],
    [
      "hsa:media cat",
      "Reference to invalid operator 'hsa' (at position 1). Did you mean 'has'?",
      "Reference to invalid field 'hsa' (at position 1).",
    ],
    [
      "cat 猫:x",
      "Reference to invalid operator '猫' (at position 5).",
      "Reference to invalid field '猫' (at position 5).",
    ],
    [
      "tot:nasa",
      "Reference to invalid operator 'tot' (at position 1). Did you mean 'to'?",
      "Reference to invalid field 'tot' (at position 1).",
    ],
    [
      "subscribe(for:bufferingPolicy)",
      "Reference to invalid operator 'for' (at position 11).",
      "Reference to invalid field 'for' (at position 11).",
    ],
  ],
  "values nobody knows": [
    ["cat is:polls", unavailable("is:polls", 5)],
    ["is:polls", unavailable("is:polls", 1), standalone(1)],
    ["cat has:image", `${unavailable("has:image", 5)}. Did you mean 'has:images'?`],
    ["cat has:hashtag", `${unavailable("has:hashtag", 5)}. Did you mean 'has:hashtags'?`],
    ["cat has:link", `${unavailable("has:link", 5)}. Did you mean 'has:links'?`],
    ["cat has:mention", `${unavailable("has:mention", 5)}. Did you mean 'has:mentions'?`],
    ["cat has:media.", `${unavailable("has:media.", 5)}. Did you mean 'has:media'?`],
    ["cat is:retweeted", `${unavailable("is:retweeted", 5)}. Did you mean 'is:retweet'?`],
    ["cat is:rt", unavailable("is:rt", 5)],
    ["cat is:replies", unavailable("is:replies", 5)],
    ["cat is:quoted", `${unavailable("is:quoted", 5)}. Did you mean 'is:quote'?`],
    ["cat is:Verfied", `${unavailable("is:Verfied", 5)}. Did you mean 'is:verified'?`],
    ["cat has:pictures", unavailable("has:pictures", 5)],
  ],
  "languages nobody knows": [
    ["cat lang:xx", unavailable("lang:xx", 5)],
    ["cat lang:jp", `${unavailable("lang:jp", 5)}. Did you mean 'lang:ja'?`],
    ["cat lang:eng", `${unavailable("lang:eng", 5)}. Did you mean 'lang:en'?`],
    ["cat lang:english", `${unavailable("lang:english", 5)}. Did you mean 'lang:en'?`],
    ["cat lang:en-US", `${unavailable("lang:en-US", 5)}. Did you mean 'lang:en'?`],
    ["cat lang:en_GB", `${unavailable("lang:en_GB", 5)}. Did you mean 'lang:en'?`],
    ["cat lang:zh-HK", `${unavailable("lang:zh-HK", 5)}. Did you mean 'lang:zh'?`],
    ["cat lang:cz", `${unavailable("lang:cz", 5)}. Did you mean 'lang:cs'?`],
    ["cat lang:e", unavailable("lang:e", 5)],
    ["cat lang:*", unavailable("lang:*", 5)],
    ["lang:xx", unavailable("lang:xx", 1), standalone(1)],
    ["cat lang:qqq", unavailable("lang:qqq", 5)],
    ["cat -lang:kp", `${unavailable("lang:kp", 6)}. Did you mean 'lang:ko'?`],
    ['cat lang:"x y"', unavailable('lang:"x y"', 5)],
  ],
  "operators not to be had": [
    ["cat has:symbols", `${unavailable("has:symbols", 5)}. Did you mean 'has:cashtags'?`],
    ["has:native_video cat", `${unavailable("has:native_video", 1)}. Did you mean 'has:video_link'?`],
    ["cat has:profile_geo", unavailable("has:profile_geo", 5)],
    ["has:lang", unavailable("has:lang", 1), standalone(1)],
    ["contains:hello", unavailable("contains", 1)],
    ["keyword:cat", unavailable("keyword", 1)],
    ["list:123", unavailable("list", 1)],
    ["-list:5 cat", unavailable("list", 2)],
    ["List:5", unavailable("List", 1)],
    ["place_contains:york", unavailable("place_contains", 1)],
    ["country_code:us", unavailable("country_code", 1)],
    ["profile_country:us", unavailable("profile_country", 1)],
    ["profile_region:texas", unavailable("profile_region", 1)],
    ["profile_locality:austin", unavailable("profile_locality", 1)],
    ["profile_subregion:x", unavailable("profile_subregion", 1)],
    ["profile_point_radius:[1 2 3km]", unavailable("profile_point_radius", 1)],
    ["profile_bounding_box:[1 2 1.1 2.1]", unavailable("profile_bounding_box", 1)],
    ["bio_contains:phd", unavailable("bio_contains", 1)],
    [
      "bio_name_contains:x OR bio_location_contains:y",
      unavailable("bio_name_contains", 1),
      unavailable("bio_location_contains", 24),
    ],
    ["bio_lang:en cat", unavailable("bio_lang", 1)],
    ["twitter_lang:en cat", unavailable("twitter_lang", 1)],
    ['time_zone:"Pacific Time"', unavailable("time_zone", 1)],
    ["list:", unavailable("list", 1)],
  ],
  "similarities without an endpoint": [
    ['embedding:"cats" cat', unavailable("embedding", 1)],
    ["cat embedding_threshold:0.4", unavailable("embedding_threshold", 5)],
    ["embedding_threshold:0.4", unavailable("embedding_threshold", 1), standalone(1)],
    ['embedding:"cats" embedding_threshold:0.4', unavailable("embedding", 1), unavailable("embedding_threshold", 18)],
  ],
  samples: [
    ["sample:0 cat", input("0", 8, percentage)],
    ["cat sample:101", input("101", 12, percentage)],
    ["cat sample:1000", input("1000", 12, percentage)],
    ["cat sample:x", input("x", 12, percentage)],
    ["cat sample:1.5", input("1.5", 12, percentage)],
    ["cat sample:1%", input("1%", 12, percentage)],
    ["cat sample:-5", input("-5", 12, percentage)],
    ["sample: cat", input("sample:", 1, valueExpected)],
    ["cat -sample:10", notNegated("sample:10", 6)],
    ["cat ---sample:10", notNegated("sample:10", 8)],
    ["cat -(dog sample:10)", notNegated("sample:10", 11)],
    ["cat -(-(-sample:10))", notNegated("sample:10", 10)],
    ["sample:10", sampling(1)],
    ["-sample:10", negation(1), stopword(1), notNegated("sample:10", 2)],
    ["cat OR sample:10", besideOr(8), sampling(8)],
    ["sample:10 OR cat", besideOr(1), sampling(1)],
    ["sample:10 lang:en", sampling(1)],
    ["lang:en sample:10", sampling(9)],
    ["sample:10 -cat", sampling(1)],
  ],
  "samples beside an OR": [
    ['Pizza OR 🍕 OR "🍕" sample:100', besideOr(21)],
    ["cat OR dog sample:10", besideOr(12)],
    ["cat sample:10 OR dog", besideOr(5)],
    ["sample:10 cat OR dog", besideOr(1)],
    ["cat SAMPLE:10 OR dog", besideOr(5)],
    ["cat sample:10 OR dog sample:20", besideOr(5), besideOr(22)],
    ["(cat sample:10) OR dog", besideOr(6)],
    ["cat OR (dog sample:10)", besideOr(13)],
    ["(cat OR dog sample:10)", besideOr(13)],
    ["cow (cat OR dog sample:10)", besideOr(17)],
    ["cow (cat OR (dog (fox sample:10)))", besideOr(23)],
    ["(((cat sample:10))) OR dog", besideOr(8)],
    ["((cat OR dog) sample:10) OR cow", besideOr(15)],
    ["cow -(cat OR dog sample:10)", notNegated("sample:10", 18), besideOr(18)],
  ],
  "applications that posts were sent from": [
    ["source:web", sampling(1)],
    ["cat OR source:web", sampling(8)],
    ["source:web has:media", sampling(1)],
    ["-source:web", negation(1), stopword(1)],
    ["source:", input("source:", 1, valueExpected), sampling(1)],
    ["cat source:!!", input("source:!!", 5, noWords)],
  ],
  "nullcast posts": [
    ["is:nullcast cat", mustBeNegated(1)],
    ["is:nullcast", mustBeNegated(1), standalone(1)],
    ["cat --is:nullcast", mustBeNegated(7)],
    ["cat -(-is:nullcast)", mustBeNegated(8)],
    ["cat -(dog OR -is:nullcast)", mustBeNegated(15)],
    ["cat OR (dog is:nullcast)", mustBeNegated(13)],
    ["-is:nullcast", negation(1), stopword(1)],
    ["-(is:nullcast)", negation(1), stopword(1)],
    ["cat OR -is:nullcast", negation(8)],
    ["Is:NullCast cat", "Operator 'Is:NullCast' must be negated (at position 1). Did you mean '-Is:NullCast'?"],
  ],
  "circles that are none": [
    ["point_radius:[1 2]", input("[1 2]", 14, circle)],
    ["point_radius:[1 2 3]", input("[1 2 3]", 14, circle)],
    ["point_radius:[1 2 3 km]", input("[1 2 3 km]", 14, circle)],
    ["point_radius:[1, 2, 3km]", input("[1, 2, 3km]", 14, circle)],
    ["point_radius:[1 2 3m]", input("[1 2 3m]", 14, circle)],
    ["point_radius:[a b c]", input("[a b c]", 14, circle)],
    ["point_radius:[]", input("[]", 14, circle)],
    ["point_radius:1,2,3km", input("1,2,3km", 14, circle)],
    ["point_radius:paris", input("paris", 14, circle)],
    ['point_radius:"1 2 3km"', input('"1 2 3km"', 14, circle)],
    ["Point_Radius:[1 2 3]", input("[1 2 3]", 14, circle)],
    ["cat -point_radius:[1 2 3]", input("[1 2 3]", 19, circle)],
    ["point_radius:[1 91 3km]", input("[1 91 3km]", 14, latitudeRange)],
    ["point_radius:[181 1 3km]", input("[181 1 3km]", 14, longitudeRange)],
    ["point_radius:[1 2 26mi]", input("[1 2 26mi]", 14, radiusRange)],
    ["point_radius:[1 2 41km]", input("[1 2 41km]", 14, radiusRange)],
    ["point_radius:[1 2 0km]", input("[1 2 0km]", 14, radiusRange)],
    ["point_radius:", input("point_radius:", 1, valueExpected)],
    ["point_radius: [1 2 3km]", input("point_radius:", 1, valueExpected), input("[", 15, "."), input("]", 23, ".")],
    ["point_radius:[1 2 3km]]", input("]", 23, ".")],
    ["point_radius:[1 2 3km", input("point_radius:[1 2 3km", 1, bracketOpen)],
    ["cat point_radius:[1 2 3km OR dog", input("point_radius:[1 2 3km OR dog", 5, bracketOpen)],
  ],
  "boxes that are none": [
    ["bounding_box:[1 2 3]", input("[1 2 3]", 14, box)],
    ["bounding_box:[1 2 3 4 5]", input("[1 2 3 4 5]", 14, box)],
    ["bounding_box:[w s e n]", input("[w s e n]", 14, box)],
    ["bounding_box:1,2,3,4", input("1,2,3,4", 14, box)],
    ["bounding_box:london", input("london", 14, box)],
    ["geo_bounding_box:[1 2 3]", input("[1 2 3]", 18, box)],
    ["bounding_box:[1 2 1.1 1.9]", input("[1 2 1.1 1.9]", 14, southFirst)],
    ["bounding_box:[1 2 3 4]", input("[1 2 3 4]", 14, sideMax)],
    ["bounding_box:[1.1 2 1 2.1]", input("[1.1 2 1 2.1]", 14, sideMax)],
    ["bounding_box:[1 2 181 2.1]", input("[1 2 181 2.1]", 14, longitudeRange)],
    ["bounding_box:[1 95 1.1 96]", input("[1 95 1.1 96]", 14, latitudeRange)],
    ["bounding_box:", input("bounding_box:", 1, valueExpected)],
    ["bounding_box:[1 2 1.1 2.1", input("bounding_box:[1 2 1.1 2.1", 1, bracketOpen)],
  ],
  "annotations, entities and places that are none": [
    ["context:abc", input("abc", 9, annotation)],
    ["context:*.*", input("*.*", 9, annotation)],
    ["context:*", input("*", 9, annotation)],
    ["context:12", input("12", 9, annotation)],
    ["context:12.", input("12.", 9, annotation)],
    ["context:.12", input(".12", 9, annotation)],
    ["context:12.x", input("12.x", 9, annotation)],
    ["context:12.34.56", input("12.34.56", 9, annotation)],
    ["context:12345678901234567890.1", input("12345678901234567890.1", 9, annotation)],
    ["context:", input("context:", 1, valueExpected)],
    ['entity:""', input('entity:""', 1, valueExpected)],
    ['entity:"!"', input('entity:"!"', 1, noWords)],
    ["entity:", input("entity:", 1, valueExpected)],
    ["place:", input("place:", 1, valueExpected)],
    ["place:!", input("place:!", 1, noWords)],
    ['place:"  "', input('place:"  "', 1, noWords)],
    ["place_country:UK", `${input("place_country:UK", 1, country)}. Did you mean 'place_country:GB'?`],
    ["-place_country:uk cat", `${input("place_country:uk", 2, country)}. Did you mean 'place_country:GB'?`],
    ["place_country:USA", `${input("place_country:USA", 1, country)}. Did you mean 'place_country:US'?`],
    ["place_country:Germany", `${input("place_country:Germany", 1, country)}. Did you mean 'place_country:DE'?`],
    ["Place_Country:UK", `${input("Place_Country:UK", 1, country)}. Did you mean 'place_country:GB'?`],
    ["place_country:xx1", input("xx1", 15, country)],
    ["place_country:xx", input("xx", 15, country)],
    ["place_country:U", input("U", 15, country)],
    ['place_country:"U S"', input('"U S"', 15, country)],
    ["place_country:", input("place_country:", 1, valueExpected)],
  ],
  "numbers that are none": [
    ["followers_count:5..3", input("5..3", 17, range)],
    ["followers_count:many", input("many", 17, range)],
    ["followers_count:-5", input("-5", 17, range)],
    ["followers_count:1..", input("1..", 17, range)],
    ["followers_count:..5", input("..5", 17, range)],
    ["followers_count:1...5", input("1...5", 17, range)],
    ["followers_count:1,000", input("1,000", 17, range)],
    ["followers_count:1.5", input("1.5", 17, range)],
    ["followers_count:>100", input(">100", 17, range)],
    ["followers_count:1e5", input("1e5", 17, range)],
    ["followers_count:1k", input("1k", 17, range)],
    ["followers_count:1234567890123456", input("1234567890123456", 17, range)],
    ["followers_count:", input("followers_count:", 1, valueExpected)],
    ["tweets_count:a..b", input("a..b", 14, range)],
    ["statuses_count:5..1", input("5..1", 16, range)],
    ["friends_count:x", input("x", 15, range)],
    ["following_count:1..2..3", input("1..2..3", 17, range)],
    ["listed_count:１", input("１", 14, range)],
    ["min_followers:1..2", input("1..2", 15, ". A number is expected")],
    ["min_followers:100k", input("100k", 15, ". A number is expected")],
    ["min_likes:-1", input("-1", 11, ". A number is expected")],
    ["min_reposts:1.5", input("1.5", 13, ". A number is expected")],
    ["min_reposts:1..", input("1..", 13, ". A number is expected")],
    ["min_replies:", input("min_replies:", 1, valueExpected)],
  ],
  "proximities that are none": [
    ['"a"~3', input('"a"~3', 1, twoWords)],
    ['"cat"~3', input('"cat"~3', 1, twoWords)],
    ['"猫"~2', input('"猫"~2', 1, twoWords)],
    ['"..."~3', input('"..."~3', 1, twoWords)],
    ['""~2', input('""~2', 1, twoWords)],
    ['"a b"~0', input("~0", 6, distance)],
    ['"a b"~7', input("~7", 6, distance)],
    ['"a b"~10', input("~10", 6, distance)],
    ['"a b"~100000', input("~100000", 6, distance)],
    ['"a b"~', input("~", 6, distance)],
    ['"a b"~x', input("~", 6, distance)],
    ['"a b"~-1', input("~", 6, distance)],
    ['cat "dog cow"~', input("~", 14, distance)],
    ['-"a b"~9 cat', input("~9", 7, distance)],
    ['"🍕 🍔"~9', input("~9", 8, distance)],
    ['"a b"~3.5', character(".", 8)],
    ['"a b"~3~3', character("~", 8)],
    ['"a b" ~3', character("~", 7)],
    ["cat ~3", character("~", 5)],
    [manyWords, input(manyWords, 1, ". At most 32 words may stand before ~")],
  ],
  "near misses of operators": [
    ["bounding_bx:[1 2 1.1 2.1]", ...unknown("bounding_bx", 1, "bounding_box")],
    ["boundingbox:[1 2 1.1 2.1]", ...unknown("boundingbox", 1, "bounding_box")],
    ["points_radius:[1 2 3km]", ...unknown("points_radius", 1, "point_radius")],
    ["url_titel:snow", ...unknown("url_titel", 1, "url_title")],
    ["url_contain:x", ...unknown("url_contain", 1, "url_contains")],
    ["url_desciption:x", ...unknown("url_desciption", 1, "url_description")],
    ["bio_nam:x", ...unknown("bio_nam", 1, "bio_name")],
    ["bios:x", ...unknown("bios", 1, "bio")],
    ["contex:1.2", ...unknown("contex", 1, "context")],
    ["entitiy:x", ...unknown("entitiy", 1, "entity")],
    ["cat place_county:us", ...unknown("place_county", 5, "place_country")],
    ["cat sampel:10", ...unknown("sampel", 5, "sample")],
    ["cat sorce:web", ...unknown("sorce", 5, "source")],
    ["min_follower:5", ...unknown("min_follower", 1, "min_followers")],
    ["follower_count:5", ...unknown("follower_count", 1, "followers_count")],
    ["tweet_count:5", ...unknown("tweet_count", 1, "tweets_count")],
    ["min_repost:5", ...unknown("min_repost", 1, "min_reposts")],
    ["cat min_quotes:5", ...unknown("min_quotes", 5)],
    ["from_afiliate_of:x", ...unknown("from_afiliate_of", 1, "from_affiliate_of")],
    ["in_reply_to_tweetid:1", ...unknown("in_reply_to_tweetid", 1, "in_reply_to_tweet_id")],
    ["cat -is:nullcasts", `${unavailable("is:nullcasts", 6)}. Did you mean 'is:nullcast'?`],
    ["cat has:geos", `${unavailable("has:geos", 5)}. Did you mean 'has:geo'?`],
    ["cat has:video", `${unavailable("has:video", 5)}. Did you mean 'has:videos'?`],
    ["cat has:polls", unavailable("has:polls", 5)],
    // No suggestion would be rejected itself.
    ['embeding:"x"', ...unknown("embeding", 1)],
  ],
  "operators of the search on the web": [
    ["since:2025-08-01", unavailable("since", 1)],
    ["cat until:2025-08-01", unavailable("until", 5)],
    ["cat filter:media", unavailable("filter", 5)],
    ["cat -filter:replies", unavailable("filter", 6)],
    ["near:paris", unavailable("near", 1)],
    ["within:5mi", unavailable("within", 1)],
    ["min_faves:10", `${unavailable("min_faves", 1)}. Did you mean 'min_likes'?`],
    ["cat min_retweets:10", `${unavailable("min_retweets", 5)}. Did you mean 'min_reposts'?`],
    ["cat has:quotes", unavailable("has:quotes", 5)],
    ["has:polls", unavailable("has:polls", 1), standalone(1)],
  ],
  "names of every object": [
    ["__proto__:x", ...unknown("__proto__", 1)],
    ["constructor:x", ...unknown("constructor", 1)],
    ["toString:x", ...unknown("toString", 1)],
    ["hasOwnProperty:x", ...unknown("hasOwnProperty", 1)],
    ["cat has:constructor", unavailable("has:constructor", 5)],
    ["cat is:__proto__", unavailable("is:__proto__", 5)],
    ["cat lang:toString", unavailable("lang:toString", 5)],
  ],
  "ids and people that are none": [
    ["in_reply_to_tweet_id:abc", input("abc", 22, idExpected)],
    ["in_reply_to_tweet_id:1.5", input("1.5", 22, idExpected)],
    ["in_reply_to_tweet_id:", input("in_reply_to_tweet_id:", 1, valueExpected)],
    ["in_reply_to_status_id:12x", input("12x", 23, idExpected)],
    ["retweets_of_tweet_id:x", input("x", 22, idExpected)],
    ["retweets_of_status_id:https://x.com/a/status/1", input("https://x.com/a/status/1", 23, idExpected)],
    ["quotes_of_tweet_id:-1", input("-1", 20, idExpected)],
    ["quotes_of_tweet_id:12345678901234567890", input("12345678901234567890", 20, idExpected)],
    ["conversation_id:１２", input("１２", 17, idExpected)],
    ["from_affiliate_of:", input("from_affiliate_of:", 1, valueExpected)],
    ["from_affiliate_of:@", input("@", 19, userExpected)],
    ["to_affiliate_of:a/b", input("a/b", 17, userExpected)],
  ],
  "words of links, pages and authors that are none": [
    ["url_title:", input("url_title:", 1, valueExpected)],
    ["url_title:!", input("url_title:!", 1, noWords)],
    ['url_description:"…"', input('url_description:"…"', 1, noWords)],
    ["url_contains:", input("url_contains:", 1, valueExpected)],
    ['url_contains:""', input('url_contains:""', 1, valueExpected)],
    ["bio:", input("bio:", 1, valueExpected)],
    ["bio:!", input("bio:!", 1, noWords)],
    ['bio_location:""', input('bio_location:""', 1, valueExpected)],
    ['url:"https://"', input('url:"https://"', 1, noWords)],
    ['url_title:"never closed', character('"', 11, ". The quotation mark is never closed")],
  ],
  "values of the wrong shape": [
    ["from:", input("from:", 1, ". A value follows the colon, without a space")],
    ["cat from:", input("from:", 5, ". A value follows the colon, without a space")],
    ["from: nasa", input("from:", 1, ". A value follows the colon, without a space")],
    ["to:@", input("@", 4, ". A username or a numeric id is expected")],
    ['from:"two words"', input('"two words"', 6, ". A username or a numeric id is expected")],
    ["from:a/b", input("a/b", 6, userExpected)],
    ["from:a,b", input("a,b", 6, userExpected)],
    ["from:a.", input("a.", 6, userExpected)],
    ["from:a-", input("a-", 6, userExpected)],
    ["to:.a", input(".a", 4, userExpected)],
    ["to:a@", input("a@", 4, userExpected)],
    ["to:a@b@c", input("a@b@c", 4, userExpected)],
    ["retweets_of:@@a", input("@@a", 13, userExpected)],
    [`from:${"a".repeat(254)}`, input("a".repeat(254), 6, userExpected)],
    ["conversation_id:abc", input("abc", 17, ". An id of 1 to 19 digits is expected")],
    ["conversation_id:", input("conversation_id:", 1, ". A value follows the colon, without a space")],
    [
      "conversation_id:12345678901234567890",
      input("12345678901234567890", 17, ". An id of 1 to 19 digits is expected"),
    ],
    ["url:", input("url:", 1, ". A value follows the colon, without a space")],
    ['url:""', input('url:""', 1, ". A value follows the colon, without a space")],
    ["url:///", input("url:///", 1, ". It has no letter, digit or emoji to find")],
    ["lang:", input("lang:", 1, ". A value follows the colon, without a space"), standalone(1)],
    ["is: cat", input("is:", 1, ". A value follows the colon, without a space")],
    ["has:", input("has:", 1, ". A value follows the colon, without a space"), standalone(1)],
    ["from:-nasa", input("-nasa", 6, ". A username or a numeric id is expected")],
    ["retweets_of:!", input("!", 13, ". A username or a numeric id is expected")],
    ["to:bufferingPolicy:", input("bufferingPolicy:", 4, ". A username or a numeric id is expected")],
  ],
  "several at once": [
    [
      "form:nasa has:image lang:xx",
      "Reference to invalid operator 'form' (at position 1). Did you mean 'from'?",
      "Reference to invalid field 'form' (at position 1).",
      `${unavailable("has:image", 11)}. Did you mean 'has:images'?`,
      unavailable("lang:xx", 21),
    ],
    [
      "'cat' AND dog or (",
      character("'", 1, ". Did you mean '\"'?"),
      ambiguous.and(7),
      ambiguous.or(15),
      unclosed(19, 18),
    ],
    ["cat and #1 ) $", ambiguous.and(5), input("#1", 9, ". A hashtag has a letter"), extra(12), character("$", 14)],
    ["is:polls OR -cat OR the", unavailable("is:polls", 1), standalone(1), negation(13), stopword(21)],
    ["(( ) OR 'x", input("(", 2, ". The group is empty"), character("'", 9, ". Did you mean '\"'?"), unclosed(11, 1)],
    ["from:: @@ ##", input(":", 6, ". A username or a numeric id is expected"), character("@", 8), character("#", 11)],
  ],
  "far into the rule, in UTF-16 units": [
    ["🍕🍕🍕 and 🍕", ambiguous.and(8)],
    [
      "👩\u200d👩\u200d👧\u200d👦 form:x",
      "Reference to invalid operator 'form' (at position 13). Did you mean 'from'?",
      "Reference to invalid field 'form' (at position 13).",
    ],
    ["𝒳𝒴 OR", input("OR", 6, ". OR stands between two clauses")],
    ["東京 (猫 OR", input("OR", 7, ". OR stands between two clauses"), unclosed(9, 4)],
    ["éa\u0301 [x", input("[", 5, ".")],
  ],
}

/** Rejected where embeddings are available. */
const badEmbeddings: Readonly<Record<string, readonly BadRule[]>> = {
  "thresholds out of range": [
    ['embedding:"cats" embedding_threshold:1.1', input("1.1", 38, similarity)],
    ['embedding:"cats" embedding_threshold:-0.1', input("-0.1", 38, similarity)],
    ['embedding:"cats" embedding_threshold:.5', input(".5", 38, similarity)],
    ['embedding:"cats" embedding_threshold:0,5', input("0,5", 38, similarity)],
    ['embedding:"cats" embedding_threshold:50%', input("50%", 38, similarity)],
    ['embedding:"cats" embedding_threshold:high', input("high", 38, similarity)],
    ['embedding:"cats" embedding_threshold:2', input("2", 38, similarity)],
    ['embedding:"cats" embedding_threshold:', input("embedding_threshold:", 18, valueExpected)],
  ],
  "thresholds in the wrong place": [
    ["embedding_threshold:0.5", standalone(1)],
    ["cat embedding_threshold:0.5", input("embedding_threshold:0.5", 5, besideEmbedding)],
    ["cat (dog embedding_threshold:0.5)", input("embedding_threshold:0.5", 10, besideEmbedding)],
    ["cat OR (dog embedding_threshold:0.5)", input("embedding_threshold:0.5", 13, besideEmbedding)],
    [
      'embedding:"cats" OR embedding_threshold:0.5',
      input("embedding_threshold:0.5", 21, besideEmbedding),
      standalone(21),
    ],
    ['embedding:"cats" (dog OR embedding_threshold:0.5)', input("embedding_threshold:0.5", 26, besideEmbedding)],
    [
      'embedding:"cats" embedding_threshold:0.4 embedding_threshold:0.5',
      input("embedding_threshold:0.5", 42, ". One threshold is enough"),
    ],
    ['embedding:"cats" -embedding_threshold:0.4', notNegated("embedding_threshold:0.4", 19)],
    [
      "embedding_threshold:0.4 embedding_threshold:0.4",
      input("embedding_threshold:0.4", 1, besideEmbedding),
      standalone(1),
      input("embedding_threshold:0.4", 25, ". One threshold is enough"),
    ],
  ],
  "similarities that are none": [
    ['-embedding:"cats" cat', notNegated('embedding:"cats"', 2)],
    ['cat -(dog embedding:"x")', notNegated('embedding:"x"', 11)],
    ['embedding:""', input('embedding:""', 1, valueExpected)],
    ['embedding:"  "', input('embedding:"  "', 1, noWords)],
    ["embedding:", input("embedding:", 1, valueExpected)],
    ['embeding:"x"', ...unknown("embeding", 1, "embedding")],
    ['-embedding:"cats"', negation(1), stopword(1), notNegated('embedding:"cats"', 2)],
  ],
}

/** Rejected as searches of the strict dialect. */
const badSearches: Readonly<Record<string, readonly BadRule[]>> = {
  "operators of streams only": [
    ["cat sample:10", unavailable("sample", 5)],
    ["sample:10", unavailable("sample", 1), sampling(1)],
    ["cat -sample:10", unavailable("sample", 6)],
    ["bio:phd", unavailable("bio", 1)],
    ["BIO:phd", unavailable("BIO", 1)],
    ["-bio:phd cat", unavailable("bio", 2)],
    ["bio_name:ann OR bio_location:nyc", unavailable("bio_name", 1), unavailable("bio_location", 17)],
    ["user_bio:phd", unavailable("user_bio", 1)],
    ["cat user_bio_location:nyc", unavailable("user_bio_location", 5)],
    ["min_retweets:5", `${unavailable("min_retweets", 1)}. Did you mean 'min_reposts'?`],
    ["min_faves:5", `${unavailable("min_faves", 1)}. Did you mean 'min_likes'?`],
    ["bio:", unavailable("bio", 1)],
    ["from_affiliate_of:ann", unavailable("from_affiliate_of", 1)],
    ["cat -url_contains:dog", unavailable("url_contains", 6)],
    ["within_url_title:cat", unavailable("within_url_title", 1)],
    ["friends_count:7 min_followers:3", unavailable("friends_count", 1), unavailable("min_followers", 17)],
    ["cat source:Web", unavailable("source", 5)],
    ['"hot dog"~3', unavailable("~3", 10)],
    ['cat "hot"~9', unavailable("~9", 10)],
    ["list:1", unavailable("list", 1)],
  ],
  "near misses": [
    ["form:nasa", ...unknown("form", 1, "from")],
    ["bios:phd", ...unknown("bios", 1)],
    ["cat sampel:10", ...unknown("sampel", 5)],
  ],
  "what a stream rejects too": [
    ["-cat", negation(1), stopword(1)],
    ["lang:en", standalone(1)],
    ["place_country:UK", `${input("place_country:UK", 1, country)}. Did you mean 'place_country:GB'?`],
    ["cat and dog", ambiguous.and(5)],
    ['embedding:"cats"', unavailable("embedding", 1)],
  ],
}

/** Rejected by the strict dialect. */
const badStrictRules: Readonly<Record<string, readonly BadRule[]>> = {
  "operators of searches only": [
    ["quotes_of_tweet_id:1", unavailable("quotes_of_tweet_id", 1)],
    ["cat -quotes_of_status_id:1", unavailable("quotes_of_status_id", 6)],
  ],
  "names that X's users cannot have": [
    ["@alice.bsky.social", character(".", 7, ". A mention ends before it")],
    ["cat -@alice-b", character("-", 12, ". A mention ends before it")],
    ["@alice@social.example", character("@", 7, ". A mention ends before it")],
    ["@猫", character("@", 1)],
    ["@abcdefghijklmnopqrstu", character("u", 22, ". A mention ends before it")],
    ["from:alice.bsky.social", input("alice.bsky.social", 6, userExpected)],
    ["(to:@alice@social.example)", input("@alice@social.example", 5, userExpected)],
    ["retweets_of:a-b", input("a-b", 13, userExpected)],
    ['retweets_of_user:"a.b"', input('"a.b"', 18, userExpected)],
    ["from_affiliate_of:猫", input("猫", 19, userExpected)],
    ["to_affiliate_of:abcdefghijklmnopqrstu", input("abcdefghijklmnopqrstu", 17, userExpected)],
  ],
}

const tables: readonly {
  readonly rules: Readonly<Record<string, readonly BadRule[]>>
  readonly options: RuleOptions
}[] = [
  { rules: badRules, options: {} },
  { rules: badEmbeddings, options: { embeddings: true } },
  { rules: badSearches, options: { mode: "search", strict: true } },
  { rules: badStrictRules, options: { strict: true } },
]

const cases = tables.flatMap(({ rules, options }) =>
  Object.entries(rules).flatMap(([what, rows]) =>
    rows.map(([rule, ...messages]) => ({ what, rule, messages, options })),
  ),
)

test.each(cases)("$what: $rule is rejected with X's messages and positions", ({ rule, messages, options }) => {
  expect(messagesOf(rule, options)).toEqual(messages)
})

test("the cases of bad rules are many and distinct", () => {
  const distinct = new Set(cases.map(({ rule, options }) => JSON.stringify([rule, options])))
  expect(distinct.size).toBe(cases.length)
  expect(distinct.size).toBeGreaterThan(400)
})

test("every problem quotes the part of the rule at its position", () => {
  for (const { rule, options } of cases) {
    const parsed = parseRule(rule, options)
    for (const { part, position, message } of parsed.ok ? [] : parsed.problems) {
      expect(rule.slice(position - 1).startsWith(part), `${rule}: ${message}`).toBe(true)
      expect(message).toContain(`(at position ${position})`)
    }
  }
})

test("the problems of a rule are in the order of its text", () => {
  for (const { rule, options } of cases) {
    const parsed = parseRule(rule, options)
    const positions = parsed.ok ? [] : parsed.problems.map(({ position }) => position)
    expect(positions, rule).toEqual(positions.toSorted((left, right) => left - right))
  }
})

test("replacing the part by the suggestion removes the problem", () => {
  for (const { rule, options } of cases) {
    const parsed = parseRule(rule, options)
    for (const { part, position, suggestion } of parsed.ok ? [] : parsed.problems) {
      if (suggestion === undefined || suggestion === '"' || suggestion === "(" || suggestion === ")") continue
      const mended = rule.slice(0, position - 1) + suggestion + rule.slice(position - 1 + part.length)
      const again = parseRule(mended, options)
      const left = again.ok ? [] : again.problems.filter((problem) => problem.position === position)
      const stillWrong = left.filter(
        ({ message, suggestion: next }) => next !== undefined || /invalid|not available/.test(message),
      )
      expect(stillWrong, mended).toEqual([])
    }
  }
})

test("every rejection takes less than 50 ms", () => {
  for (const { rule, options } of cases) {
    expect(
      cpuMs(() => parseRule(rule, options)),
      rule,
    ).toBeLessThan(50)
  }
})

test("a rule over the maximum length is rejected in X's words, with its length in code points", () => {
  const rule = "🍕 ".repeat(1025).trim()
  const parsed = parseRule(rule)
  expect(parsed.ok ? [] : parsed.problems).toEqual([
    {
      message: `Rule '${rule}' exceeds the maximum length of a rule. It is 2049 characters while the maximum allowed is 2048 (at position 1)`,
      position: 1,
      part: rule,
    },
  ])
  expect(parseRule("🍕".repeat(2048)).ok).toBe(true)
})

test("a rule over the maximum length is rejected with its other problems too", () => {
  const parsed = parseRule("form:nasa cat", { lengthMax: 10 })
  expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.position)).toEqual([1, 1, 1])
})

test("a rule far over the maximum length has only this problem, with a shortened part", () => {
  const parsed = parseRule("'".repeat(100_000))
  expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.part.length)).toEqual([4096])
})

test("a thousand ORs are rejected as too long or as misplaced", () => {
  const long = Array.from({ length: 1001 }, (_, index) => `w${index}`).join(" OR ")
  expect(messagesOf(long)).toHaveLength(1)
  expect(messagesOf(long)[0]).toContain(
    `' exceeds the maximum length of a rule. It is ${long.length} characters while the maximum allowed is 2048`,
  )
  expect(parseRule(long, { lengthMax: 10_000 }).ok).toBe(true)
  const messages = messagesOf("OR ".repeat(1000), { lengthMax: 3000 })
  expect(messages).toHaveLength(100)
  expect(messages[99]).toBe(input("OR", 298, ". OR stands between two clauses"))
})

test("rules in right-to-left scripts are valid, with positions in the order of typing", () => {
  expect(parseRule("قطة OR (كلب -سمكة)").ok).toBe(true)
  expect(parseRule('חתול "כלב חם" #חיות').ok).toBe(true)
  expect(messagesOf("قطة and كلب")).toEqual([ambiguous.and(5)])
  expect(messagesOf("חתול\u200f כלב")).toEqual([character("\\u200F", 5)])
})

test("at most 100 problems are reported", () => {
  const parsed = parseRule("' ".repeat(1000))
  expect(parsed.ok ? 0 : parsed.problems.length).toBe(100)
})

test("groups nested deeper than 200 are rejected with one problem", () => {
  const deep = (depth: number) => parseRule("(".repeat(depth) + "cat" + ")".repeat(depth), { lengthMax: 50_000 })
  expect(deep(200).ok).toBe(true)
  const parsed = deep(10_000)
  expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.message)).toEqual([
    input("(", 201, ". Groups may be nested 200 deep"),
  ])
})

test.each(["from:a -b", "(from:a)", '"x"from:a', "from:@a_1 to:12 -retweets_of:abcdefghijklmnopqrst", "(@a OR @12)"])(
  "%s names users of X in every dialect, and means the same",
  (text) => {
    const parsed = parseRule(text)
    expect(parsed.ok).toBe(true)
    expect(parseRule(text, { strict: true })).toEqual(parsed)
  },
)

test("the strict dialect rejects negated groups, and accepts other rules of operators that X has", () => {
  const parsed = parseRule("cat -(dog) --(cow OR fox)", { strict: true })
  expect(parsed.ok ? [] : parsed.problems.map(({ position, part }) => ({ position, part }))).toEqual([
    { position: 5, part: "-(" },
    { position: 12, part: "--(" },
  ])
  expect(parseRule("cat -(dog)").ok).toBe(true)
  expect(parseRule("cat -dog (cow OR fox)", { strict: true }).ok).toBe(true)
})

test.each(["cat is:\u202E", "cat has:\u001B[31m", "-sample:\u2066 cat", '-embedding:"a\nb" cat', "http://a\u202Eb"])(
  "no message contains an invisible character: %j",
  (rule) => {
    const messages = messagesOf(rule, { embeddings: true })
    expect(messages).not.toEqual([])
    expect(messages.join(" ")).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  },
)
