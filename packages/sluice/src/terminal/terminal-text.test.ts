import { expect, test } from "vitest"
import { table } from "./table.ts"
import { jsonText, terminalText, textWidth, visibleText } from "./terminal-text.ts"

const shown: readonly (readonly [what: string, text: string, visible: string])[] = [
  ["plain text", "Good morning", "Good morning"],
  ["nothing", "", ""],
  ["a colour", "\u001B[31mred\u001B[0m", "␛[31mred␛[0m"],
  ["a cleared screen", "\u001B[2J\u001B[H", "␛[2J␛[H"],
  ["a title of the window", "\u001B]0;owned\u0007", "␛]0;owned␇"],
  ["a link that says something else", "\u001B]8;;https://evil.example\u001B\\x", "␛]8;;https://evil.example␛\\x"],
  ["the clipboard", "\u001B]52;c;ZXZpbA==\u0007", "␛]52;c;ZXZpbA==␇"],
  ["an eight-bit control sequence", "\u009B31mred", "<U+009B>31mred"],
  ["an eight-bit command string", "\u0090q\u009C", "<U+0090>q<U+009C>"],
  ["a backspace over a word", "safe\b\b\b\bevil", "safe␈␈␈␈evil"],
  ["a carriage return over a line", "safe\revil", "safe⏎evil"],
  ["line feeds", "one\ntwo\n\nthree", "one⏎two⏎⏎three"],
  ["line ends of Windows", "one\r\ntwo", "one⏎two"],
  ["line and paragraph separators", "one\u2028two\u2029three", "one⏎two⏎three"],
  ["the next line control", "one\u0085two", "one⏎two"],
  ["form feed and vertical tab", "one\ftwo\vthree", "one␌two␋three"],
  ["a tab", "one\ttwo", "one two"],
  ["NUL", "a\0b", "a␀b"],
  ["delete", "a\u007Fb", "a␡b"],
  ["shift out, to another character set", "\u000Eabc\u000F", "␎abc␏"],
  ["a bidi override", "file\u202Egpj.exe", "file<U+202E>gpj.exe"],
  ["bidi isolates", "a\u2067b\u2069c", "a<U+2067>b<U+2069>c"],
  ["bidi marks", "a\u200Eb\u200Fc\u061Cd", "a<U+200E>b<U+200F>c<U+061C>d"],
  ["zero width space", "pass\u200Bword", "pass<U+200B>word"],
  ["byte order mark", "\uFEFFabc", "<U+FEFF>abc"],
  ["soft hyphen", "sub\u00ADway", "sub<U+00AD>way"],
  ["word joiner", "a\u2060b", "a<U+2060>b"],
  ["a filler that looks like nothing", "a\u3164b", "a<U+3164>b"],
  ["hidden text in tags", "hi\u{E0041}\u{E0042}", "hi<U+E0041><U+E0042>"],
  ["hidden bytes in variation selectors", `a${"\u{E0101}".repeat(40)}`, `a${"\u{E0101}".repeat(4)}…`],
  ["a variant of a Japanese character", "葛\u{E0100}飾", "葛\u{E0100}飾"],
  ["annotations between the lines", "a\uFFF9b\uFFFBc", "a<U+FFF9>b<U+FFFB>c"],
  ["a noncharacter", "a\uFFFEb", "a<U+FFFE>b"],
  ["half a surrogate pair", "a\uD83Db", "a\uFFFDb"],
  ["the other half", "a\uDE00b", "a\uFFFDb"],
  ["a pile of marks", `z${"\u0300".repeat(40)}`, `z${"\u0300".repeat(4)}…`],
  ["a family, joined", "👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"],
  [
    "the flag of Scotland",
    "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
    "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
  ],
  ["Persian with its joiner", "می‌خواهم", "می‌خواهم"],
  ["Hebrew with its points", "שָׁלוֹם", "שָׁלוֹם"],
  ["Hindi", "क्षत्रिय", "क्षत्रिय"],
  ["markup, which a terminal does not know", "<script>alert(1)</script>", "<script>alert(1)</script>"],
]

test.each(shown)("%s is shown, not sent", (_, text, visible) => {
  expect(visibleText(text)).toBe(visible)
  expect(terminalText(text, 200)).toBe(visible)
})

test.each(shown)("%s is spelt out in JSON, which stays the same value", (_, text) => {
  const json = jsonText(JSON.stringify({ text }))
  expect(JSON.parse(json)).toEqual({ text: JSON.parse(JSON.stringify(text)) })
  // Piles of marks aside, which are only in the way.
  if (!/\p{Mn}{5}/u.test(text)) expect(visibleText(json)).toBe(json)
})

test("JSON escapes both halves of a pair, and keeps emoji, scripts and flags as they are", () => {
  expect(jsonText('"a\u009B31m\u202Eb\u007F"')).toBe(String.raw`"a\u009b31m\u202eb\u007f"`)
  expect(jsonText('"\u{E0041}"')).toBe(String.raw`"\udb40\udc41"`)
  const kept = '"👩‍👩‍👧‍👦 می‌خواهم 🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}"'
  expect(jsonText(kept)).toBe(kept)
})

const cut: readonly (readonly [what: string, text: string, columns: number, expected: string])[] = [
  ["what fits stays", "abcde", 5, "abcde"],
  ["what does not ends in an ellipsis", "abcdef", 5, "abcd…"],
  ["wide characters count twice", "日本語の投稿", 7, "日本語…"],
  ["an emoji is not halved", "ab👩‍👩‍👧‍👦cd", 4, "ab…"],
  ["marks take no room", "e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"],
  ["an escape counts as what it shows", "\u001B[31mred", 4, "␛[3…"],
]

test.each(cut)("%s", (_, text, columns, expected) => {
  expect(terminalText(text, columns)).toBe(expected)
})

test.each([
  ["one character with a million marks", `a${"\u0301".repeat(1_000_000)}`],
  ["a million joined emoji", "👩\u200D".repeat(500_000)],
  ["a megabyte without a space", "x".repeat(1_000_000)],
  ["a megabyte of escapes", "\u001B[31m".repeat(200_000)],
])("%s is cut to a line", (_, text) => {
  const line = terminalText(text, 80)
  expect(textWidth(line)).toBeLessThanOrEqual(80)
  expect(line.length).toBeLessThan(3000)
  expect(line).toMatch(/…/)
})

test("a table without an end to its columns cuts nothing", () => {
  const [tag, rule] = ["t".repeat(60), "cat OR ".repeat(300)]
  expect(table(["ID", "TAG", "RULE"], [["1", tag, rule]], Number.POSITIVE_INFINITY)).toEqual([
    `ID  TAG${" ".repeat(57)}  RULE`,
    `1   ${tag}  ${rule.trimEnd()}`,
  ])
})

test("a table holds its columns whatever its cells hold", () => {
  const lines = table(
    ["ID", "TAG", "RULE"],
    [
      ["1", "a\nb", "x".repeat(500)],
      ["22", "日本", "\u001B[2Jcat"],
    ],
    60,
  )
  expect(lines).toEqual(["ID  TAG   RULE", `1   a⏎b   ${"x".repeat(49)}…`, "22  日本  ␛[2Jcat"])
})
