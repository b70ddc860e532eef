import { afterEach, describe, expect, test } from "vitest"
import {
  endpointCases,
  endpointDeadlineMs,
  endpointSecret,
  listening,
  type EndpointCase,
} from "../../runtime/outbound/endpoint-cases.testing.ts"
import { createOutbound, type Outbound, type OutboundRequest } from "../../runtime/outbound/outbound.ts"
import { clientSecretOf } from "../../runtime/client-secret.ts"
import { systemRandom } from "../../runtime/random.ts"
import { signature } from "../../runtime/signatures.ts"
import { challenge } from "./crc-check.ts"

const outbound = createOutbound({ allowPrivate: true })

/** Sends with the deadline of that endpoint. */
function outboundTo(endpoint: EndpointCase): Outbound {
  return {
    send: (request) => outbound.send({ ...request, deadlineMs: endpointDeadlineMs(endpoint) }),
    close: () => outbound.close(),
  }
}

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

describe("a challenge", () => {
  test.each(endpointCases.map((endpoint) => [endpoint.name, endpoint.challenge, endpoint] as const))(
    "finds an endpoint with %s %s",
    async (_name, expected, endpoint) => {
      const server = await listening(endpoint.respond)
      closers.push(() => server.close())
      const url = `http://127.0.0.1:${server.port}/webhook`
      const result = await challenge(
        { outbound: outboundTo(endpoint), random: systemRandom },
        { url, consumerSecret: endpointSecret },
      )
      expect(result.kind).toBe(expected)
    },
  )

  test.each([
    ["the consumer secret", "secret", "valid"],
    ["the client secret", clientSecretOf("secret"), "valid"],
    ["the client secret of another app", clientSecretOf("another secret"), "invalid"],
    ["the secret of another app", "another secret", "invalid"],
  ])("a challenge judges a token under %s correctly", async (_name, secret, kind) => {
    const responding: Outbound = {
      send({ url }) {
        const token = new URL(url).searchParams.get("crc_token") ?? ""
        const body = JSON.stringify({ response_token: signature(secret, token) })
        return Promise.resolve({ kind: "response", status: 200, body })
      },
      close: () => Promise.resolve(),
    }
    const endpoint = { url: "https://example.com/", consumerSecret: "secret" }
    expect(await challenge({ outbound: responding, random: systemRandom }, endpoint)).toMatchObject({ kind })
  })

  test("a challenge is tested with at least 45 kinds of endpoint", () => {
    expect(endpointCases.length).toBeGreaterThanOrEqual(45)
  })

  test.each([
    [
      "a wrong token",
      '{"response_token":"sha256=x"}',
      "responded with status 200 and a response_token that is not this token's under the app's consumer secret or client secret",
    ],
    ["no token", "{}", "responded with status 200 and JSON without a response_token"],
    ["a null token", '{"response_token":null}', "responded with status 200 and a response_token that is not a string"],
    [
      "no prefix",
      '{"response_token":"x"}',
      'responded with status 200 and a response_token that does not begin with "sha256="',
    ],
    ["no JSON", "<secret>", "responded with status 200 and a body that is not JSON"],
    ["nothing", "", "responded with status 200 and no body"],
  ])("the result of a challenge names the response: %s", async (_name, body, detail) => {
    const responding: Outbound = {
      send: () => Promise.resolve({ kind: "response", status: 200, body }),
      close: () => Promise.resolve(),
    }
    const endpoint = { url: "https://example.com/", consumerSecret: "secret" }
    expect(await challenge({ outbound: responding, random: systemRandom }, endpoint)).toEqual({
      kind: "invalid",
      detail,
      isWrongToken: true,
    })
  })

  test.each([
    ["tls", "invalid"],
    ["too_large", "invalid"],
    ["dns", "unreachable"],
    ["blocked_address", "unreachable"],
    ["local_error", "unreachable"],
    ["connect", "unreachable"],
    ["timeout", "unreachable"],
    ["invalid_response", "unreachable"],
  ] as const)("that fails at %s finds the endpoint %s", async (outcome, kind) => {
    const failing: Outbound = {
      send: () => Promise.resolve({ kind: "failure", outcome, detail: "it broke" }),
      close: () => Promise.resolve(),
    }
    const endpoint = { url: "https://example.com/", consumerSecret: "secret" }
    expect(await challenge({ outbound: failing, random: systemRandom }, endpoint)).toEqual({
      kind,
      detail: "could not be asked: it broke",
      ...(outcome === "local_error" && { isOurs: true }),
    })
  })

  test("a result repeats no more than 200 characters of a certificate's names, and no control character", async () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `DNS:${index}.example.com`).join(", ")
    const detail = `The certificate is for\u001B[2J other names: ${names}`
    const failing: Outbound = {
      send: () => Promise.resolve({ kind: "failure", outcome: "tls", detail }),
      close: () => Promise.resolve(),
    }
    const endpoint = { url: "https://example.com/", consumerSecret: "secret" }
    const shown = detail.replace("\u001B", " ").slice(0, 199)
    expect(await challenge({ outbound: failing, random: systemRandom }, endpoint)).toEqual({
      kind: "invalid",
      detail: `could not be asked: ${shown}…`,
    })
  })

  test.each([
    ["https://example.com", "https://example.com?"],
    ["https://example.com/hook", "https://example.com/hook?"],
    ["https://example.com/hook?", "https://example.com/hook?"],
    ["https://example.com/hook?a=%20b&&c", "https://example.com/hook?a=%20b&&c&"],
    ["https://example.com/hook?a&", "https://example.com/hook?a&"],
  ])("a challenge at %s appends its token and a nonce to the query as it was written", async (url, before) => {
    const sent: OutboundRequest[] = []
    const recording: Outbound = {
      send(request) {
        sent.push(request)
        return Promise.resolve({ kind: "response", status: 500, body: "" })
      },
      close: () => Promise.resolve(),
    }
    for (let count = 0; count < 2; count++) {
      await challenge({ outbound: recording, random: systemRandom }, { url, consumerSecret: "secret" })
    }
    const challenges = sent.map((request) => {
      expect(request.url.slice(0, before.length)).toBe(before)
      const [, token = "", nonce = ""] =
        /^crc_token=([\w-]{43})&nonce=([\w-]{16})$/.exec(request.url.slice(before.length)) ?? []
      return { token, nonce }
    })
    expect(new Set(challenges.map(({ token }) => token)).size).toBe(2)
    expect(new Set(challenges.map(({ nonce }) => nonce)).size).toBe(2)
    expect(challenges.every(({ token, nonce }) => token !== "" && nonce !== "")).toBe(true)
    expect(sent[0]).toMatchObject({ method: "GET", deadlineMs: 10_000 })
  })
})
