/**
 * Hashtags, mentions, cashtags and links in bare text, as X finds them.
 *
 *     text ──► links ─────────────────────────────┐
 *          ──► hashtags, mentions, cashtags ──────┴─► by position, no two overlapping ──► code points
 *
 * The rule is that of twitter-text, whose conformance cases `text-conformance.test.ts` runs. Names are
 * regular expressions in which nothing repeats within a repetition. Links are read by hand, since
 * twitter-text's expression for them goes back over the text: it tries every beginning of a host with
 * every end. Here each stretch that could be a host is read once, left to right, label by label, and
 * what is known so far says whether a host may begin; so the time is linear in the text.
 *
 * A host without `http://` is made of ASCII letters, accented Latin ones, digits and dashes, and is cut
 * out of what surrounds it: `見てt.co/aください` holds `t.co/a`. After `http://` it may hold any letter.
 */

import { topLevelDomains } from "./top-level-domains.ts"

/** A stretch of a text: code points, end exclusive, the sign before a name included. */
export type TextEntity = {
  /** A name without its `#`, `@` or `$`; a link as it is written, with or without protocol. */
  readonly value: string
  readonly start: number
  readonly end: number
}

/** What a text holds of each kind, in the order of the text; no two of any kinds overlap. */
export type TextEntities = {
  readonly hashtags: readonly TextEntity[]
  /** Of a list (`@ann/friends`) its owner. Names end after 20 characters, as X's do. */
  readonly mentions: readonly TextEntity[]
  readonly cashtags: readonly TextEntity[]
  readonly links: readonly TextEntity[]
}

const nothing: TextEntities = { hashtags: [], mentions: [], cashtags: [], links: [] }

/**
 * Source: twitter-text 3 and its conformance cases. The time is linear in the text.
 * HTML escapes are not undone: `&#39;` is no hashtag because of its `&`.
 */
export function entitiesInText(text: string): TextEntities {
  const found: Found[] = []
  if (text.includes(".")) findLinks(text, found)
  if (text.includes("#") || text.includes("＃")) findNames(text, "hashtags", found)
  if (text.includes("@") || text.includes("＠")) findNames(text, "mentions", found)
  if (text.includes("$")) findNames(text, "cashtags", found)
  return found.length === 0 ? nothing : inCodePoints(text, found)
}

/** Positions in UTF-16 units. */
type Found = {
  readonly kind: keyof TextEntities
  readonly value: string
  readonly start: number
  readonly end: number
}

/** Of two that overlap the earlier stays: `#answer` goes with the link `a.com/#answer`. */
function inCodePoints(text: string, found: readonly Found[]): TextEntities {
  const entities = {
    hashtags: [] as TextEntity[],
    mentions: [] as TextEntity[],
    cashtags: [] as TextEntity[],
    links: [] as TextEntity[],
  }
  let index = 0
  let point = 0
  for (const { kind, value, start, end } of found.toSorted((one, other) => one.start - other.start)) {
    if (start < index) continue
    point += pointsIn(text, index, start)
    const endPoint = point + pointsIn(text, start, end)
    entities[kind].push({ value, start: point, end: endPoint })
    index = end
    point = endPoint
  }
  return entities
}

function pointsIn(text: string, start: number, end: number): number {
  let count = 0
  for (let index = start; index < end; count++) index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1
  return count
}

/**
 * What may stand in a hashtag beside letters, marks, digits and `_`: joiners, the Cyrillic kavyka, Hebrew and
 * Tibetan punctuation within words, full-width and wave dash, Japanese sound and repetition marks, the Catalan dot.
 */
const inTags =
  "\\u200C\\u200D\\uA67E\\u05BE\\u05F3\\u05F4\\u0F0B\\u0F0C\\uFF5E\\u301C\\u309B\\u309C\\u30A0\\u30FB\\u3003\\u00B7"
const tagCharacter = `\\p{L}\\p{M}\\p{Nd}_${inTags}`
const accented =
  "\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u024F\\u0253\\u0254\\u0256\\u0257\\u0259\\u025B\\u0263\\u0268" +
  "\\u026F\\u0272\\u0289\\u028B\\u02BB\\u0300-\\u036F\\u1E00-\\u1EFF"
const directional = "\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069"

/**
 * How a name looks, its sign first because signs are rare in a text, and what may not follow it. The two are apart
 * because a name must not get shorter to make room: `#http://…` is not the hashtag `htt`.
 */
