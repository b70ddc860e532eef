/** Country codes of `place_country:`. Source: ISO 3166-1 alpha-2, and XK for Kosovo, which is in general use. */

import { fold } from "../text/fold.ts"

const codes = new Set(
  `ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw by bz ca cc
  cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et fi fj fk fm fo fr ga gb gd
  ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh
  ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw
  mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc
  sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug um us uy
  uz va vc ve vg vi vn vu wf ws xk ye yt za zm zw`.split(/\s+/),
)

/** Names and other codes that are used by mistake. */
const mistakes: Readonly<Record<string, string>> = {
  uk: "GB",
  en: "GB",
  usa: "US",
  gbr: "GB",
  deu: "DE",
  fra: "FR",
  jpn: "JP",
  germany: "DE",
  france: "FR",
  japan: "JP",
  spain: "ES",
  italy: "IT",
  brazil: "BR",
  canada: "CA",
  india: "IN",
  mexico: "MX",
}

/** True if the text is a country code, in upper or lower case. */
export function isCountry(code: string): boolean {
  return codes.has(fold(code))
}

/** The code that was probably meant; undefined if there is no suggestion. */
export function nearestCountry(code: string): string | undefined {
  const key = fold(code)
  return Object.hasOwn(mistakes, key) ? mistakes[key] : undefined
}
