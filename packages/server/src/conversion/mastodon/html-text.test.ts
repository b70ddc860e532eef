import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { linkedTextOf } from "./html-text.ts"

const textOf = (html: string): string => linkedTextOf(html).text

describe("text", () => {
  test.each([
    ["<p>one</p><p>two</p>", "one\n\ntwo"],
    ["<p>one<br>two<br />three<br/>four</p>", "one\ntwo\nthree\nfour"],
    ["one<br><br>two", "one\n\ntwo"],
    ["<p>one<br></p><p>two</p>", "one\n\ntwo"],
    ["<p></p><p>one</p><p></p>", "one"],
    ["<p> one  \n\t two </p>", "one two"],
    ["one <b> two</b> <i>three</i>", "one two three"],
    ["one&nbsp;two", "one\u00A0two"],
    ["<pre>a\n  b</pre>c", "a\n  b\n\nc"],
    ["<ul><li>one</li><li>two</li></ul>three", "one\ntwo\n\nthree"],
    ["<blockquote><p>one</p></blockquote><p>two</p>", "one\n\ntwo"],
    ["<h1>one</h1>two<div>three</div>four", "one\n\ntwo\nthree\nfour"],
    ["&amp;lt; &lt;b&gt; &quot;&#39;&#x1F408;&copy;", "&lt; <b> \"'🐈©"],
    ["&#x110000;&#xD800;&#0;", "\uFFFD\uFFFD\uFFFD"],
    ["&unknown; &amp &", "&unknown; & &"],
    ["a < b > c & d", "a < b > c & d"],
    ["a<!-- b -->c<!doctype html><![CDATA[d]]>", "ac"],
    ["a<script>b</script><style>c</style>d", "ad"],
    ["a<script>b", "a"],
    ["a</p></a></b>c", "a\n\nc"],
    ["", ""],
    ["<img src='x' alt='y'>", ""],
    ["👩‍👩‍👧<br>é", "👩‍👩‍👧\né"],
  ])("of %j is %j", (html, text) => {
    expect(textOf(html)).toBe(text)
  })

  test("has what stands before it in a paragraph of its own", () => {
    expect(linkedTextOf("<p>cat</p>", { before: "spoiler" }).text).toBe("spoiler\n\ncat")
    expect(linkedTextOf("", { before: "spoiler" }).text).toBe("spoiler")
  })

  test("leaves out elements with a hidden class, whatever is in them", () => {
    const html = '<p class="a quote-inline">RE: <a href="x">y</a><p>z</p></p><p>cat</p><span class="b">dog</span>'
    expect(linkedTextOf(html, { hiddenClasses: ["quote-inline", "b"] })).toEqual({ text: "cat", links: [] })
  })
})

describe("links", () => {
  test("stand in full, with what readers see of them", () => {
    const html =
      '<p>🐈 see <a href="https://www.example.com/a/long/path?x=1&amp;y=2" class="b  c"><span class="invisible">https://www.</span>' +
      '<span class="ellipsis">example.com/a/long/</span><span class="invisible">path?x=1&amp;y=2</span></a>.</p>'
    const href = "https://www.example.com/a/long/path?x=1&y=2"
    expect(linkedTextOf(html)).toEqual({
      text: `🐈 see ${href}.`,
      links: [{ start: 6, end: 6 + href.length, href, classes: ["b", "c"], text: href, shown: "example.com/a/long/…" }],
    })
  })

  test("keep their white space", () => {
    const { text, links } = linkedTextOf("a<p><a href=b>c <i>d</i><br>e</a></p>")
    expect(text).toBe("a\n\nc d\ne")
    expect(links).toMatchObject([{ start: 3, end: 8, text: "c d\ne", shown: "c d\ne" }])
  })

  test.each([
    ["without an address", "<a>b</a>"],
    ["with an empty address", "<a href=''>b</a>"],
    ["without text", "<a href='x'><img></a>b"],
    ["that is hidden", "<script><a href='x'>b</a></script>b"],
  ])("%s are none", (_what, html) => {
    expect(linkedTextOf(html)).toEqual({ text: "b", links: [] })
  })

  test("end where the next one begins", () => {
    expect(linkedTextOf("<a href=x>b<a href=y>c").links).toMatchObject([
      { start: 0, end: 1, href: "x" },
      { start: 1, end: 2, href: "y" },
    ])
  })
})

test("100,000 nested elements take no stack", () => {
  for (const name of ["p", "span", "a href=x", "div class=hidden", "pre", "script", "!--"]) {
    const html = `${`<${name}>`.repeat(100_000)}cat`
    expect(linkedTextOf(html, { hiddenClasses: ["hidden"] }).text.length).toBeLessThanOrEqual("cat".length)
  }
})

test("every link's place holds its text, whatever the HTML", () => {
  const piece = fc.constantFrom(
    "<p>",
    "</p>",
    "<br>",
    "<a href='x'>",
    "</a>",
    "<span class='invisible'>",
    "<span class=ellipsis>",
    "</span>",
    "<pre>",
    "</pre>",
    "<script>",
    "</script>",
    "<",
    ">",
    "&amp;",
    "&#x110000;",
    "&",
    " ",
    "\n",
    "a",
    "ü",
    "🐈",
    "\0",
    "<!--",
    "-->",
    "<li>",
    '<a href="',
    '"',
    "'",
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const { text, links } = linkedTextOf(pieces.join(""), { before: "🐈" })
      const points = Array.from(text)
      expect(text.isWellFormed()).toBe(true)
      let end = 0
      for (const link of links) {
        expect(link.start).toBeGreaterThanOrEqual(end)
        expect(points.slice(link.start, link.end).join("")).toBe(link.text)
        ;({ end } = link)
      }
    }),
    { numRuns: 500 },
  )
})
