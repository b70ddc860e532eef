/** Programs on pages of other origins, as a browser asks for them. */
import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { loadConfig } from "../config.ts"

const origin = "https://app.example.com"

const preflight = (server: TestServer, from: string, path: string = paths.rules): Promise<Response> =>
  fetch(server.url + path, {
    method: "OPTIONS",
    headers: {
      origin: from,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization",
    },
  })

test("a page of a named origin may call the API, and no other page", async () => {
  await using server = await startTestServer({ "cors-origins": `${origin}, http://localhost:5173` })
  const allowed = await preflight(server, origin)
  expect(allowed.status).toBe(204)
  expect(Object.fromEntries(allowed.headers)).toMatchObject({
    "access-control-allow-origin": origin,
    "access-control-allow-methods": expect.stringContaining("POST"),
    "access-control-allow-headers": expect.stringContaining("authorization"),
    vary: "origin",
  })
  const read = await server.call(paths.rules, { headers: { origin } })
  expect(read.status).toBe(200)
  expect(read.headers.get("access-control-allow-origin")).toBe(origin)
  expect(read.headers.get("access-control-expose-headers")).toContain("x-rate-limit-reset")
  // Errors, too: a program has to read why it was refused.
  const refused = await server.call(paths.rules, { token: "wrong", headers: { origin } })
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, origin])
  for (const other of ["https://evil.example", `${origin}.evil.example`, "null"]) {
    expect((await preflight(server, other)).headers.has("access-control-allow-origin")).toBe(false)
    const { headers } = await server.call(paths.rules, { headers: { origin: other } })
    expect(headers.has("access-control-allow-origin")).toBe(false)
  }
})

test("a stream connection can be read by a page of a named origin", async () => {
  await using server = await startTestServer({ "cors-origins": origin })
  const stream = await fetch(server.url + paths.stream, {
    headers: { authorization: `Bearer ${server.app.bearer_token}`, origin },
  })
  expect(stream.headers.get("access-control-allow-origin")).toBe(origin)
  await stream.body?.cancel()
})

test("any page may call with *, and none without the setting; no response allows cookies", async () => {
  {
    await using server = await startTestServer({ "cors-origins": "*" })
    const { headers } = await preflight(server, "https://any.example")
    expect(headers.get("access-control-allow-origin")).toBe("*")
    expect(headers.has("access-control-allow-credentials")).toBe(false)
  }
  await using server = await startTestServer()
  const { status, headers } = await preflight(server, origin)
  expect([status, headers.has("access-control-allow-origin")]).toEqual([405, false])
})

test.each(["app.example.com", "https://app.example.com/", "https://a.example, b", "https://a.example/path"])(
  "%j is no list of origins",
  (text) => {
    expect(() => loadConfig({ posture: "serve", flags: { "cors-origins": text } })).toThrow(
      /must be origins such as https:\/\/app\.example\.com/,
    )
  },
)
