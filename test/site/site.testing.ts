/** The built site behind a plain static server, in a browser. */
import { readFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { extname, join, normalize } from "node:path"
import { fileURLToPath } from "node:url"
import type { Browser, Page } from "playwright-core"
import { expect } from "vitest"
import { launchChromium } from "../support/chromium.testing.ts"

/** The built site. */
export const siteDirectory = fileURLToPath(new URL("../../dist-site", import.meta.url))

/** The site below a path, as hosts of project pages serve it. */
const base = "/sluice/"

const contentTypes: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
}

/** A page of the site, and every request that it has made. */
interface OpenPage extends AsyncDisposable {
  readonly page: Page
  readonly requests: readonly string[]
}

/** The server and the browser. */
export interface SiteUnderTest extends AsyncDisposable {
  /** The address of the site, with a slash at its end. */
  readonly url: string
  /** Opens an address in a browser without history, storage or cache. A page that fails or breaks its policy fails the test. */
  open(path: string): Promise<OpenPage>
}

/** Starts both. */
export async function startSite(): Promise<SiteUnderTest> {
  await using resources = new AsyncDisposableStack()
  const browser = resources.use(await launchChromium())
  const url = await serve(resources)
  const started = resources.move()
  return {
    url,
    open: (path) => openPage(browser, path.startsWith("http") ? path : url + path),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

async function serve(resources: AsyncDisposableStack): Promise<string> {
  const respond = async ({ url = "/" }: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(url, "http://localhost")
    const file = normalize(join(siteDirectory, decodeURIComponent(pathname.slice(base.length)) || "index.html"))
    const bytes = await readFile(file).catch(() => undefined)
    const isThere = pathname.startsWith(base) && file.startsWith(siteDirectory) && bytes !== undefined
    response.writeHead(isThere ? 200 : 404, { "content-type": contentTypes[extname(file)] ?? "text/plain" })
    response.end(isThere ? bytes : "")
  }
  const server = createServer((request, response) => void respond(request, response))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  resources.defer(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`
}

async function openPage(browser: Browser, url: string): Promise<OpenPage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    permissions: ["clipboard-read", "clipboard-write"],
  })
  const page = await context.newPage()
  const requests: string[] = []
  page.on("request", (request) => requests.push(request.url()))
  page.on("pageerror", (error) => expect.unreachable(`the page failed: ${error.message}`))
  page.on("console", (message) => {
    // Chromium itself tries to style the text that a test writes into the editor, and the policy refuses it.
    const isOfEditing = message.text().startsWith("Applying inline style violates")
    if (!isOfEditing && /Content Security Policy/.test(message.text())) expect.unreachable(message.text())
  })
  await page.goto(url)
  return { page, requests, [Symbol.asyncDispose]: () => context.close() }
}
