/** The parts of a page that search finds. */

/** A heading, with the text up to the next one. */
export interface Section {
  readonly anchor: string
  readonly heading: string
  readonly text: string
}

/** The sections of a page that `renderDocument` made, in their order. Text before the first heading is in none. */
export function sectionsOf(html: string): readonly Section[] {
  const headings = [...html.matchAll(/<h[1-6] id="([^"]*)">(.*?)<\/h[1-6]>\n/g)]
  return headings.map(({ 0: whole, 1: anchor = "", 2: heading = "", index }, at) => ({
    anchor,
    heading: textOf(heading),
    text: textOf(html.slice(index + whole.length, headings[at + 1]?.index)),
  }))
}

const characters: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" }

/** The text of HTML. Elements within a line leave no space: `<code>a</code>.` is "a.". */
function textOf(html: string): string {
  return html
    .replaceAll(/<!--.*?-->/gs, "")
    .replaceAll(/<\/?(?:a|b|code|del|em|i|strong|sub|sup)\b[^>]*>/g, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&(amp|lt|gt|quot|#39);/g, (mark, name: string) => characters[name] ?? mark)
    .replaceAll(/\s+/g, " ")
    .trim()
}
