/**
 * The length of a text as X counts it: Latin letters and most punctuation count one, all other characters and each emoji two,
 * each link 23. Source: twitter-text, configuration v3.
 */
import { linksInText } from "./links-in-text.ts"

/** Characters that count one: up to Georgian letters, and spaces, dashes and quotation marks. */
const light = /[\0-\u10FF\u2000-\u200D\u2010-\u201F\u2032-\u2037]/g
const emoji = /\p{RGI_Emoji}/gv
const linkWeight = 23

/** The weighted length of a text, in time linear in it. */
export function textWeight(text: string): number {
  const normal = text.normalize("NFC")
  let [weight, from] = [0, 0]
  for (const { start, end } of linksInText(normal)) {
    weight += weightOf(normal.slice(from, start)) + linkWeight
    from = end
  }
  return weight + weightOf(normal.slice(from))
}

function weightOf(text: string): number {
  const emojis = text.match(emoji)?.length ?? 0
  const rest = emojis === 0 ? text : text.replaceAll(emoji, "")
  const lights = rest.match(light)?.length ?? 0
  return 2 * emojis + 2 * Array.from(rest).length - lights
}
