import { setTimeout as sleep } from "node:timers/promises"
import { paths } from "@sluice/api"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { basicCredentials } from "./auth.ts"
import { startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { connectTo, everything, rawResponses } from "../../../../test/support/raw-http.testing.ts"
import { problemBody } from "./problem-bodies.testing.ts"

let at: TestServer
beforeAll(async () => {
  at = await startTestServer()
})
afterAll(async () => {
  expect((await at.call(paths.links)).status).toBe(200)
  await at[Symbol.asyncDispose]()
})

const unauthorized = problemBody(401, "Unauthorized", "Unauthorized")

/** Header lines that do not say who is there; `T` stands for the app's token. */
const refused: Readonly<Record<string, string>> = {
  missing: "",
  empty: "Authorization:",
  "only spaces": "Authorization:    ",
  "the scheme alone": "Authorization: Bearer",
  "the scheme and a space": "Authorization: Bearer ",
  "no scheme": "Authorization: T",
  "no space": "Authorization: BearerT",
  "another scheme": "Authorization: Token T",
  Basic: "Authorization: Basic VDpU",
  "Basic with the token": "Authorization: Basic T",
  Digest: 'Authorization: Digest username="x"',
  "OAuth next to it": 'Authorization: OAuth oauth_token="T"\r\nAuthorization: Bearer T',
  "the scheme twice": "Authorization: Bearer Bearer T",
  "a tab for the space": "Authorization: Bearer\tT",
  "two tokens": "Authorization: Bearer T T",
  "two tokens with a comma": "Authorization: Bearer T, Bearer T",
  "a comma after it": "Authorization: Bearer T,",
  "in quotes": 'Authorization: Bearer "T"',
  "in angle brackets": "Authorization: Bearer <T>",
  "a parameter": "Authorization: Bearer token=T",
  "two headers": "Authorization: Bearer T\r\nAuthorization: Bearer T",
  "two headers, the wrong one first": "Authorization: Bearer x\r\nAuthorization: Bearer T",
  "two headers in two spellings": "Authorization: Bearer T\r\nAUTHORIZATION: Bearer x",
  "an empty one next to it": "Authorization: Bearer T\r\nAuthorization:",
  "one character short": "Authorization: Bearer S",
  "one character more": "Authorization: Bearer Tx",
  "padding after it": "Authorization: Bearer T=",
  "upper case": "Authorization: Bearer U",
  "the prefix alone": "Authorization: Bearer sluice_app_",
  "another kind's prefix": "Authorization: Bearer O",
  "a made-up token": `Authorization: Bearer sluice_app_${"A".repeat(43)}`,
  "a made-up operator": `Authorization: Bearer sluice_operator_${"A".repeat(43)}`,
  "an old guess": "Authorization: Bearer admin",
  "a JWT": "Authorization: Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.",
  "another header": "X-Authorization: Bearer T",
  "a proxy's header": "Proxy-Authorization: Bearer T",
  "a cookie": "Cookie: access_token=T",
  "Latin-1": "Authorization: Bearer \u00e9\u00e8",
  "UTF-8": "Authorization: Bearer 名前",
  "percent-encoded": "Authorization: Bearer %73luice",
  SQL: "Authorization: Bearer ' OR 1=1 --",
  "15 KiB": `Authorization: Bearer ${"a".repeat(15_000)}`,
  revoked: "Authorization: Bearer R",
  rotated: "Authorization: Bearer P",
}

describe("requests without a valid token", () => {
  let revoked = ""
  let rotated = ""
  beforeAll(async () => {
    const gone = await at.running.apps.create("gone")
    revoked = gone.bearer_token
    expect((await at.call(paths.links, { token: revoked })).status).toBe(200)
    await at.running.apps.revoke(gone.application_id as never)
    const turned = await at.running.apps.create("turned")
    rotated = turned.bearer_token
    expect((await at.call(paths.links, { token: rotated })).status).toBe(200)
    await at.running.apps.rotate(turned.application_id as never)
  })

  test.each(Object.entries(refused))(
    "the Authorization header [%s] gets the same 401 to the byte",
    async (_name, lines) => {
      const token = at.app.bearer_token
      const values: Readonly<Record<string, string>> = {
        T: token,
        S: token.slice(0, -1),
        U: token.toUpperCase(),
        O: token.replace("_app_", "_operator_"),
        R: revoked,
        P: rotated,
      }
      const header = lines.replaceAll(/\b([TSUORP])(?=\b|x\b|=)/g, (letter) => values[letter] ?? letter)
      const [response] = await rawResponses(
        at.url,
        Buffer.from(
          `GET ${paths.links} HTTP/1.1\r\nHost: x\r\n${header === "" ? "" : `${header}\r\n`}Connection: close\r\n\r\n`,
        ),
      )
      expect(response?.status).toBe(401)
      expect(response?.text).toBe(JSON.stringify(unauthorized))
      expect(response?.headers.get("www-authenticate")).toBe("Bearer")
      expect(response?.headers.get("content-type")).toBe("application/problem+json; charset=utf-8")
      expect(response?.headers.has("x-rate-limit-limit")).toBe(false)
    },
  )

  test("a token in the query does not authenticate, and the query is not validated", async () => {
    const { status, body } = await at.call(`${paths.links}?access_token=${at.app.bearer_token}`, {
      token: null,
    })
    expect(status).toBe(401)
    expect(body).toEqual(unauthorized)
  })

  test("a token of 1 MB makes the head too large", async () => {
    const [response] = await rawResponses(
      at.url,
      `GET ${paths.links} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${"a".repeat(1_000_000)}\r\n\r\n`,
    )
    expect(response?.status).toBe(431)
    expect(JSON.parse(response?.text ?? "")).toEqual(
      problemBody(
        431,
        "Request Header Fields Too Large",
        "The head of the request is larger than 16384 bytes or has more than 256 headers.",
      ),
    )
  })

  test("parameters and bodies are not validated before the token", async () => {
    const query = await at.call(`${paths.links}?nonsense=1`, { token: null })
    const body = await at.send("POST", paths.rules, "{", "wrong")
    expect([query.status, body.status]).toEqual([401, 401])
  })
})

test.each(["bearer", "BEARER", "bEaReR"])("the scheme may be written %s, as in RFC 9110", async (scheme) => {
  const { status } = await at.call(paths.links, {
    token: null,
    headers: { authorization: `${scheme} ${at.app.bearer_token}` },
  })
  expect(status).toBe(200)
})

test("spaces around the token and before it are accepted as HTTP allows", async () => {
  const { status } = await at.call(paths.links, {
    token: null,
    headers: { authorization: `  Bearer   ${at.app.bearer_token}  ` },
  })
  expect(status).toBe(200)
})

const forbidden = (kind: string, supported: string): unknown =>
  problemBody(
    403,
    "Unsupported Authentication",
    `Authenticating with ${kind} is forbidden for this endpoint.  Supported authentication types are [${supported}].`,
    "https://api.x.com/2/problems/unsupported-authentication",
  )

describe("tokens of another kind", () => {
  test.each(["ingest", "operator"] as const)("an %s token gets 403 on every route of X's API", async (kind) => {
    const token = await at.running.apps.createToken(kind)
    const name = kind === "ingest" ? "Ingest" : "Operator"
    for (const path of [paths.links, paths.rules, paths.ruleCounts, paths.webhooks, paths.stream]) {
      const { status, body } = await at.call(path, { token })
      expect(status).toBe(403)
      expect(body).toEqual(forbidden(`${name} Token`, "OAuth 2.0 Application-Only"))
    }
    const ofUsers = "OAuth 1.0a User Context, OAuth 2.0 Application-Only, OAuth 2.0 User Context"
    for (const path of ["/2/users/1/tweets", `${paths.users}?ids=1`, paths.userSearch]) {
      const { status, body } = await at.call(path, { token })
      expect(status).toBe(403)
      expect(body).toEqual(forbidden(`${name} Token`, ofUsers))
    }
  })

  test("an operator sees the state of links, and an ingest token does not", async () => {
    const operator = await at.running.apps.createToken("operator")
    const ingest = await at.running.apps.createToken("ingest")
    expect((await at.call(paths.linkDetails, { token: operator })).status).toBe(200)
    const { status, body } = await at.call(paths.linkDetails, { token: ingest })
    expect(status).toBe(403)
    expect(body).toEqual(forbidden("Ingest Token", "OAuth 2.0 Application-Only, Operator Token"))
  })

  test.each(["ingest", "operator"] as const)("posts may be sent with an %s token", async (kind) => {
    const { status, body } = await at.call(paths.posts, {
      method: "POST",
      token: await at.running.apps.createToken(kind),
      headers: { "content-type": "application/x-ndjson" },
      body: "",
    })
    expect(status).toBe(200)
    expect(body).toEqual({ lines: 0, accepted: 0, duplicates: 0, rejected: [], rejected_count: 0 })
  })
})

test("an OAuth 1.0a signature is refused in X's words, which name the supported kinds", async () => {
  const signature =
    'OAuth oauth_consumer_key="k", oauth_nonce="n", oauth_signature="s%3D", oauth_signature_method="HMAC-SHA1", ' +
    'oauth_timestamp="1318622958", oauth_token="t", oauth_version="1.0"'
  for (const [method, path, supported] of [
    ["GET", paths.rules, "OAuth 2.0 Application-Only"],
    ["POST", paths.webhooks, "OAuth 2.0 Application-Only"],
    ["GET", paths.stream, "OAuth 2.0 Application-Only"],
    ["GET", paths.linkDetails, "OAuth 2.0 Application-Only, Operator Token"],
    ["GET", `${paths.users}?ids=1`, "OAuth 2.0 Application-Only, OAuth 2.0 User Context"],
    ["GET", paths.me, "OAuth 2.0 User Context"],
  ] as const) {
    const { status, body, headers } = await at.call(path, {
      method,
      token: null,
      headers: { authorization: signature },
    })
    expect(status).toBe(403)
    expect(body).toEqual(forbidden("OAuth 1.0a User Context", supported))
    expect(headers.get("www-authenticate")).toBeNull()
  }
})

test("in the serve posture an app's token may not send posts", async () => {
  await using strict = await startTestServer({}, "serve")
  const { status, body } = await strict.call(paths.posts, {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: "",
  })
  expect(status).toBe(403)
  expect(body).toMatchObject({ title: "Unsupported Authentication" })
})

describe("POST /oauth2/token", () => {
  const askFor = (authorization: string | undefined, form: string) =>
    at.call(paths.oauthToken, {
      method: "POST",
      token: null,
      headers: {
        "content-type": "application/x-www-form-urlencoded;charset=UTF-8",
        ...(authorization === undefined ? {} : { authorization }),
      },
      body: form,
    })
  const basic = (key: string, secret: string): string => `Basic ${Buffer.from(`${key}:${secret}`).toString("base64")}`
  const refusal = (code: number, message: string, label: string): unknown => {
    const head = { title: "Forbidden", type: "about:blank", detail: message, status: 403 }
    return { ...head, message, errors: [{ ...head, code, message, label }] }
  }
  const wrong = refusal(99, "Unable to verify your credentials", "authenticity_token_error")

  test("the token route returns the app's bearer token, the same every time", async () => {
    const { consumer_key, consumer_secret, bearer_token } = at.app
    for (const encode of [(text: string) => text, encodeURIComponent]) {
      const response = await askFor(
        basic(encode(consumer_key), encode(consumer_secret)),
        "grant_type=client_credentials",
      )
      expect(response.status).toBe(200)
      expect(response.body).toEqual({ token_type: "bearer", access_token: bearer_token })
    }
  })

  test.each([
    ["no credentials", undefined],
    ["a wrong secret", "wrong secret"],
    ["another app's secret", "other"],
    ["a wrong key", basic("key", "secret")],
    ["no colon", `Basic ${btoa("key")}`],
    ["an empty secret", `Basic ${btoa("key:")}`],
    ["not base64", "Basic ???"],
    ["broken percent-encoding", basic("%zz", "%zz")],
    ["a bearer token", "bearer"],
  ])("the token route refuses %s with X's 403", async (name, given) => {
    const { consumer_key, bearer_token } = at.app
    const authorization =
      name === "a wrong secret"
        ? basic(consumer_key, "x".repeat(64))
        : name === "another app's secret"
          ? basic(consumer_key, (await at.newApp()).app.consumer_secret)
          : given === "bearer"
            ? `Bearer ${bearer_token}`
            : given
    const { status, body } = await askFor(authorization, "grant_type=client_credentials")
    expect(status).toBe(403)
    expect(body).toEqual(wrong)
  })

  test("the token route requires a grant type, and accepts client credentials only", async () => {
    const { consumer_key, consumer_secret } = at.app
    const missing = await askFor(basic(consumer_key, consumer_secret), "a=b")
    expect(missing.status).toBe(403)
    expect(missing.body).toEqual(refusal(170, "Missing required parameter: grant_type", "forbidden_missing_parameter"))
    const password = await askFor(basic(consumer_key, consumer_secret), "grant_type=password")
    expect(password.body).toEqual(wrong)
    const twice = await askFor(
      basic(consumer_key, consumer_secret),
      "grant_type=client_credentials&grant_type=client_credentials",
    )
    expect(twice.body).toEqual(wrong)
  })

  test("the grant type may stand in the query, without a form", async () => {
    const { consumer_key, consumer_secret, bearer_token } = at.app
    const ask = (query: string, body: string) =>
      at.call(`${paths.oauthToken}?${query}`, {
        method: "POST",
        token: null,
        headers: {
          "content-type": "application/x-www-form-urlencoded;charset=UTF-8",
          authorization: basic(consumer_key, consumer_secret),
        },
        body,
      })
    expect((await ask("grant_type=client_credentials", "")).body).toEqual({
      token_type: "bearer",
      access_token: bearer_token,
    })
    expect((await ask("grant_type=password", "")).body).toEqual(wrong)
    expect((await ask("grant_type=client_credentials", "grant_type=client_credentials")).body).toEqual(wrong)
    const none = await at.call(paths.oauthToken, { method: "POST", token: null })
    expect(none.body).toEqual(refusal(170, "Missing required parameter: grant_type", "forbidden_missing_parameter"))
  })

  test("the token route refuses a body that is not a form with 415, and one of 9 KB with 413", async () => {
    const json = await at.send("POST", paths.oauthToken, { grant_type: "client_credentials" })
    expect(json.status).toBe(415)
    expect(json.body).toEqual(
      problemBody(
        415,
        "Unsupported Media Type",
        "This route takes a body of the content type application/x-www-form-urlencoded, and of no other.",
      ),
    )
    const large = await askFor(undefined, "a".repeat(9_000))
    expect(large.status).toBe(413)
    expect(large.body).toEqual(problemBody(413, "Payload Too Large", "The body is larger than 8192 bytes."))
  })
})

test("the name of the header may be written in any case", async () => {
  const [response] = await rawResponses(
    at.url,
    `GET ${paths.links} HTTP/1.1\r\nHost: x\r\nAuThOrIzAtIoN: Bearer ${at.app.bearer_token}\r\nConnection: close\r\n\r\n`,
  )
  expect(response?.status).toBe(200)
})

test("Basic credentials are split at the first colon and percent-decoded", () => {
  const rawHeaders = ["Authorization", `basic ${btoa("a%3Ab:c:d")}`]
  expect(basicCredentials({ rawHeaders })).toEqual({ key: "a:b", secret: "c:d" })
})

test("a change of rules whose app is revoked before its body has come is refused, and nothing is matched by it", async () => {
  const app = await at.newApp()
  const body = JSON.stringify({ add: [{ value: "heron" }] })
  const socket = await connectTo(at.url)
  const received = everything(socket, 10_000)
  socket.write(
    `POST ${paths.rules} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${app.app.bearer_token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
  )
  // The token is read as soon as the head has come.
  await sleep(200)
  await at.running.apps.revoke(app.app.application_id as never)
  socket.write(body.slice(-1))
  expect((await received).toString()).toMatch(/^HTTP\/1\.1 401 /)
})