const names = {
  hashtags: {
    // A variation selector after an emoji is a mark, yet not part of a word. With one after it, `#` is an emoji.
    pattern: new RegExp(
      `[#＃](?<=(?:^|[\\uFE0E\\uFE0F]|[^&${tagCharacter}])[#＃])(?![\\uFE0F\\u20E3])([${tagCharacter}]+)`,
      "gu",
    ),
    needs: /[\p{L}\p{M}]/u,
    refusedBefore: /[#＃]|:\/\//y,
  },
  mentions: {
    // The slug of a list is read for what follows it: `@ann/friends@example.com` is no mention.
    pattern: /[@＠](?<=(?:^|[^\w!#$%&*@＠]|(?:^|[^\w+~.-])rt)[@＠])(\w{1,20})(?:\/[a-z][\w-]{0,24})?/gi,
    needs: /./,
    refusedBefore: new RegExp(`[@＠${accented}]|://`, "y"),
  },
  cashtags: {
    pattern: new RegExp(
      `\\$(?<=(?:^|[\\s\\u0085\\u180E${directional}])\\$)([a-z]{1,6}(?:[._][a-z]{1,2})?)(?=$|[\\s!-/:-@[-\`{-~])`,
      "gi",
    ),
    needs: /./,
    refusedBefore: /(?!)/y,
  },
} as const

function findNames(text: string, kind: keyof typeof names, found: Found[]): void {
  const { pattern, needs, refusedBefore } = names[kind]
  for (const match of text.matchAll(pattern)) {
    const [whole, value = ""] = match
    const end = match.index + whole.length
    refusedBefore.lastIndex = end
    if (!needs.test(value) || refusedBefore.test(text)) continue
    found.push({ kind, value, start: match.index, end: match.index + 1 + value.length })
  }
}

// What a character can be in a host. A host ends where something else begins.
const outside = 0
/** ASCII letter or digit, or accented Latin letter. */
const plain = 1
/** Any other letter, sign or half of one: in a host only after a protocol. */
const foreign = 2
const dash = 3
const underscore = 4
const dot = 5

// What a character can be after the host; bits, since it can be several.
const inPath = 1
const endsPath = 2
const inQuery = 4
const endsQuery = 8

const lettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
const hostRoles = new Uint8Array(128)
const tailRoles = new Uint8Array(128)
for (const character of lettersAndDigits) hostRoles[character.charCodeAt(0)] = plain
hostRoles[0x2d] = dash
hostRoles[0x5f] = underscore
hostRoles[0x2e] = dot
for (const [role, characters] of [
  [inPath, `${lettersAndDigits}!*';:=+,.$/%#[]-_~@|&`],
  [endsPath, `${lettersAndDigits}+-=_#/`],
  [inQuery, `${lettersAndDigits}!?*'@();:&=+$/%#[]-_.,~|`],
  [endsQuery, `${lettersAndDigits}-_&=#/`],
] as const) {
  for (const character of characters) {
    const code = character.charCodeAt(0)
    tailRoles[code] = (tailRoles[code] ?? 0) | role
  }
}

const isAccented = new RegExp(`[${accented}]`)
/** `＠` and `＃` stand before names and not within hosts. */
const isOutside = new RegExp(`[\\s\\u0085\\u180E＠＃\\uFFFE\\uFFFF${directional}]`)
const accentedMax = 0x1eff
const enDash = 0x2013

function hostRole(code: number): number {
  if (code < 0x80) return hostRoles[code] ?? outside
  const character = String.fromCharCode(code)
  if (code <= accentedMax && isAccented.test(character)) return plain
  return isOutside.test(character) ? outside : foreign
}

function tailRole(code: number): number {
  if (code < 0x80) return tailRoles[code] ?? 0
  if (code === enDash) return inPath
  const isLetter =
    (code >= 0x400 && code <= 0x4ff) || (code <= accentedMax && isAccented.test(String.fromCharCode(code)))
  return isLetter ? inPath | endsPath : 0
}

/** Goes from dot to dot, and reads the stretch of host characters around each. */
function findLinks(text: string, found: Found[]): void {
  // Everything before it is read: the end of a link or of a stretch.
  let read = 0
  let linkEnd = 0
  for (let at = text.indexOf("."); at >= 0; at = text.indexOf(".", read)) {
    let start = at
    while (start > read && hostRole(text.charCodeAt(start - 1)) !== outside) start--
    let end = at + 1
    while (end < text.length && hostRole(text.charCodeAt(end)) !== outside) end++
    read = end

    const protocol = protocolBefore(text, start)
    const hostEnd = protocol >= linkEnd ? endOfHost(text, start, end) : -1
    if (hostEnd >= 0) {
      read = linkEnd = addLink(text, { start: protocol, host: start, hostEnd }, found)
      continue
    }
    const hosts = bareHosts(text, { start, end, before: start === linkEnd ? "" : text.charAt(start - 1) })
    for (const host of hosts) {
      linkEnd = addLink(text, { start: host.start, host: host.start, hostEnd: host.end }, found)
      read = Math.max(read, linkEnd)
    }
  }
}

/** Where the `http://` or `https://` begins that ends here, or -1. */
function protocolBefore(text: string, index: number): number {
  if (!text.endsWith("://", index)) return -1
  const protocol = /https?:\/\/$/i.exec(text.slice(Math.max(0, index - 8), index))?.[0]
  if (protocol === undefined) return -1
  const start = index - protocol.length
  return start === 0 || !/[a-z0-9@＠$#＃]/i.test(text.charAt(start - 1)) ? start : -1
}

/** A label of a host: what stands between dots. */
type Label = {
  readonly start: number
  /** At the dot after it, or at the end of the stretch. */
  readonly end: number
  /** May be part of a host after a protocol. */
  readonly isSound: boolean
  readonly hasUnderscore: boolean
  readonly hasForeign: boolean
  /** From here on all is plain letters, digits and dashes, no dash first; `end` when the last character is not. */
  readonly plainStart: number
}

/** Source: RFC 1035, section 2.3.4. Ours: counted in UTF-16 units as written, not in Punycode. */
const labelLengthMax = 63

function labelAt(text: string, start: number, stretchEnd: number): Label {
  let end = start
  let plainStart = start
  let hasUnderscore = false
  let hasForeign = false
  let isAscii = true
  for (; end < stretchEnd; end++) {
    const role = hostRole(text.charCodeAt(end))
    if (role === dot) break
    if (role === underscore) hasUnderscore = true
    if (role === foreign) hasForeign = true
    if (text.charCodeAt(end) > 0x7f) isAscii = false
    if (role !== plain && (role !== dash || plainStart === end)) plainStart = end + 1
  }
  // Punycode is ASCII by its nature.
  const isBroken = !isAscii && /^xn--/i.test(text.slice(start, start + 4))
  const isSound =
    end > start &&
    end - start <= labelLengthMax &&
    !isJoint(text, start) &&
    !isJoint(text, end - 1) &&
    !isBroken
  if (isBroken || isJoint(text, end - 1) || end - plainStart > labelLengthMax) plainStart = end
  return { start, end, isSound, hasUnderscore, hasForeign, plainStart }
}

function isJoint(text: string, index: number): boolean {
  const code = text.charCodeAt(index)
  return code === 0x2d || code === 0x5f
}

/** The end of the longest host that begins here, or -1. An underscore may not stand in its last two labels. */
function endOfHost(text: string, start: number, stretchEnd: number): number {
  let best = -1
  let mayEnd = false
  for (let at = start; at < stretchEnd;) {
    if (mayEnd) best = Math.max(best, endOfTopLevelDomain(text, at, stretchEnd))
    const label = labelAt(text, at, stretchEnd)
    if (!label.isSound) break
    mayEnd = !label.hasUnderscore
    at = label.end + 1
  }
  return best
}

/** UTF-16 units. */
type Host = { readonly start: number; readonly end: number }

/** Characters that a host is made of, with the one before them: "" at the start of the text and after a link. */
type Stretch = { readonly start: number; readonly end: number; readonly before: string }

/**
 * The hosts without protocol in a stretch of host characters.
 *
 * A host ends at the last label that begins with a top-level domain, and may not be what is left of something else:
 * `bar.com` is no host in `@bar.com`, `/bar.com`, `..bar.com` and `-bar.com`.
 */
function bareHosts(text: string, { start, end: stretchEnd, before }: Stretch): readonly Host[] {
  const hosts: Host[] = []
  let mayBegin = !/[a-z0-9@＠$#＃_./-]/i.test(before)
  // A foreign letter ends the name that an `@` began, and the ASCII word of which the stretch is the rest.
  let mayBeginAfterForeign = mayBegin || !/[_./-]/.test(before)
  // The host that is being read: where it begins, or -1; where its last top-level domain ends, or -1.
  let host = -1
  let hostEnd = -1
  let mayEnd = false
  for (let at = start; at < stretchEnd;) {
    const label = labelAt(text, at, stretchEnd)
    at = label.end + 1
    if (host >= 0) {
      if (mayEnd) hostEnd = Math.max(hostEnd, endOfTopLevelDomain(text, label.start, stretchEnd))
      if (label.isSound && label.plainStart === label.start) {
        mayEnd = true
        continue
      }
      if (mayBegin && hostEnd >= 0) hosts.push({ start: host, end: hostEnd })
    }
    if (mayBeginAfterForeign && label.hasForeign) mayBegin = true
    if (isJoint(text, label.start)) mayBegin = false
    host = label.plainStart < label.end ? label.plainStart : -1
    hostEnd = -1
    mayEnd = !label.hasUnderscore
    if (label.end === label.start || isJoint(text, label.end - 1)) mayBegin = false
    mayBeginAfterForeign = mayBegin
  }
  if (host >= 0 && mayBegin && hostEnd >= 0) hosts.push({ start: host, end: hostEnd })
  return hosts
}

const otherTopLevelDomains = Map.groupBy(
  Array.from(topLevelDomains)
    .filter((name) => /[^a-z]/.test(name))
    .toSorted((one, other) => other.length - one.length),
  (name) => name.charCodeAt(0),
)

/** The end of the top-level domain that begins here, or -1. What follows may be glued to it if it is not ASCII. */
function endOfTopLevelDomain(text: string, start: number, stretchEnd: number): number {
  const others = otherTopLevelDomains.get(text.charCodeAt(start))
  const other = others?.find((name) => text.startsWith(name, start))
  const end = other === undefined ? endOfAsciiDomain(text, start) : start + other.length
  if (end < 0 || end > stretchEnd) return -1
  const next = text.charCodeAt(end)
  return isLetterOrDigit(next) || next === 0x40 || next === 0x2b || next === 0x2d ? -1 : end
}

function endOfAsciiDomain(text: string, start: number): number {
  let end = start
  while (isLetterOrDigit(text.charCodeAt(end))) end++
  const name = text.slice(start, end).toLowerCase()
  if (topLevelDomains.has(name)) return end
  if (name !== "xn" || !text.startsWith("--", end)) return -1
  // Any Punycode will do: which of it is a domain shows only when it is decoded.
  while (isLetterOrDigit(text.charCodeAt(end)) || text.charCodeAt(end) === 0x2d) end++
  return end > start + "xn--".length ? end : -1
}

/** Twitter-text knows no longer ones. */
const shortenedNameMax = 40

/** Adds the link with what follows its host, and tells where to read on. */
function addLink(
  text: string,
  { start, host, hostEnd }: { start: number; host: number; hostEnd: number },
  found: Found[],
): number {
  const path = endOfPort(text, hostEnd)
  const query = text.charAt(path) === "/" ? endOfPath(text, path) : path
  const read = endOfQuery(text, query)
  let end = read
  if (start < host && /^t\.co$/i.test(text.slice(host, hostEnd)) && path === hostEnd) {
    // X's own short links have a name of letters and digits, so that `http://t.co/abc's` ends before the apostrophe.
    let nameEnd = path + 1
    while (nameEnd < query && isLetterOrDigit(text.charCodeAt(nameEnd))) nameEnd++
    if (nameEnd - path - 1 > shortenedNameMax) return read
    if (nameEnd > path + 1) end = endOfQuery(text, nameEnd)
  }
  // Twitter-text takes what follows a bare host only with a path.
  if (start === host && query === path) end = hostEnd
  found.push({ kind: "links", value: text.slice(start, end), start, end })
  return read
}

function isLetterOrDigit(code: number): boolean {
  return code < 0x80 && hostRoles[code] === plain
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** port := ":" digit+ */
function endOfPort(text: string, start: number): number {
  if (text.charAt(start) !== ":" || !isDigit(text.charCodeAt(start + 1))) return start
  let end = start + 2
  while (isDigit(text.charCodeAt(end))) end++
  return end
}

/** path := "/" (general* (ending | parentheses))* */
function endOfPath(text: string, start: number): number {
  let end = start + 1
  for (let index = end; index < text.length;) {
    const roles = tailRole(text.charCodeAt(index))
    if ((roles & inPath) !== 0) {
      index++
      if ((roles & endsPath) !== 0) end = index
      continue
    }
    const closed = endOfParentheses(text, index)
    if (closed < 0) break
    index = end = closed
  }
  return end
}

/** parentheses := "(" general+ ")" | "(" general* "(" general+ ")" general* ")"; not deeper, so that a scan ends. */
function endOfParentheses(text: string, start: number): number {
  if (text.charAt(start) !== "(") return -1
  let end = endOfGeneral(text, start + 1)
  if (text.charAt(end) === "(") {
    const inner = end + 1
    end = endOfGeneral(text, inner)
    if (end === inner || text.charAt(end) !== ")") return -1
    end = endOfGeneral(text, end + 1)
  }
  return end > start + 1 && text.charAt(end) === ")" ? end + 1 : -1
}

function endOfGeneral(text: string, start: number): number {
  let end = start
  while ((tailRole(text.charCodeAt(end)) & inPath) !== 0) end++
  return end
}

/** query := "?" (general* ending)+ */
function endOfQuery(text: string, start: number): number {
  if (text.charAt(start) !== "?") return start
  let end = start
  for (let index = start + 1; index < text.length; index++) {
    const roles = tailRole(text.charCodeAt(index))
    if ((roles & inQuery) === 0) break
    if ((roles & endsQuery) !== 0) end = index + 1
  }
  return end
}
