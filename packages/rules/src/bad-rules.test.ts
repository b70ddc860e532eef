import { expect, test } from "vitest"
import { parseRule } from "./parse-rule.ts"

/*
 * Refused rules with every text they are refused with. X's own wordings are spelled here once
 * each, from live answers; the program builds them elsewhere.
 */

type BadRule = readonly [rule: string, ...messages: string[]]

const negation = (at: number) => `Rules must contain a non-negation term (at position ${at})`
const stopword = (at: number) =>
  `Rules must contain at least one positive, non-stopword clause (at position ${at})`
const standalone = (at: number) => `is/has/lang cannot be used as a standalone operator (at position ${at})`
const unavailable = (operator: string, at: number) =>
  `Reference to invalid operator '${operator}'. Operator is not available in current product or product packaging. Please refer to complete available operator list at http://t.co/operators. (at position ${at})`
const character = (one: string, at: number, rest = "") =>
  `no viable alternative at character '${one}' (at position ${at})${rest}`
const input = (text: string, at: number, rest: string) =>
  `no viable alternative at input '${text}' (at position ${at})${rest}`
const ambiguous = {
  and: (at: number) =>
    `Ambiguous use of and as a keyword. Use a space to logically join two clauses, or "and" to find occurrences of and in text (at position ${at})`,
  or: (at: number) =>
    `Ambiguous use of or as a keyword. Use OR to logically join two clauses, or "or" to find occurrences of or in text (at position ${at})`,
}

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
    [
      "OR OR",
      input("OR", 1, ". OR stands between two clauses"),
      input("OR", 4, ". OR stands between two clauses"),
    ],
  ],
  parentheses: [
    ["()", input("(", 1, ". The group is empty")],
    ["cat ()", input("(", 5, ". The group is empty")],
    ["( )", input("(", 1, ". The group is empty")],
    ["(cat", input("(", 1, ". The parenthesis is never closed")],
    ["cat)", input(")", 4, ". No parenthesis is open here")],
    ["((cat)", input("(", 1, ". The parenthesis is never closed")],
    ["(cat))", input(")", 6, ". No parenthesis is open here")],
    [
      ")cat(",
      input(")", 1, ". No parenthesis is open here"),
      input("(", 5, ". The parenthesis is never closed"),
    ],
    ["-()", input("(", 2, ". The group is empty")],
    [
      "cat (dog OR ()",
      input("(", 5, ". The parenthesis is never closed"),
      input("(", 13, ". The group is empty"),
    ],
    ["(", input("(", 1, ". The parenthesis is never closed")],
  ],
  brackets: [
    ["[cat]", input("[", 1, "."), input("]", 5, ".")],
    ["cat [dog", input("[", 5, ".")],
    ["cat dog]", input("]", 8, ".")],
    ["[(cat OR dog) (#cow OR #fox)]", input("[", 1, "."), input("]", 29, ".")],
    [
      "cat point_radius:[1 2 3km",
      input("point_radius:[1 2 3km", 5, ". The bracket is never closed"),
      unavailable("point_radius", 5),
    ],
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
    [":)", character(":", 1), input(")", 2, ". No parenthesis is open here")],
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
    [
      "cat<dog>",
      character("<", 4, '. Use "quotes" to find punctuation'),
      character(">", 8, '. Use "quotes" to find punctuation'),
    ],
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
    [
      '"\udfff"',
      input('"\\uDFFF"', 1, ". It has no letter, digit or emoji to find"),
      character("\\uDFFF", 2),
    ],
    ["🍕 \ud83c", character("\\uD83C", 3)],
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
    ["$", character("$", 1)],
    ["$5", character("$", 1)],
    ["$cat$", character("$", 5, ". A cashtag ends before it")],
    ["$BRK-B", character("-", 5, ". A cashtag ends before it")],
    ["#!", character("#", 1)],
    ["@-cat", character("@", 1)],
  ],
  "operators nobody knows": [
    [
      "h:m",
      "Reference to invalid operator 'h' (at position 1).",
      "Reference to invalid field 'h' (at position 1).",
    ],
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
      "cat since:2025-08-01",
      "Reference to invalid operator 'since' (at position 5).",
      "Reference to invalid field 'since' (at position 5).",
    ],
    [
      "cat filter:media",
      "Reference to invalid operator 'filter' (at position 5).",
      "Reference to invalid field 'filter' (at position 5).",
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
    ["cat is:polls", "Reference to invalid operator 'is:polls'. (at position 5)"],
    ["is:polls", "Reference to invalid operator 'is:polls'. (at position 1)", standalone(1)],
    [
      "cat has:image",
      "Reference to invalid operator 'has:image'. (at position 5). Did you mean 'has:images'?",
    ],
    [
      "cat has:hashtag",
      "Reference to invalid operator 'has:hashtag'. (at position 5). Did you mean 'has:hashtags'?",
    ],
    ["cat has:link", "Reference to invalid operator 'has:link'. (at position 5). Did you mean 'has:links'?"],
    [
      "cat has:mention",
      "Reference to invalid operator 'has:mention'. (at position 5). Did you mean 'has:mentions'?",
    ],
    [
      "cat has:media.",
      "Reference to invalid operator 'has:media.'. (at position 5). Did you mean 'has:media'?",
    ],
    [
      "cat is:retweeted",
      "Reference to invalid operator 'is:retweeted'. (at position 5). Did you mean 'is:retweet'?",
    ],
    ["cat is:rt", "Reference to invalid operator 'is:rt'. (at position 5)"],
    ["cat is:replies", "Reference to invalid operator 'is:replies'. (at position 5)"],
    ["cat is:quoted", "Reference to invalid operator 'is:quoted'. (at position 5). Did you mean 'is:quote'?"],
    [
      "cat is:Verfied",
      "Reference to invalid operator 'is:Verfied'. (at position 5). Did you mean 'is:verified'?",
    ],
    ["cat has:pictures", "Reference to invalid operator 'has:pictures'. (at position 5)"],
  ],
  "languages nobody knows": [
    ["cat lang:xx", "Reference to invalid operator 'lang:xx'. (at position 5)"],
    ["cat lang:jp", "Reference to invalid operator 'lang:jp'. (at position 5). Did you mean 'lang:ja'?"],
    ["cat lang:eng", "Reference to invalid operator 'lang:eng'. (at position 5). Did you mean 'lang:en'?"],
    [
      "cat lang:english",
      "Reference to invalid operator 'lang:english'. (at position 5). Did you mean 'lang:en'?",
    ],
    [
      "cat lang:en-US",
      "Reference to invalid operator 'lang:en-US'. (at position 5). Did you mean 'lang:en'?",
    ],
    [
      "cat lang:en_GB",
      "Reference to invalid operator 'lang:en_GB'. (at position 5). Did you mean 'lang:en'?",
    ],
    [
      "cat lang:zh-HK",
      "Reference to invalid operator 'lang:zh-HK'. (at position 5). Did you mean 'lang:zh'?",
    ],
    ["cat lang:cz", "Reference to invalid operator 'lang:cz'. (at position 5). Did you mean 'lang:cs'?"],
    ["cat lang:e", "Reference to invalid operator 'lang:e'. (at position 5)"],
    ["cat lang:*", "Reference to invalid operator 'lang:*'. (at position 5)"],
    ["lang:xx", "Reference to invalid operator 'lang:xx'. (at position 1)", standalone(1)],
    ["cat lang:qqq", "Reference to invalid operator 'lang:qqq'. (at position 5)"],
    ["cat -lang:kp", "Reference to invalid operator 'lang:kp'. (at position 6). Did you mean 'lang:ko'?"],
    ['cat lang:"x y"', "Reference to invalid operator 'lang:\"x y\"'. (at position 5)"],
  ],
  "operators not to be had": [
    ["has:geo", unavailable("has:geo", 1), standalone(1)],
    ["cat has:geo", unavailable("has:geo", 5)],
    [
      "has:geo sample:10",
      unavailable("has:geo", 1),
      unavailable("sample", 9),
      "has/is/lang/sample/source cannot be used as a standalone operator (at position 9)",
    ],
    [
      "sample:10",
      unavailable("sample", 1),
      "has/is/lang/sample/source cannot be used as a standalone operator (at position 1)",
    ],
    ["cat sample:10", unavailable("sample", 5)],
    ["cat -is:nullcast", unavailable("is:nullcast", 6)],
    ["-is:nullcast", negation(1), stopword(1), unavailable("is:nullcast", 2)],
    ["has:videos cat", unavailable("has:videos", 1)],
    [
      "cat has:symbols",
      "Reference to invalid operator 'has:symbols'. Operator is not available in current product or product packaging. Please refer to complete available operator list at http://t.co/operators. (at position 5). Did you mean 'has:cashtags'?",
    ],
    ["cat has:video_link", unavailable("has:video_link", 5)],
    ["place:amsterdam", unavailable("place", 1)],
    ['place:"New York"', unavailable("place", 1)],
    [
      "place_country:US OR place_country:MX",
      unavailable("place_country", 1),
      unavailable("place_country", 21),
    ],
    ["point_radius:[2.355128 48.861118 16km]", unavailable("point_radius", 1)],
    ["happy bounding_box:[-0.22 51.44 0.07 51.57]", unavailable("bounding_box", 7)],
    ["context:86.*", unavailable("context", 1)],
    ['entity:"Michael Jordan"', unavailable("entity", 1)],
    ["bio:phd", unavailable("bio", 1)],
    ['bio_name:"data scientist"', unavailable("bio_name", 1)],
    ["bio_location:nyc", unavailable("bio_location", 1)],
    ["followers_count:1000..10000", unavailable("followers_count", 1)],
    ["min_followers:100 cat", unavailable("min_followers", 1)],
    ["min_likes:10 cat", unavailable("min_likes", 1)],
    ["tweets_count:1..2", unavailable("tweets_count", 1)],
    ["url_title:snow", unavailable("url_title", 1)],
    ["url_contains:photos", unavailable("url_contains", 1)],
    ["url_description:snow", unavailable("url_description", 1)],
    ["in_reply_to_tweet_id:12", unavailable("in_reply_to_tweet_id", 1)],
    ["in_reply_to_status_id:12", unavailable("in_reply_to_status_id", 1)],
    ["retweets_of_tweet_id:12", unavailable("retweets_of_tweet_id", 1)],
    ["cat source:web", unavailable("source", 5)],
    ['embedding:"cats" cat', unavailable("embedding", 1)],
    ["cat embedding_threshold:0.4", unavailable("embedding_threshold", 5)],
    ["from_affiliate_of:x", unavailable("from_affiliate_of", 1)],
    ['"cat dog"~5', unavailable("~", 10)],
    ['cat "dog cow"~', unavailable("~", 14)],
    ["contains:hello", unavailable("contains", 1)],
    ["Place:x", unavailable("Place", 1)],
  ],
  "values of the wrong shape": [
    ["from:", input("from:", 1, ". A value follows the colon, without a space")],
    ["cat from:", input("from:", 5, ". A value follows the colon, without a space")],
    ["from: nasa", input("from:", 1, ". A value follows the colon, without a space")],
    ["to:@", input("@", 4, ". A username or a numeric id is expected")],
    ['from:"two words"', input('"two words"', 6, ". A username or a numeric id is expected")],
    ["from:a/b", input("a/b", 6, ". A username or a numeric id is expected")],
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
      "Reference to invalid operator 'has:image'. (at position 11). Did you mean 'has:images'?",
      "Reference to invalid operator 'lang:xx'. (at position 21)",
    ],
    [
      "'cat' AND dog or (",
      character("'", 1, ". Did you mean '\"'?"),
      ambiguous.and(7),
      ambiguous.or(15),
      input("(", 18, ". The parenthesis is never closed"),
    ],
    [
      "cat and #1 ) $",
      ambiguous.and(5),
      input("#1", 9, ". A hashtag has a letter"),
      input(")", 12, ". No parenthesis is open here"),
      character("$", 14),
    ],
    [
      "is:polls OR -cat OR the",
      "Reference to invalid operator 'is:polls'. (at position 1)",
      standalone(1),
      negation(13),
      stopword(21),
    ],
    [
      "(( ) OR 'x",
      input("(", 1, ". The parenthesis is never closed"),
      input("(", 2, ". The group is empty"),
      character("'", 9, ". Did you mean '\"'?"),
    ],
    [
      "from:: @@ ##",
      input(":", 6, ". A username or a numeric id is expected"),
      character("@", 8),
      character("#", 11),
    ],
  ],
  "far into the rule, in code points": [
    ["🍕🍕🍕 and 🍕", ambiguous.and(5)],
    [
      "👩\u200d👩\u200d👧\u200d👦 form:x",
      "Reference to invalid operator 'form' (at position 9). Did you mean 'from'?",
      "Reference to invalid field 'form' (at position 9).",
    ],
    ["𝒳𝒴 OR", input("OR", 4, ". OR stands between two clauses")],
    [
      "東京 (猫 OR",
      input("(", 4, ". The parenthesis is never closed"),
      input("OR", 7, ". OR stands between two clauses"),
    ],
    ["éa\u0301 [x", input("[", 5, ".")],
  ],
}

