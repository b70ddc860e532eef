import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { gunzipSync, gzipSync } from "node:zlib"
import { get } from "node:http"
import { buffer } from "node:stream/consumers"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { afterAll, beforeAll, expect, test } from "vitest"
import { loadConfig, startServer, type RunningServer } from "../../index.ts"
import { temporaryDirectory } from "../../../../../test/support/temporary-directory.testing.ts"
import { rawResponses } from "../../../../../test/support/raw-http.testing.ts"

const resources = new AsyncDisposableStack()
let directory: string
let running: RunningServer

beforeAll(async () => {
  const { path } = resources.use(await temporaryDirectory())
  directory = join(path, "console")
  await writeFile(join(path, "secret.js"), "secret")
  const flags = { port: "0", "log-level": "silent", data: join(path, "data") }
  running = await startServer(loadConfig({ posture: "dev", flags, env: {} }), { consoleDirectory: directory })
  resources.defer(() => running.close())
})
afterAll(() => resources.disposeAsync())

/** A response as it came, not decompressed. */
async function fetched(path: string, headers: Readonly<Record<string, string>> = {}) {
  const [response] = (await once(get(`${running.url}${path}`, { headers }), "response")) as [IncomingMessage]
  return { status: response.statusCode, headers: response.headers, bytes: await buffer(response) }
}

test("until the console is built its page explains how to build it; then it is served without a restart", async () => {
  const before = await fetched("/console")
  expect(before.status).toBe(404)
  expect(before.bytes.toString()).toContain("npm run build -w @sluice/console")
  await mkdir(join(directory, "assets"), { recursive: true })
  const script = "console.log(1)"
  await writeFile(join(directory, "assets/index-abc.js"), script)
  await writeFile(join(directory, "assets/index-abc.js.gz"), gzipSync(script))
  await writeFile(join(directory, "theme.js"), "1")
  await writeFile(join(directory, "index.html"), '<script nonce="__CSP_NONCE__"></script><meta nonce="__CSP_NONCE__">')
  expect((await fetched("/console")).status).toBe(200)
})

test("every route has the page, each time with another nonce, under a policy that allows no inline script", async () => {
  const nonces = new Set<string>()
  for (const path of ["/console", "/console/", "/console/rules", "/console/rules/1?tab=x", "/console/index.html"]) {
    const { status, headers, bytes } = await fetched(path)
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"])
    expect(headers["cache-control"]).toContain("no-store")
    const policy = String(headers["content-security-policy"])
    const nonce = /style-src 'self' 'nonce-([\w+/=]{24})'/.exec(policy)?.[1] ?? ""
    expect(bytes.toString()).toBe(`<script nonce="${nonce}"></script><meta nonce="${nonce}">`)
    expect(policy).toContain("default-src 'none'; script-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain("unsafe")
    nonces.add(nonce)
  }
  expect(nonces.size).toBe(5)
})

test("an asset may be cached forever, and is compressed for clients that accept that", async () => {
  const plain = await fetched("/console/assets/index-abc.js")
  expect(plain.headers).toMatchObject({
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
    vary: "Accept-Encoding",
  })
  expect(plain.headers["content-encoding"]).toBeUndefined()
  const gzip = await fetched("/console/assets/index-abc.js", { "accept-encoding": "br, gzip;q=0.8" })
  expect(gzip.headers["content-encoding"]).toBe("gzip")
  const refused = await fetched("/console/assets/index-abc.js", { "accept-encoding": "br;q=0, gzip; Q=0.0" })
  expect(refused.headers["content-encoding"]).toBeUndefined()
  expect(gunzipSync(gzip.bytes)).toEqual(plain.bytes)
  expect((await fetched("/console/theme.js")).headers["cache-control"]).toContain("no-store")
})

test("no path leads out of the directory, and a missing asset does not return a page", async () => {
  expect((await fetched("/console/assets/index-old.js")).status).toBe(404)
  for (const path of [
    "/console/../secret.js",
    "/console/%2e%2e/secret.js",
    "/console/..%2fsecret.js",
    "/console//etc/passwd",
  ]) {
    const [response] = await rawResponses(running.url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(response?.text).not.toContain("secret")
    expect(response?.text).not.toContain("root:")
  }
})

test("the console accepts GET and HEAD, and names them to other methods", async () => {
  for (const path of ["/console", "/console/rules"]) {
    const { status, headers } = await fetch(running.url + path, { method: "POST" })
    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD"])
  }
})
