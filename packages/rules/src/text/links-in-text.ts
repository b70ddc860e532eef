/**
 * Links in plain text, with and without protocol.
 *
 * The rules are those of twitter-text. Its regular expression backtracks: it tries every start of a host with every
 * end. Here each run of characters that could be a host is read once, left to right, label by label, and the state
 * decides whether a host may begin. So the time is linear in the text.
 *
 * A host without `http://` consists of ASCII letters, accented Latin letters, digits and dashes, and other characters
 * may surround it: `見てt.co/aください` contains `t.co/a`. After `http://` a host may contain any letter.
 */

import { topLevelDomains } from "./top-level-domains.ts"

/** A link as written. Offsets are UTF-16 units, end exclusive. */
type LinkInText = { readonly value: string; readonly start: number; readonly end: number }

/** Accented Latin letters, as the content of a character class. Source: twitter-text. */
export const accented =
  "\\u00C0-\\u00D6\\u00D8-\\u00F6\\u00F8-\\u024F\\u0253\\u0254\\u0256\\u0257\\u0259\\u025B\\u0263\\u0268" +
  "\\u026F\\u0272\\u0289\\u028B\\u02BB\\u0300-\\u036F\\u1E00-\\u1EFF"
/** Directional marks, likewise. */
export const directional = "\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069"

// The role of a character in a host. A host ends at the first character outside.
const outside = 0
/** ASCII letter or digit, or accented Latin letter. */
const plain = 1
/** Any other letter, sign or surrogate: in a host only after a protocol. */
const foreign = 2
const dash = 3
const underscore = 4
const dot = 5

// The roles of a character after the host; bits, because it can have several.
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
/** `＠` and `＃` begin names and are not part of hosts. */
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

/** The links in the text, in order. */
export function linksInText(text: string): readonly LinkInText[] {
  const links: LinkInText[] = []
  // The next position: the end of a link or of a run of host characters.
  let read = 0
  let linkEnd = 0
  // From dot to dot: the run of host characters around each dot may contain hosts.
  for (let at = text.indexOf("."); at >= 0; at = text.indexOf(".", read)) {
    let start = at
    while (start > read && hostRole(text.charCodeAt(start - 1)) !== outside) start--
    let end = at + 1
    while (end < text.length && hostRole(text.charCodeAt(end)) !== outside) end++
    read = end

    const protocol = protocolBefore(text, start)
    const hostEnd = protocol >= linkEnd ? endOfHost(text, start, end) : -1
    if (hostEnd >= 0) {
      read = linkEnd = addLink(text, { start: protocol, host: start, hostEnd }, links)
      continue
    }
    const hosts = bareHosts(text, { start, end, before: start === linkEnd ? "" : text.charAt(start - 1) })
    for (const host of hosts) {
      linkEnd = addLink(text, { start: host.start, host: host.start, hostEnd: host.end }, links)
      read = Math.max(read, linkEnd)
    }
  }
  return links
}

