/**
 * A page on another port of the console's host name, on plain http: to the cookie it is the same site, and Chromium says
 * nothing of where its requests come from. A loopback address would not do, since Chromium trusts it as it trusts https.
 */
import { paths } from "@sluice/api/paths"
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, test } from "vitest"
import { startDev } from "../../packages/sluice/src/command.testing.ts"
import { launchChromium } from "../support/chromium.testing.ts"
import { openStream } from "../support/open-stream.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { signIn } from "./console.testing.ts"

const hostName = "sluice.test"

test("a page on another port of the host uses no stream connection, and the console itself works there", async () => {
  await using data = await temporaryDirectory()
  await using dev = await startDev(data.path)
  await using browser = await launchChromium(`--host-resolver-rules=MAP ${hostName} 127.0.0.1`)
  const { app } = dev.ready
  const consoleUrl = `http://${hostName}:${new URL(dev.ready.url).port}`
  const rule = await fetch(dev.ready.url + paths.rules, {
    method: "POST",
    headers: { authorization: `Bearer ${app.bearer_token}`, "content-type": "application/json" },
    body: JSON.stringify({ add: [{ value: "heron" }] }),
  })
  expect(rule.status).toBe(201)
  const seen: IncomingHttpHeaders[] = []
  await using foreign = createServer(({ headers, url }, response) => {
    if (url === "/probe") seen.push(headers)
    const images = [paths.stream, paths.matches].map((path) => `<img src="${consoleUrl}${path}">`)
    response.setHeader("content-type", "text/html")
    response.end(`<h1>Elsewhere</h1>${images.join("")}<img src="http://${hostName}:${foreignPort()}/probe">`)
  })
  const foreignPort = (): number => (foreign.address() as AddressInfo).port
  await once(foreign.listen(0, "127.0.0.1"), "listening")

  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${consoleUrl}/console/sign-in`)
  await signIn(page, app.bearer_token)
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  await page.goto(`${consoleUrl}/console/live`)
  await page.getByRole("status").getByText("Live", { exact: true }).waitFor()

  const other = await context.newPage()
  // The page has loaded when its images have: one that a stream comes for would never be complete.
  await other.goto(`http://${hostName}:${foreignPort()}/`, { timeout: 20_000 })
  expect(seen).toMatchObject([{ cookie: expect.stringContaining("sluice_session=") as string }])
  // Or the browser sends more than this test is about.
  expect(seen[0]?.["sec-fetch-site"] ?? seen[0]?.origin).toBeUndefined()
  await using own = await openStream({ url: dev.ready.url, app })
  expect(own.response.status).toBe(200)
})
