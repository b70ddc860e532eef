/**
 * Language codes of `lang:`.
 *
 * X's list, its codes for posts without words (`und`, `zxx`, `qme` …), and the rest of ISO 639-1, because posts from
 * other sources carry codes that X never assigns. Source: docs.x.com, "Operators".
 */

import { fold } from "../text/fold.ts"
import { nearest } from "./near-miss.ts"

const codes = new Set(
  `aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
  eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik in io is it iu iw ja
  jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne
  ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su
  sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
  ckb hi-latn zh-cn zh-tw und art zxx qam qct qht qme qst`.split(/\s+/),
)

const oldNames: ReadonlyMap<string, string> = new Map([
  ["he", "iw"],
  ["id", "in"],
])

/** Country codes and names that are used by mistake. */
const mistakes: Record<string, string> = {
  jp: "ja",
  kp: "ko",
  cn: "zh-CN",
  cz: "cs",
  gr: "el",
  ua: "uk",
  dk: "da",
  us: "en",
  gb: "en",
  english: "en",
  spanish: "es",
  french: "fr",
  german: "de",
  japanese: "ja",
  korean: "ko",
  chinese: "zh",
  arabic: "ar",
  portuguese: "pt",
  russian: "ru",
  italian: "it",
}

/** True if `lang:` accepts the code, in upper or lower case. */
export function isLanguage(code: string): boolean {
  return codes.has(fold(code))
}

/** The form in which codes are compared: lower case, with X's older codes (`iw` for `he`, `in` for `id`). */
export function languageKey(code: string): string {
  const key = fold(code)
  return oldNames.get(key) ?? key
}

/** The code that was probably meant by an unknown one; undefined if there is no suggestion. */
export function nearestLanguage(code: string): string | undefined {
  const key = fold(code)
  if (Object.hasOwn(mistakes, key)) return mistakes[key]
  const primary = key.split(/[-_]/)[0] ?? ""
  if (primary !== key && codes.has(primary)) return primary
  return key.length === 3 && codes.has(key.slice(0, 2))
    ? key.slice(0, 2)
    : key.length > 3
      ? nearest(key, codes)
      : undefined
}
