import fc from "fast-check"
import { beforeEach, describe, expect, test } from "vitest"
import type { AppId } from "../model/ids.ts"
import { Problem } from "../model/problem.ts"
import { createManualClock, type ManualClock } from "../runtime/manual-clock.testing.ts"
import { createPageTokens, type PagePosition, type PageScope, type PageTokens } from "./page-token.ts"

const key = new Uint8Array(32).fill(7)
const scope: PageScope = { endpoint: "/2/users/1/tweets", appId: "5" as AppId, parameters: "exclude=replies" }
const hourMs = 3_600_000

let clock: ManualClock
let tokens: PageTokens

beforeEach(() => {
  clock = createManualClock()
  tokens = createPageTokens({ key, lifetimeMs: 24 * hourMs, clock })
})

/** The message with which a token is refused. */
function refusalOf(token: string, of: PageScope = scope, by: PageTokens = tokens): string {
  try {
    by.read(of, token)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    expect(error).toMatchObject({ status: 400, title: "Invalid Request" })
    expect(error.causes).toHaveLength(1)
    return String(error.causes[0]?.message)
  }
  return "it was read"
}

const notValid = (token: string): string =>
  `The \`pagination_token\` query parameter value [${token}] is not a valid token.`

const ids = fc.bigInt({ min: 0n, max: 9_223_372_036_854_775_807n }).map(String)
const directions = fc.constantFrom("older" as const, "newer" as const)

test("a token leads to the position that it was issued for", () => {
  fc.assert(
    fc.property(ids, directions, fc.string(), fc.string(), (from, direction, parameters, path) => {
      const its = { endpoint: `/${path}`, appId: "8" as AppId, parameters }
      expect(tokens.read(its, tokens.issue(its, { direction, from }))).toEqual({ direction, from })
    }),
  )
})

test("a token is 45 to 64 characters of lowercase base32hex", () => {
  fc.assert(
    fc.property(ids, directions, (from, direction) => {
      expect(tokens.issue(scope, { direction, from })).toMatch(/^[0-9a-v]{45,64}$/)
    }),
  )
})

test("a token leads to a UUID, and has 80 characters", () => {
  const uuids = fc.bigInt({ min: 1n << 64n, max: (1n << 128n) - 1n }).map(String)
  fc.assert(
    fc.property(uuids, directions, (from, direction) => {
      const token = tokens.issue(scope, { direction, from })
      expect(token).toMatch(/^[0-9a-v]{80}$/)
      expect(tokens.read(scope, token)).toEqual({ direction, from })
      const changedToken = `${token.startsWith("0") ? "1" : "0"}${token.slice(1)}`
      expect(refusalOf(changedToken)).toContain("is not a valid token")
    }),
  )
})

describe("a token of a list by texts", () => {
  const byTexts = { ...scope, positions: "text" } as const
  const texts = fc.string({ unit: "binary", minLength: 1, maxLength: 507 }).filter((text) => !text.includes("\0"))

  test("leads to its text, and is refused with any other character", () => {
    fc.assert(
      fc.property(texts, directions, fc.nat(), (from, direction, place) => {
        const token = tokens.issue(byTexts, { direction, from })
        expect(token).toMatch(/^(?:[0-9a-v]{8}){8,311}$/)
        expect(tokens.read(byTexts, token)).toEqual({ direction, from })
        const at = place % token.length
        const changedToken = `${token.slice(0, at)}${token.charAt(at) === "0" ? "1" : "0"}${token.slice(at + 1)}`
        expect(refusalOf(changedToken, byTexts)).toMatch(/is not a valid token\.$/)
      }),
    )
  })

  test("has at most 2,488 characters for the longest username", () => {
    const from = "鷺".repeat(507)
    const token = tokens.issue(byTexts, { direction: "newer", from })
    expect(token).toHaveLength(2_488)
    expect(tokens.read(byTexts, token).from).toBe(from)
    expect(refusalOf("0".repeat(2_496), byTexts)).toMatch(/is not a valid token\.$/)
  })

  test("is no token of a list by numbers, nor the other way round", () => {
    const [text, number] = [byTexts, scope].map((its) => tokens.issue(its, { direction: "newer", from: "42" }))
    expect(refusalOf(text ?? "", scope)).toBe(notValid(text ?? ""))
    expect(refusalOf(number ?? "", byTexts)).toBe(notValid(number ?? ""))
  })
})

