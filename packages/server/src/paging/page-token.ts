/**
 * Page tokens: a position in a list and a direction from it, sealed.
 *
 *     byte   0           direction, and whether the position is a text
 *     bytes  1 to  8     position, the id from which on to read, exclusive
 *     bytes  9 to 14     time of issue, Unix ms
 *     bytes 15 to 19     hash of the request's other parameters
 *     bytes 20 to 39     HMAC-SHA256 of endpoint, app and the twenty bytes above, its first 20 bytes
 *
 * The position of a list by UUIDs is the number of one, in bytes 1 to 18: all after it moves by ten bytes, to 50. In a list by
 * texts the position is a text in UTF-8, filled up with zeros to 5n + 3 bytes.
 *
 * 40 bytes are 64 characters of base32hex without a bit to spare, 50 bytes 80, and any other multiple of five bytes as many
 * groups of eight, so every change of a character changes a byte and the seal no longer fits. Endpoint and app are only in
 * the seal: a token of another one is no token here.
 *
 * The hash of the parameters is in the token, so that a token with changed parameters can be distinguished from a forged
 * one. It is short because it guards against mistakes, not attacks: a client that finds two requests with the same hash
 * only confuses a page of its own.
 *
 * Nothing is kept for a token anywhere, so any process that has the key reads it.
 */
import { createHmac, hash, timingSafeEqual } from "node:crypto"
import { isId, type AppId } from "../model/ids.ts"
import { invalidRequest, type Problem } from "../model/problem.ts"
import { truncate } from "../model/truncate.ts"
import type { Clock } from "../runtime/clock.ts"

/** The request that a token belongs to. */
export interface PageScope {
  /** The path, with the ids that are in it. */
  readonly endpoint: string
  readonly appId: AppId
  /** The request's other parameters in one canonical text, without `max_results` and `pagination_token`. */
  readonly parameters: string
  /** The parameter that the token came in; `pagination_token` when absent. */
  readonly tokenParameter?: string | undefined
  /** The form of the positions in the list; `number` when absent. */
  readonly positions?: PositionForm
}

/** An id or the number of a UUID, or a text without the character of code 0. */
type PositionForm = "number" | "text"

/** A position in a list ordered by id, newest first, and the direction to read from it. */
export interface PagePosition {
  readonly direction: "older" | "newer"
  /** Exclusive. Digits, or a text where the scope says so. */
  readonly from: string
}

/** Makes and reads page tokens. */
export interface PageTokens {
  /** 64 characters of lowercase base32hex, or 80 for the number of a UUID; for a text 64 to 2,488, by its length. */
  issue(scope: PageScope, position: PagePosition): string
  /**
   * Throws an invalid-request `Problem` for a token that was not issued for this endpoint and app, has expired, was issued
   * for other parameters, or was issued at a time that this server's clock has not reached. Its message says which.
   */
  read(scope: PageScope, token: string): PagePosition
}

/**
 * How far ahead of this clock a token may have been issued: by another process, or before the clock was set back. Such a
 * token lives longer by as much, which does no harm; a reader who is refused begins again. Only what a clock that was
 * wrong by more than a day has issued would live for far too long. Ours.
 */
const aheadMsMax = 24 * 3_600_000

const directions = ["older", "newer"] as const

/** The byte of the first direction: it keeps tokens of one form from being read in the other. */
const firstDirection = { number: 0, text: 2 } as const satisfies Record<PositionForm, number>

const [idBytes, uuidBytes] = [8, 18]

/** Longest text, 5n + 3 bytes. Ours: a username of 507 UTF-16 units. */
const textBytesMax = 1_523

/** Offsets of the parts of a token. */
interface Layout {
  readonly issuedAt: number
  readonly parametersAt: number
  readonly sealAt: number
  readonly bytes: number
}

const layoutOf = (positionBytes: number): Layout => {
  const issuedAt = positionAt + positionBytes
  return { issuedAt, parametersAt: issuedAt + 6, sealAt: issuedAt + 11, bytes: issuedAt + 31 }
}

/** The bytes of a token and their layout. */
interface ReadToken {
  readonly bytes: Buffer
  readonly layout: Layout
}

const positionAt = 1
const parametersBytes = 5
const sealBytes = 20

/**
 * Tokens under `key`, which must serve nothing else, that are valid for `lifetimeMs` (0: forever).
 */
export function createPageTokens(options: {
  key: Uint8Array
  lifetimeMs: number
  clock: Clock
  /** True for a token that counts as expired early. Absent: no token does. */
  isExpiredEarly?: (appId: AppId, issuedAtMs: number) => boolean
}): PageTokens {
  const { key, lifetimeMs, clock, isExpiredEarly } = options

  function seal(scope: PageScope, content: Uint8Array): Uint8Array {
    const mac = createHmac("sha256", key).update(`${scope.endpoint}\n${scope.appId}\n`).update(content).digest()
    return mac.subarray(0, sealBytes)
  }

  return {
    issue(scope, { direction, from }) {
      const position = scope.positions === "text" ? textBytes(from) : numberBytes(from)
      const layout = layoutOf(position.length)
      const bytes = Buffer.alloc(layout.bytes)
      bytes.writeUInt8(firstDirectionOf(scope) + directions.indexOf(direction), 0)
      bytes.set(position, positionAt)
      bytes.writeUIntBE(clock.nowMs(), layout.issuedAt, 6)
      bytes.set(parametersHash(scope), layout.parametersAt)
      bytes.set(seal(scope, bytes.subarray(0, layout.sealAt)), layout.sealAt)
      return encode(bytes)
    },
    read(scope, token) {
      const read = decode(scope, token)
      if (read === undefined || !isSealed(read, (content) => seal(scope, content))) throw invalid(scope, token)
      const { bytes, layout } = read
      const issuedAtMs = bytes.readUIntBE(layout.issuedAt, 6)
      const ageMs = clock.nowMs() - issuedAtMs
      if (ageMs < -aheadMsMax) throw early(scope, token)
      if (lifetimeMs > 0 && ageMs >= lifetimeMs) throw expired(scope, token, lifetimeMs)
      if (isExpiredEarly?.(scope.appId, issuedAtMs) === true) throw expired(scope, token, lifetimeMs)
      const given = bytes.subarray(layout.parametersAt, layout.sealAt)
      if (!parametersHash(scope).equals(given)) throw changed(scope, token)
      return positionIn(scope, read, token)
    },
  }
}

