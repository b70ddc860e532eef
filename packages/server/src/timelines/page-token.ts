/**
 * Page tokens: a place in a list and a way to go from it, sealed.
 *
 *     byte   0           direction
 *     bytes  1 to  8     position, the id from which on to read, exclusive
 *     bytes  9 to 14     time of issue, Unix ms
 *     bytes 15 to 19     hash of the request's other parameters
 *     bytes 20 to 39     HMAC-SHA256 of endpoint, app and the twenty bytes above, its first 20 bytes
 *
 * 40 bytes are 64 characters of base32hex without a bit to spare, so every change of a character changes a byte
 * and the seal no longer fits. Endpoint and app are only in the seal: a token of another one is no token here.
 * The parameters stand inside as a hash, so that a token whose parameters were changed can be told from a forged
 * one. It is short because it guards against mistakes, not attacks: whoever finds two requests with the same hash
 * has only confused a page of their own.
 *
 * Nothing is kept for a token anywhere, so any process that has the key reads it.
 */
import { createHmac, hash, timingSafeEqual } from "node:crypto"
import { isId, type AppId } from "../model/ids.ts"
import { invalidRequest, type Problem } from "../model/problem.ts"
import type { Clock } from "../runtime/clock.ts"

/** The request that a token belongs to. */
export interface PageScope {
  /** The path, with the ids that are in it. */
  readonly endpoint: string
  readonly appId: AppId
  /** The request's other parameters in one canonical text, without `max_results` and `pagination_token`. */
  readonly parameters: string
}

/** A place in a list ordered by id, newest first, and which way to go from it. */
export interface PagePosition {
  readonly direction: "older" | "newer"
  /** An id, exclusive. */
  readonly from: string
}

/** Makes and reads page tokens. */
export interface PageTokens {
  /** 64 characters of lowercase base32hex. */
  issue(scope: PageScope, position: PagePosition): string
  /**
   * Throws an invalid-request `Problem` for anything that is not, to the letter, a token issued for this endpoint
   * and app, or has expired, or was issued for other parameters; its message says which of the three.
   */
  read(scope: PageScope, token: string): PagePosition
}

const directions = ["older", "newer"] as const
const parametersAt = 15
const sealAt = 20
const tokenBytes = 40

/**
 * Tokens under `key`, which must serve nothing else, that are good for `lifetimeMs` (0: for ever).
 */
export function createPageTokens(options: { key: Uint8Array; lifetimeMs: number; clock: Clock }): PageTokens {
  const { key, lifetimeMs, clock } = options

  function seal(scope: PageScope, content: Uint8Array): Uint8Array {
    const mac = createHmac("sha256", key)
      .update(`${scope.endpoint}\n${scope.appId}\n`)
      .update(content)
      .digest()
    return mac.subarray(0, tokenBytes - sealAt)
  }

  return {
    issue(scope, { direction, from }) {
      const bytes = Buffer.alloc(tokenBytes)
      bytes.writeUInt8(directions.indexOf(direction), 0)
      bytes.writeBigUInt64BE(BigInt(from), 1)
      bytes.writeUIntBE(clock.nowMs(), 9, 6)
      bytes.set(parametersHash(scope), parametersAt)
      bytes.set(seal(scope, bytes.subarray(0, sealAt)), sealAt)
      return encode(bytes)
    },
    read(scope, token) {
      const bytes = decode(token)
      if (
        bytes === undefined ||
        !timingSafeEqual(seal(scope, bytes.subarray(0, sealAt)), bytes.subarray(sealAt))
      ) {
        throw invalid(token)
      }
      const ageMs = clock.nowMs() - bytes.readUIntBE(9, 6)
      if (lifetimeMs > 0 && ageMs >= lifetimeMs) throw expired(token, lifetimeMs)
      if (!parametersHash(scope).equals(bytes.subarray(parametersAt, sealAt))) throw changed(token)
      return positionIn(bytes, token)
    },
  }
}

function parametersHash(scope: PageScope): Buffer {
  return hash("sha256", scope.parameters, "buffer").subarray(0, sealAt - parametersAt)
}

function positionIn(bytes: Buffer, token: string): PagePosition {
  const direction = directions[bytes.readUInt8(0)]
  const from = bytes.readBigUInt64BE(1).toString()
  // Only a token of a later version of this program under the same key comes here with neither.
  if (direction === undefined || !isId(from)) throw invalid(token)
  return { direction, from }
}

/** Alphabet of base32hex, in lower case. Source: RFC 4648, section 7. */
const alphabet = "0123456789abcdefghijklmnopqrstuv"
const tokenPattern = new RegExp(`^[0-9a-v]{${(tokenBytes * 8) / 5}}$`)

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

/** `undefined` for whatever no encoding gives. */
function decode(text: string): Buffer | undefined {
  if (!tokenPattern.test(text)) return undefined
  const bytes = Buffer.alloc(tokenBytes)
  for (let at = 0; at < tokenBytes; at += 5) {
    const characters = text.slice((at / 5) * 8, (at / 5 + 1) * 8)
    bytes.writeUIntBE(Number.parseInt(characters, 32), at, 5)
  }
  return bytes
}

/** Characters of a refused token that an answer repeats. Ours. */
const shownCharactersMax = 100

function refused(token: string, says: (shown: string) => string): Problem {
  const shown = token.length > shownCharactersMax ? `${token.slice(0, shownCharactersMax)}…` : token
  return invalidRequest(says(shown), { pagination_token: [shown] })
}

function invalid(token: string): Problem {
  return refused(
    token,
    (shown) => `The \`pagination_token\` query parameter value [${shown}] is not a valid token.`,
  )
}

function expired(token: string, lifetimeMs: number): Problem {
  return refused(
    token,
    (shown) =>
      `The \`pagination_token\` query parameter value [${shown}] has expired: tokens are good for ` +
      `${lifetimeText(lifetimeMs)}. Start again without \`pagination_token\`.`,
  )
}

function changed(token: string): Problem {
  return refused(
    token,
    (shown) =>
      `The \`pagination_token\` query parameter value [${shown}] was issued for a request with other parameters. ` +
      "Every parameter except `max_results` must be unchanged from that request, or start again without " +
      "`pagination_token`.",
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
