import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { Draw } from "../testing/draw.testing.ts"
import { asBytes, changedLine, isSupported, lineOf, walkFault, writtenLines } from "../testing/walked-lines.testing.ts"

const encoded = (text: string): Uint8Array => new TextEncoder().encode(text)

/** An envelope with this post and a user whom it names. */
const withPost = (post: string): Uint8Array =>
  encoded(`{"data":{"id":"1","author_id":"12",${post}},"includes":{"users":[{"id":"12","username":"Ann"}]}}`)

describe("a walked post is the parsed one", () => {
  test.each(writtenLines.map((line, index) => [index, line] as const))("of the written post %i", (_, line) => {
    expect(walkFault(lineOf(line))).toBeUndefined()
    expect(isSupported(lineOf(line))).toBe(true)
  })

  test.each([
    ["white space wherever JSON has it", '\r "text" :\t"cat" , "lang"\n:"en" '],
    [
      "escapes of all kinds in a text",
      '"text":"\\u0063at \\"dog\\" a\\/b \\n\\t\\b\\f\\r \\ud83d\\udc4d\\ud83c\\udffd \\ud83d"',
    ],
    ["letters that fold to several", '"text":"STRASSE straße İstanbul ΟΔΟΣ ﬀ e\u0301 \u2126"'],
    ["links in a text that lists nothing", '"text":"see h.com/~bob, https://t.co/a and #ÉTÉ @bob_1 $BTC"'],
    ["emoji of one and of several code points", '"text":"👍🏽👍 🇫🇷 👩‍💻 1️⃣ ©️ ❤️ 猫猫ケ 𝒞at"'],
    ["signs that X writes as escapes", '"text":"a&amp;b &lt;c&gt; &amp &lt"'],
    ["a name that no reader knows", '"text":"cat","new":{"a":[1,-0.5,1e3,true,false,null,[[]]],"b":{}}'],
    [
      "members of other types than X's",
      '"text":7,"entities":[],"lang":{},"source":null,"geo":[1],"referenced_tweets":{}',
    ],
    ["a point and no place", '"text":"cat","geo":{"coordinates":{"coordinates":[2.3551,-48.8611e0]}}'],
  ])("with %s", (_, post) => {
    expect(walkFault(withPost(post))).toBeUndefined()
    expect(isSupported(withPost(post))).toBe(true)
  })
})

test("a user who is replied to and included without a name has none, whatever a mention says", () => {
  const reply = '"text":"cat","in_reply_to_user_id":"5","entities":{"mentions":[{"username":"bob_1","id":"5"}]}'
  const line = encoded(`{"data":{"id":"1",${reply}},"includes":{"users":[{"id":"5"}]}}`)
  expect(walkFault(line)).toBeUndefined()
  expect(isSupported(line)).toBe(true)
})

test("the texts of links are compared without regard to case", () => {
  const urls = '[{"url":"https://t.co/A","expanded_url":"https://H.com/~BOB","display_url":"H.com/~B…"}]'
  expect(walkFault(withPost(`"text":"cat","entities":{"urls":${urls}}`))).toBeUndefined()
})

test.each([
  ["words", '"text":"' + "a ".repeat(300_000) + '"'],
  ["letters", '"text":"' + "猫".repeat(300_000) + '"'],
  ["keys", '"text":"","context_annotations":[' + '{"domain":{"id":"1"},"entity":{"id":"2"}},'.repeat(20_000) + "{}]"],
])("a post with more %s than have room is the parsed one", (_, post) => {
  expect(walkFault(withPost(post))).toBeUndefined()
})

describe("the walk leaves to the parser", () => {
  test.each([
    ["a name twice", '"text":"cat","text":"dog"'],
    ["a name twice with an object between", '"text":"cat","entities":{"text":"cow"},"text":"dog"'],
    ["an unknown name twice", '"text":"cat","new":1,"new":2'],
    ["an escape in a name", '"te\\u0078t":"cat"'],
    ["an escape in an id", '"text":"cat","in_reply_to_user_id":"\\u0031"'],
    ["a number that may be infinite", '"text":"cat","n":1e999'],
    ["deep nesting", `"text":"cat","n":${"[".repeat(64)}${"]".repeat(64)}`],
    ["a control character in a string", '"text":"c\u0001t"'],
    ["what ends early", '"text":"cat","n":'],
    ["numbers that JSON does not have", '"text":"cat","n":01'],
    ["words that JSON does not have", '"text":"cat","n":nul'],
  ])("%s", (_, post) => {
    expect(isSupported(withPost(post))).toBe(false)
  })

  test.each([
    ["an overlong sequence", [0xc0, 0xa2]],
    ["half of a surrogate pair", [0xed, 0xa0, 0x80]],
    ["a code point beyond the last", [0xf4, 0x90, 0x80, 0x80]],
    ["a lone continuation", [0x80]],
    ["a sequence that ends early", [0xe2, 0x82]],
  ])("bytes that are no UTF-8: %s", (_, bytes) => {
    const [head = "", tail = ""] = asBytes('{"data":{"id":"1","text":"a!b"}}').split("!")
    expect(isSupported(lineOf(head + String.fromCharCode(...bytes) + tail))).toBe(false)
  })

  test("a line of more than a MiB, and takes the one after it", () => {
    expect(isSupported(withPost(`"text":"${"cat ".repeat(300_000)}"`))).toBe(false)
    expect(isSupported(withPost(`"text":"${"cat ".repeat(100_000)}"`))).toBe(true)
    expect(isSupported(withPost('"text":"cat"'))).toBe(true)
  })
})

test("for any bytes, a walked post equals the parsed one, or is left to the parser", () => {
  let taken = 0
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 6 }), (seed, changes) => {
      const draw = new Draw(seed)
      let line = draw.oneOf(writtenLines)
      for (let change = 0; change < changes; change++) line = changedLine(line, draw.oneOf(writtenLines), draw)
      if (isSupported(lineOf(line))) taken++
      expect(walkFault(lineOf(line)), line).toBeUndefined()
    }),
    { numRuns: 1000 },
  )
  // Otherwise nearly nothing would have been compared.
  expect(taken).toBeGreaterThan(100)
})
