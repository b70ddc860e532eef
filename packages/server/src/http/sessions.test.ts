import { paths } from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openStream } from "../../../../test/support/open-stream.testing.ts"
import {
  startTestServer,
  type TestResponse,
  type TestApp,
  type TestServer,
} from "../../../../test/support/test-server.testing.ts"

let at: TestServer
let operator: string
beforeAll(async () => {
  at = await startTestServer()
  operator = await at.running.apps.createToken("operator")
})
afterAll(() => at[Symbol.asyncDispose]())

/** A browser that is signed in. */
interface SignedIn {
  readonly cookie: string
  readonly csrf: string
  call(method: string, path: string, headers?: Readonly<Record<string, string>>, body?: unknown): Promise<TestResponse>
}

async function signIn(body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<TestResponse> {
  return at.call(paths.session, {
    method: "POST",
    token: null,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
}

async function signedIn(token: string): Promise<SignedIn> {
  const { status, headers: given, body: session } = await signIn({ token })
  expect(status).toBe(200)
  const cookie = given.get("set-cookie")?.split(";", 1)[0] ?? ""
  const csrf = session.data.csrf_token as string
  return {
    cookie,
    csrf,
    call: (method, path, headers = {}, body) =>
      at.call(path, {
        method,
        token: null,
        headers: {
          cookie,
          "sec-fetch-site": "same-origin",
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  }
}

const addCat = { add: [{ value: "cat" }] }

describe("signing in", () => {
  test("a token becomes a cookie that no script reads, and that does not hold the token", async () => {
    const response = await signIn({ token: at.app.bearer_token })
    const cookie = response.headers.get("set-cookie") ?? ""
    expect(cookie).toMatch(/^sluice_session=[\w-]{100,}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict$/)
    const sealed = Buffer.from(/=([\w-]+)/.exec(cookie)?.[1] ?? "", "base64url").toString("latin1")
    expect(sealed).not.toContain(at.app.bearer_token.slice(-20))
    expect(response.body.data).toEqual({
      kind: "app",
      application: { id: at.app.application_id, name: "test" },
      csrf_token: expect.stringMatching(/^[\w-]{43}$/) as string,
      expires_at: expect.stringMatching(/Z$/) as string,
      posture: "dev",
      server_time: expect.stringMatching(/Z$/) as string,
    })
  })

  test("behind TLS the cookie is for TLS alone", async () => {
    const origin = at.url.replace("http:", "https:")
    const byOrigin = await signIn({ token: operator }, { origin })
    expect(byOrigin.headers.get("set-cookie")).toMatch(/; Secure$/)
    for (const header of [
      { "x-forwarded-proto": "https" },
      { "x-forwarded-proto": "https,http" },
      { "x-forwarded-proto": " HTTPS , http" },
      { forwarded: "proto=https" },
      { forwarded: "for=192.0.2.60; Proto=https;by=203.0.113.43, for=10.0.0.1;proto=http" },
      { forwarded: 'for="[2001:db8::1]:4711";proto="https"' },
    ]) {
      const { headers } = await signIn({ token: operator }, header)
      expect(headers.get("set-cookie"), JSON.stringify(header)).toMatch(/; Secure$/)
    }
  })

  test("where the proxy nearest to the browser speaks plain http, the cookie is for http too", async () => {
    for (const header of [
      { "x-forwarded-proto": "http,https" },
      { forwarded: "proto=http, proto=https" },
      { forwarded: "for=proto=https" },
    ]) {
      const { status, headers } = await signIn({ token: operator }, header)
      expect([status, headers.get("set-cookie")?.includes("Secure")], JSON.stringify(header)).toEqual([200, false])
    }
  })

  test("a wrong token, an ingest token and no token sign no user in", async () => {
    const ingest = await at.running.apps.createToken("ingest")
    for (const token of [ingest, `sluice_app_${"A".repeat(43)}`, "", "x".repeat(4_000)]) {
      const { status, headers } = await signIn({ token })
      expect([status, headers.get("set-cookie")]).toEqual([401, null])
    }
    expect((await signIn({ token: "x".repeat(5_000) })).status).toBe(413)
    for (const body of [{}, { token: operator, code: "x" }]) expect((await signIn(body)).status).toBe(400)
  })

  test("the code of a link signs in once, and a made-up one never", async () => {
    const link = new URL(at.running.signInLink(operator))
    expect(link.pathname).toBe("/console/sign-in")
    const code = link.hash.replace("#code=", "")
    const [first, second] = [await signIn({ code }), await signIn({ code })]
    expect([first.status, second.status]).toEqual([200, 401])
    expect(first.body.data.kind).toBe("operator")
    expect((await signIn({ code: "A".repeat(43) })).status).toBe(401)
  })

  test("a page of another origin signs no user in", async () => {
    for (const headers of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { origin: "https://evil.example" },
      { origin: "null" },
    ]) {
      const { status, headers: given } = await signIn({ token: operator }, headers)
      expect([status, given.get("set-cookie")]).toEqual([403, null])
    }
  })
})

describe("a session", () => {
  let app: SignedIn
  beforeAll(async () => {
    app = await signedIn(at.app.bearer_token)
  })

  test("authenticates like its token, unless the request has a token", async () => {
    expect((await app.call("GET", paths.rules)).status).toBe(200)
    expect((await app.call("GET", paths.apps)).status).toBe(403)
    expect((await app.call("GET", paths.rules, { authorization: "Bearer x" })).status).toBe(401)
    expect((await app.call("GET", paths.rules, { authorization: "" })).status).toBe(401)
  })

  test("changes nothing without its CSRF token, or with another's", async () => {
    const other = await signedIn(at.app.bearer_token)
    for (const headers of [{}, { "sluice-csrf": "" }, { "sluice-csrf": other.csrf }, { "sluice-csrf": "é" }]) {
      const { status, text } = await app.call("POST", paths.rules, headers, addCat)
      expect(status).toBe(403)
      expect(text).toContain("Sluice-CSRF")
    }
    expect((await app.call("GET", paths.rules)).body.meta.result_count).toBe(0)
    const { status } = await app.call("POST", paths.rules, { "sluice-csrf": app.csrf }, addCat)
    expect(status).toBe(201)
  })

  test("does not authenticate what a page of another origin requests, reads included", async () => {
    for (const headers of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "same-origin, cross-site" },
    ]) {
      expect((await app.call("GET", paths.rules, headers)).status).toBe(401)
      expect((await app.call("POST", paths.rules, { "sluice-csrf": app.csrf, ...headers }, addCat)).status).toBe(401)
    }
    expect((await app.call("GET", paths.rules, { "sec-fetch-site": "same-origin" })).status).toBe(200)
  })

  test("reads with its CSRF token where the browser does not name the requesting page, and not without", async () => {
    const bare = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<number> =>
      (await at.call(path, { token: null, headers: { cookie: app.cookie, ...headers } })).status
    for (const path of [paths.rules, paths.overview, paths.linkDetails, paths.session]) {
      expect([path, await bare(path)]).toEqual([path, 403])
      expect([path, await bare(path, { "sec-fetch-site": "none" })]).toEqual([path, 403])
      expect([path, await bare(path, { "sluice-csrf": app.csrf })]).toEqual([path, 200])
      for (const origin of ["http://127.0.0.1:1", "null"]) {
        expect([path, await bare(path, { origin, "sluice-csrf": app.csrf })]).toEqual([path, 401])
      }
    }
    expect(await bare(paths.rules, { "sluice-csrf": "unknown" })).toBe(403)
    expect(await bare(paths.session, { "sluice-csrf": "unknown" })).toBe(200)
  })

  test("opens no stream by its cookie alone, so that its app's connection stays free", async () => {
    for (const path of [paths.stream, paths.matches]) {
      for (const headers of [{}, { "sluice-csrf": "unknown" }, { "sec-fetch-site": "same-origin" }]) {
        const { status } = await at.call(path, { token: null, headers: { cookie: app.cookie, ...headers } })
        expect([path, status]).toEqual([path, 403])
      }
    }
    await using own = await openStream(at)
    expect(own.response.status).toBe(200)
  })

  test("that is forged, cut or sent twice is invalid", async () => {
    const value = app.cookie.slice("sluice_session=".length)
    const flipped = Buffer.from(value, "base64url")
    flipped[20] = (flipped[20] ?? 0) ^ 1
    for (const cookie of [
      `sluice_session=${flipped.toString("base64url")}`,
      `sluice_session=${value.slice(0, -4)}`,
      "sluice_session=",
      `sluice_session=${Buffer.from(JSON.stringify({ hash: "", until: 9e15 })).toString("base64url")}`,
      `${app.cookie}; ${app.cookie}`,
      `other=${value}`,
    ]) {
      expect((await app.call("GET", paths.rules, { cookie })).status).toBe(401)
    }
    expect((await app.call("GET", paths.rules, { cookie: `a=b; ${app.cookie}; c=d` })).status).toBe(200)
  })

  test("ends with its token: revoked or rotated", async () => {
    const [rotated, revoked] = [await at.newApp(), await at.newApp()]
    const sessions = await Promise.all([signedIn(rotated.app.bearer_token), signedIn(revoked.app.bearer_token)])
    for (const session of sessions) expect((await session.call("GET", paths.rules)).status).toBe(200)
    await at.running.apps.rotate(rotated.app.application_id as never)
    await at.running.apps.revoke(revoked.app.application_id as never)
    for (const session of sessions) expect((await session.call("GET", paths.rules)).status).toBe(401)
  })

  test("ends when its owner signs out, for copies of the cookie too", async () => {
    const session = await signedIn(operator)
    const { status, headers, body } = await session.call("DELETE", paths.session, { "sluice-csrf": session.csrf })
    expect([status, body]).toEqual([200, { data: { ended: true } }])
    expect(headers.get("set-cookie")).toMatch(/^sluice_session=; Path=\/; Max-Age=0;/)
    expect((await session.call("GET", paths.session)).status).toBe(401)
  })

  test("is gone from the browser also when its token has signed out too often", async () => {
    const busy = await at.newApp()
    const signOut = async (): Promise<TestResponse> => {
      const session = await signedIn(busy.app.bearer_token)
      return session.call("DELETE", paths.session, { "sluice-csrf": session.csrf })
    }
    for (let count = 0; count < 60; count += 1) expect((await signOut()).status).toBe(200)
    const { status, headers } = await signOut()
    expect([status, headers.get("set-cookie")]).toEqual([429, expect.stringMatching(/^sluice_session=; .*Max-Age=0;/)])
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0)
  })

  test("of an app shows no data of another app", async () => {
    const other = await at.newApp()
    const session = await signedIn(other.app.bearer_token)
    expect((await session.call("GET", paths.rules)).body.meta.result_count).toBe(0)
    const asOther = await session.call("GET", paths.rules, { "sluice-app": at.app.application_id })
    expect(asOther.status).toBe(404)
  })
})

describe("an operator who acts for an app", () => {
  let other: TestApp
  beforeAll(async () => {
    other = await at.newApp()
    expect((await other.send("POST", paths.rules, { add: [{ value: "heron" }] })).status).toBe(201)
  })

  test("sees and changes the app's own data, by token and by session", async () => {
    const session = await signedIn(operator)
    const headers = { "sluice-app": other.app.application_id }
    const byToken = await at.call(paths.rules, { token: operator, headers })
    const bySession = await session.call("GET", paths.rules, headers)
    for (const { status, body } of [byToken, bySession]) {
      expect(status).toBe(200)
      expect(body.data).toMatchObject([{ value: "heron" }])
    }
    const more = { "sluice-csrf": session.csrf, ...headers }
    expect((await session.call("POST", paths.rules, more, { add: [{ value: "owl" }] })).status).toBe(201)
    expect((await other.call(paths.rules)).body.meta.result_count).toBe(2)
  })

  test("needs the header where a route is for apps, and sees all apps where it is for both", async () => {
    expect((await at.call(paths.rules, { token: operator })).status).toBe(403)
    await at.webhook()
    expect((await at.call(paths.linkDetails, { token: operator })).status).toBe(200)
  })

  test("gets the same response for an app that is revoked, malformed or never existed", async () => {
    const gone = await at.newApp()
    await at.running.apps.revoke(gone.app.application_id as never)
    for (const id of [gone.app.application_id, "1", "x", "' OR 1=1 --", "9999999999999999999"]) {
      const { status, body } = await at.call(paths.rules, { token: operator, headers: { "sluice-app": id } })
      expect(status).toBe(404)
      expect(body.detail).toBe(`Could not find app with Sluice-App: [${id}].`)
    }
  })
})