/** Start of the `http://` or `https://` that ends at the index, or -1. */
function protocolBefore(text: string, index: number): number {
  if (!text.endsWith("://", index)) return -1
  const protocol = /https?:\/\/$/i.exec(text.slice(Math.max(0, index - 8), index))?.[0]
  if (protocol === undefined) return -1
  const start = index - protocol.length
  return start === 0 || !/[a-z0-9@＠$#＃]/i.test(text.charAt(start - 1)) ? start : -1
}

/** A label of a host: the characters between two dots. */
type Label = {
  readonly start: number
  /** Index of the dot after it, or the end of the run. */
  readonly end: number
  /** True if it may be part of a host after a protocol. */
  readonly isValid: boolean
  readonly hasUnderscore: boolean
  readonly hasForeign: boolean
  /** Start of the plain letters, digits and dashes at its end, without leading dashes; `end` if there are none. */
  readonly plainStart: number
}

/** Maximum length. Source: RFC 1035, section 2.3.4. Ours: counted in UTF-16 units as written, not in Punycode. */
const labelLengthMax = 63

function labelAt(text: string, start: number, runEnd: number): Label {
  let end = start
  let plainStart = start
  let hasUnderscore = false
  let hasForeign = false
  let isAscii = true
  for (; end < runEnd; end++) {
    const role = hostRole(text.charCodeAt(end))
    if (role === dot) break
    if (role === underscore) hasUnderscore = true
    if (role === foreign) hasForeign = true
    if (text.charCodeAt(end) > 0x7f) isAscii = false
    if (role !== plain && (role !== dash || plainStart === end)) plainStart = end + 1
  }
  // Punycode is ASCII by definition.
  const isBroken = !isAscii && /^xn--/i.test(text.slice(start, start + 4))
  const isValid =
    end > start && end - start <= labelLengthMax && !isJoint(text, start) && !isJoint(text, end - 1) && !isBroken
  if (isBroken || isJoint(text, end - 1) || end - plainStart > labelLengthMax) plainStart = end
  return { start, end, isValid, hasUnderscore, hasForeign, plainStart }
}

function isJoint(text: string, index: number): boolean {
  const code = text.charCodeAt(index)
  return code === 0x2d || code === 0x5f
}

/** The end of the longest host that begins at `start`, or -1. Its last two labels may not contain an underscore. */
function endOfHost(text: string, start: number, runEnd: number): number {
  let best = -1
  let mayEnd = false
  for (let at = start; at < runEnd;) {
    if (mayEnd) best = Math.max(best, endOfTopLevelDomain(text, at, runEnd))
    const label = labelAt(text, at, runEnd)
    if (!label.isValid) break
    mayEnd = !label.hasUnderscore
    at = label.end + 1
  }
  return best
}

/** UTF-16 units. */
type Host = { readonly start: number; readonly end: number }

/** A run of host characters, with the character before it: "" at the start of the text and after a link. */
type HostRun = { readonly start: number; readonly end: number; readonly before: string }

/**
 * The hosts without protocol in a run of host characters.
 *
 * A host ends at the last label that begins with a top-level domain. It may not be the rest of something else:
 * `bar.com` is no host in `@bar.com`, `/bar.com`, `..bar.com` and `-bar.com`.
 */
function bareHosts(text: string, { start, end: runEnd, before }: HostRun): readonly Host[] {
  const hosts: Host[] = []
  let mayBegin = !/[a-z0-9@＠$#＃_./-]/i.test(before)
  // A foreign letter ends a name that began with `@`, and an ASCII word that continues in this run.
  let mayBeginAfterForeign = mayBegin || !/[_./-]/.test(before)
  // Start of the current host, or -1; end of its last top-level domain, or -1.
  let host = -1
  let hostEnd = -1
  let mayEnd = false
  for (let at = start; at < runEnd;) {
    const label = labelAt(text, at, runEnd)
    at = label.end + 1
    if (host >= 0) {
      if (mayEnd) hostEnd = Math.max(hostEnd, endOfTopLevelDomain(text, label.start, runEnd))
      if (label.isValid && label.plainStart === label.start) {
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

/** Domains of other letters than ASCII, by their first unit, longest first. */
const otherTopLevelDomains = new Map<number, string[]>()
for (const name of Array.from(topLevelDomains).toSorted((one, other) => other.length - one.length)) {
  if (!/[^a-z]/.test(name)) continue
  const known = otherTopLevelDomains.get(name.charCodeAt(0))
  if (known === undefined) otherTopLevelDomains.set(name.charCodeAt(0), [name])
  else known.push(name)
}

/** The end of the top-level domain that begins at `start`, or -1. A character other than ASCII may follow directly. */
function endOfTopLevelDomain(text: string, start: number, runEnd: number): number {
  const others = otherTopLevelDomains.get(text.charCodeAt(start))
  const other = others?.find((name) => text.startsWith(name, start))
  const end = other === undefined ? endOfAsciiDomain(text, start) : start + other.length
  if (end < 0 || end > runEnd) return -1
  const next = text.charCodeAt(end)
  return isLetterOrDigit(next) || next === 0x40 || next === 0x2b || next === 0x2d ? -1 : end
}

function endOfAsciiDomain(text: string, start: number): number {
  let end = start
  while (isLetterOrDigit(text.charCodeAt(end))) end++
  const name = text.slice(start, end).toLowerCase()
  if (topLevelDomains.has(name)) return end
  if (name !== "xn" || !text.startsWith("--", end)) return -1
  // Any Punycode is accepted: whether it is a domain could be decided only after decoding.
  while (isLetterOrDigit(text.charCodeAt(end)) || text.charCodeAt(end) === 0x2d) end++
  return end > start + "xn--".length ? end : -1
}

/** Maximum length of the name in a t.co link. Source: twitter-text. */
const shortNameMax = 40

/** Adds the link with the path and query after its host. Returns where to continue. */
function addLink(
  text: string,
  { start, host, hostEnd }: { start: number; host: number; hostEnd: number },
  links: LinkInText[],
): number {
  const path = endOfPort(text, hostEnd)
  const query = text.charAt(path) === "/" ? endOfPath(text, path) : path
  const read = endOfQuery(text, query)
  let end = read
  if (start < host && /^t\.co$/i.test(text.slice(host, hostEnd)) && path === hostEnd) {
    // The name of a short link of X consists of letters and digits: `http://t.co/abc's` ends before the apostrophe.
    let nameEnd = path + 1
    while (nameEnd < query && isLetterOrDigit(text.charCodeAt(nameEnd))) nameEnd++
    if (nameEnd - path - 1 > shortNameMax) return read
    if (nameEnd > path + 1) end = endOfQuery(text, nameEnd)
  }
  // After a host without protocol, twitter-text accepts a port or query only with a path.
  if (start === host && query === path) end = hostEnd
  links.push({ value: text.slice(start, end), start, end })
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

/** parentheses := "(" general+ ")" | "(" general* "(" general+ ")" general* ")"; not deeper, which bounds the scan. */
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