for (const [what, rules] of Object.entries(badRules)) {
  test.each(rules)(`${what}: %j is refused with X's texts and positions`, (rule, ...messages) => {
    const parsed = parseRule(rule)
    expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.message)).toEqual(messages)
  })
}

test("every problem quotes the part of the rule that stands at its position", () => {
  for (const [rule] of Object.values(badRules).flat()) {
    const parsed = parseRule(rule)
    for (const { part, position, message } of parsed.ok ? [] : parsed.problems) {
      expect(
        Array.from(rule)
          .slice(position - 1)
          .join("")
          .startsWith(part),
        `${rule}: ${message}`,
      ).toBe(true)
      expect(message).toContain(`(at position ${position})`)
    }
  }
})

test("a suggestion put in place of the part removes the problem", () => {
  for (const [rule] of Object.values(badRules).flat()) {
    const parsed = parseRule(rule)
    for (const { part, position, suggestion } of parsed.ok ? [] : parsed.problems) {
      if (suggestion === undefined || suggestion === '"' || suggestion === "(" || suggestion === ")") continue
      const points = Array.from(rule)
      points.splice(position - 1, Array.from(part).length, suggestion)
      const again = parseRule(points.join(""))
      const left = again.ok ? [] : again.problems.filter((problem) => problem.position === position)
      expect(
        left.filter((problem) => problem.suggestion !== undefined),
        points.join(""),
      ).toEqual([])
    }
  }
})