test("every process that has the key reads a token, and no process with another key does", () => {
  const token = tokens.issue(scope, { direction: "older", from: "9" })
  expect(createPageTokens({ key, lifetimeMs: hourMs, clock }).read(scope, token).from).toBe("9")
  const others = createPageTokens({ key: new Uint8Array(32).fill(8), lifetimeMs: hourMs, clock })
  expect(refusalOf(token, scope, others)).toBe(notValid(token))
})

describe("a changed token is refused", () => {
  const alphabet = "0123456789abcdefghijklmnopqrstuv"

  test("a token is refused with any character changed to any other of the alphabet", () => {
    const token = tokens.issue(scope, { direction: "older", from: "1234567890123456789" })
    let changes = 0
    for (const at of token.split("").keys()) {
      for (const character of alphabet.replace(token.charAt(at), "")) {
        const changed = token.slice(0, at) + character + token.slice(at + 1)
        expect(refusalOf(changed)).toBe(notValid(changed))
        changes += 1
      }
    }
    expect(changes).toBe(64 * 31)
  })

  test("a token is refused with a character in upper case or outside the alphabet", () => {
    const token = tokens.issue(scope, { direction: "newer", from: "42" })
    for (const at of token.split("").keys()) {
      const replacements = [token.charAt(at).toUpperCase(), "w", "z", "=", "-", "é", "０", " ", "\0"]
      for (const character of replacements.filter((replacement) => replacement !== token.charAt(at))) {
        const changed = token.slice(0, at) + character + token.slice(at + 1)
        expect(refusalOf(changed)).toBe(notValid(changed))
      }
    }
  })

  test("a token is refused when it is cut short, made longer, reversed, or two characters are exchanged", () => {
    const token = tokens.issue(scope, { direction: "older", from: "42" })
    const changes = [
      ...Array.from({ length: token.length }, (_, length) => token.slice(0, length)),
      ...["0", "v", "00000000", token].map((more) => token + more),
      `0${token}`,
      ` ${token}`,
      `${token}\n`,
      token.split("").toReversed().join(""),
      ...Array.from({ length: token.length - 1 }, (_, at) =>
        [token.slice(0, at), token.charAt(at + 1), token.charAt(at), token.slice(at + 2)].join(""),
      ).filter((changed) => changed !== token),
    ]
    for (const changed of changes) {
      // A long one is cut in the message.
      expect(refusalOf(changed)).toMatch(/is not a valid token\.$/)
    }
  })

  test.each([
    [""],
    ["__proto__"],
    ["constructor"],
    ["meta.next_token"],
    ["null"],
    ["0".repeat(64)],
    ["v".repeat(64)],
    ["7140dibdnow9c7btw480xmriyipjofcpt775chih7ygj4"],
    ["😀".repeat(16)],
    ["\u0661".repeat(64)],
    ["' OR 1=1 --"],
  ])("text that never was a token is refused: [%s]", (token) => {
    expect(refusalOf(token)).toBe(notValid(token))
  })

  test("a huge token is refused without repeating it all", () => {
    const message = refusalOf("a".repeat(1_000_000))
    expect(message).toBe(notValid(`${"a".repeat(199)}…`))
  })

  test("the refusal of a token names the parameter and the value", () => {
    expect(() => tokens.read(scope, "x")).toThrow(
      expect.objectContaining({
        causes: [{ detail: notValid("x"), message: notValid("x"), parameters: { pagination_token: ["x"] } }],
      }),
    )
  })
})

test("a token of another endpoint or another app is not a valid token", () => {
  const token = tokens.issue(scope, { direction: "older", from: "42" })
  expect(refusalOf(token, { ...scope, endpoint: "/2/users/2/tweets" })).toBe(notValid(token))
  expect(refusalOf(token, { ...scope, appId: "6" as AppId })).toBe(notValid(token))
  expect(refusalOf(token, { ...scope, endpoint: `${scope.endpoint}\n5`, appId: "" as AppId })).toBe(notValid(token))
})