function isSealed({ bytes, layout }: ReadToken, seal: (content: Uint8Array) => Uint8Array): boolean {
  return timingSafeEqual(seal(bytes.subarray(0, layout.sealAt)), bytes.subarray(layout.sealAt))
}

function firstDirectionOf({ positions = "number" }: PageScope): number {
  return firstDirection[positions]
}

function numberBytes(digits: string): Buffer {
  const hex = BigInt(digits).toString(16)
  const bytes = hex.length > 2 * idBytes ? uuidBytes : idBytes
  return Buffer.from(hex.padStart(2 * bytes, "0"), "hex")
}

function textBytes(text: string): Buffer {
  const bytes = Buffer.from(text)
  const groups = Math.max(1, Math.ceil((bytes.length - 3) / 5))
  return Buffer.concat([bytes], 5 * groups + 3)
}

function parametersHash(scope: PageScope): Buffer {
  return hash("sha256", scope.parameters, "buffer").subarray(0, parametersBytes)
}

function positionIn(scope: PageScope, { bytes, layout }: ReadToken, token: string): PagePosition {
  const direction = directions[bytes.readUInt8(0) - firstDirectionOf(scope)]
  const position = bytes.subarray(positionAt, layout.issuedAt)
  const isText = scope.positions === "text"
  const from = isText ? position.toString().replace(/\0+$/, "") : BigInt(`0x${position.toString("hex")}`).toString()
  // Only a token of another version of this program under the same key comes here with neither.
  if (direction === undefined || (!isText && position.length === idBytes && !isId(from))) throw invalid(scope, token)
  return { direction, from }
}

/** Alphabet of base32hex, in lower case. Source: RFC 4648, section 7. */
const alphabet = "0123456789abcdefghijklmnopqrstuv"
const tokenPattern = /^[0-9a-v]*$/

function encode(bytes: Buffer): string {
  let text = ""
  for (let at = 0; at < bytes.length; at += 5) {
    // 40 bits fit a double exactly; bitwise operators would not take them.
    let group = bytes.readUIntBE(at, 5)
    let characters = ""
    for (let count = 0; count < 8; count += 1) {
      characters = alphabet.charAt(group % 32) + characters
      group = Math.floor(group / 32)
    }
    text += characters
  }
  return text
}

/** Undefined for text that `encode` does not return for the scope. */
function decode(scope: PageScope, text: string): ReadToken | undefined {
  if (text.length % 8 !== 0) return undefined
  const layout = layoutOf((text.length * 5) / 8 - layoutOf(0).bytes)
  if (!hasPositionOf(scope, layout) || !tokenPattern.test(text)) return undefined
  const bytes = Buffer.alloc(layout.bytes)
  for (let at = 0; at < layout.bytes; at += 5) {
    const characters = text.slice((at / 5) * 8, (at / 5 + 1) * 8)
    bytes.writeUIntBE(Number.parseInt(characters, 32), at, 5)
  }
  return { bytes, layout }
}

function hasPositionOf({ positions }: PageScope, { issuedAt }: Layout): boolean {
  const bytes = issuedAt - positionAt
  if (positions === "text") return bytes >= idBytes && bytes <= textBytesMax
  return bytes === idBytes || bytes === uuidBytes
}

type TokenOf = Pick<PageScope, "tokenParameter">

function nameIn({ tokenParameter = "pagination_token" }: TokenOf): string {
  return tokenParameter
}

function refused(scope: TokenOf, token: string, what: string): Problem {
  const [name, shown] = [nameIn(scope), truncate(token)]
  return invalidRequest(`The \`${name}\` query parameter value [${shown}] ${what}`, { [name]: [shown] })
}

function invalid(scope: TokenOf, token: string): Problem {
  return refused(scope, token, "is not a valid token.")
}

function expired(scope: TokenOf, token: string, lifetimeMs: number): Problem {
  const lifetime = lifetimeMs === 0 ? "" : `: tokens are good for ${lifetimeText(lifetimeMs)}`
  return refused(scope, token, `has expired${lifetime}. Start again without \`${nameIn(scope)}\`.`)
}

function early(scope: TokenOf, token: string): Problem {
  return refused(
    scope,
    token,
    "was issued at a time that is still to come by this server's clock, which was set back. " +
      `Start again without \`${nameIn(scope)}\`.`,
  )
}

function changed(scope: TokenOf, token: string): Problem {
  return refused(
    scope,
    token,
    "was issued for a request with other parameters. Every parameter except `max_results` must be unchanged from " +
      `that request, or start again without \`${nameIn(scope)}\`.`,
  )
}

function lifetimeText(ms: number): string {
  const units = [
    { unit: "hour", ms: 3_600_000 },
    { unit: "minute", ms: 60_000 },
    { unit: "second", ms: 1_000 },
  ]
  const { unit, ms: unitMs } = units.find((candidate) => ms % candidate.ms === 0) ?? {
    unit: "millisecond",
    ms: 1,
  }
  const count = ms / unitMs
  return `${count} ${unit}${count === 1 ? "" : "s"}`
}