test("a rule over the maximum length is told its length in code points, and X's text", () => {
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

test("a rule over the maximum length is told its other problems too", () => {
  const parsed = parseRule("form:nasa cat", { lengthMax: 10 })
  expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.position)).toEqual([1, 1, 1])
})

test("a rule far over the maximum length is told that alone, with the rule cut short", () => {
  const parsed = parseRule("'".repeat(100_000))
  expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.part.length)).toEqual([4096])
})

test("at most 100 problems are told", () => {
  const parsed = parseRule("' ".repeat(1000))
  expect(parsed.ok ? 0 : parsed.problems.length).toBe(100)
})

test("groups nested deeper than 200 are refused, once", () => {
  const deep = (depth: number) =>
    parseRule("(".repeat(depth) + "cat" + ")".repeat(depth), { lengthMax: 50_000 })
  expect(deep(200).ok).toBe(true)
  const parsed = deep(10_000)
  expect(parsed.ok ? [] : parsed.problems.map((problem) => problem.message)).toEqual([
    input("(", 201, ". Groups may be nested 200 deep"),
  ])
})

test("strict refuses negated groups and nothing else that is accepted", () => {
  const parsed = parseRule("cat -(dog) --(cow OR fox)", { strict: true })
  expect(parsed.ok ? [] : parsed.problems.map(({ position, part }) => ({ position, part }))).toEqual([
    { position: 5, part: "-(" },
    { position: 12, part: "--(" },
  ])
  expect(parseRule("cat -(dog)").ok).toBe(true)
  expect(parseRule("cat -dog (cow OR fox)", { strict: true }).ok).toBe(true)
})