test("a token with other parameters is distinguished from a wrong one", () => {
  const token = tokens.issue(scope, { direction: "older", from: "42" })
  expect(refusalOf(token, { ...scope, parameters: "exclude=retweets" })).toBe(
    `The \`pagination_token\` query parameter value [${token}] was issued for a request with other parameters. ` +
      "Every parameter except `max_results` must be unchanged from that request, or start again without " +
      "`pagination_token`.",
  )
  expect(refusalOf(token)).toBe("it was read")
})

test("a token expires at the end of its lifetime, and the refusal names the expiry", async () => {
  const token = tokens.issue(scope, { direction: "older", from: "42" })
  await clock.advance(24 * hourMs - 1)
  expect(refusalOf(token)).toBe("it was read")
  await clock.advance(1)
  expect(refusalOf(token)).toBe(
    `The \`pagination_token\` query parameter value [${token}] has expired: tokens are good for 24 hours. ` +
      "Start again without `pagination_token`.",
  )
})

test.each([
  [1, "1 millisecond"],
  [90_000, "90 seconds"],
  [60_000, "1 minute"],
  [36 * hourMs, "36 hours"],
])("a lifetime of %i ms is written as %s", async (lifetimeMs, text) => {
  const short = createPageTokens({ key, lifetimeMs, clock })
  const token = short.issue(scope, { direction: "older", from: "42" })
  await clock.advance(lifetimeMs)
  expect(refusalOf(token, scope, short)).toContain(`has expired: tokens are good for ${text}.`)
})

test("a lifetime of 0 is forever", async () => {
  const lasting = createPageTokens({ key, lifetimeMs: 0, clock })
  const token = lasting.issue(scope, { direction: "older", from: "42" })
  await clock.advance(1_000_000 * hourMs)
  expect(lasting.read(scope, token).from).toBe("42")
})

test.each([0, 24 * hourMs])(
  "a token from more than a day ahead of the clock is refused, with a lifetime of %i ms",
  (lifetimeMs) => {
    const issuedAhead = (ms: number): string =>
      createPageTokens({ key, lifetimeMs, clock: createManualClock(clock.nowMs() + ms) }).issue(scope, {
        direction: "older",
        from: "42",
      })
    const reader = createPageTokens({ key, lifetimeMs, clock })
    expect(refusalOf(issuedAhead(24 * hourMs), scope, reader)).toBe("it was read")
    const token = issuedAhead(24 * hourMs + 1)
    expect(refusalOf(token, scope, reader)).toBe(
      `The \`pagination_token\` query parameter value [${token}] was issued at a time that is still to come by this ` +
        "server's clock, which was set back. Start again without `pagination_token`.",
    )
  },
)

test("tokens are valid on processes whose clocks are minutes apart, and after a step back by an hour", async () => {
  const offsMs = [0, 4 * 60_000, -7 * 60_000, 90_000]
  const processes = offsMs.map((offMs) => ({
    tokens: createPageTokens({ key, lifetimeMs: 24 * hourMs, clock: { ...clock, nowMs: () => clock.nowMs() + offMs } }),
  }))
  let position: PagePosition = { direction: "older", from: "100000" }
  for (let page = 0; page < 1_000; page += 1) {
    const issuer = processes[page % 4]?.tokens as typeof tokens
    const reader = processes[(page * 7 + 3) % 4]?.tokens as typeof tokens
    position = reader.read(scope, issuer.issue(scope, { direction: "older", from: String(100_000 - page) }))
    expect(position.from).toBe(String(100_000 - page))
  }
  const before = tokens.issue(scope, position)
  const setBack = createPageTokens({
    key,
    lifetimeMs: 24 * hourMs,
    clock: { ...clock, nowMs: () => clock.nowMs() - hourMs },
  })
  expect(setBack.read(scope, before)).toEqual(position)
  expect(tokens.read(scope, setBack.issue(scope, position))).toEqual(position)
})
