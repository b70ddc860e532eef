/** The server ends while pages are open, and comes back: every page says so, and believes nothing meanwhile. */
import { paths } from "@sluice/api/paths"
import { expect, test } from "vitest"
import { startDev } from "../../packages/sluice/src/command.testing.ts"
import { launchChromium } from "../support/chromium.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { expectAccessible, signIn } from "./console.testing.ts"

/** The outline of the icon that says all is well. */
const tick = 'main svg path[d^="m5 12.5"]'

test("while the server is gone each page names the time and shows no tick, and resumes when it is back", async () => {
  await using data = await temporaryDirectory()
  await using first = await startDev(data.path)
  await using browser = await launchChromium()
  const { url, app, operator_token: operatorToken } = first.ready
  await using receiver = await WebhookReceiver.start(app.consumer_secret)
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${app.bearer_token}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    expect(response.ok).toBe(true)
    return response.json()
  }
  await call("POST", paths.rules, { add: [{ value: "heron", tag: "birds" }] })
  const added = (await call("POST", paths.webhooks, { url: `${receiver.url}/hook` })) as { data: { id: string } }
  await call("POST", paths.link.replace(":webhook_id", added.data.id))

  const context = await browser.newContext({ viewport: { width: 1280, height: 860 } })
  const opened = await Promise.all(
    [
      ["overview", "/"],
      ["rules", "/rules"],
      ["live", "/live"],
      ["webhooks", "/webhooks"],
      ["webhook", `/webhooks/${added.data.id}`],
      ["posts", "/posts"],
      ["search", "/search?query=heron"],
      ["apps", "/apps"],
      ["trouble", "/trouble"],
    ].map(async ([name = "", path = ""]) => ({ name, path, page: await context.newPage() })),
  )
  const [overview] = opened
  await overview?.page.goto(`${url}/console/sign-in`)
  if (overview !== undefined) await signIn(overview.page, operatorToken)
  await overview?.page.getByText("No problems.").waitFor()
  for (const { page, path } of opened) {
    await page.goto(`${url}/console${path}`)
    await page.getByRole("heading", { level: 1 }).waitFor()
    await page.locator("[aria-busy=true]").first().waitFor({ state: "detached" })
    expect(await page.getByText(/^No connection since/).count()).toBe(0)
  }
  expect(await overview?.page.locator(tick).count()).toBeGreaterThan(0)

  await first.process[Symbol.asyncDispose]()
  for (const { name, page } of opened) {
    await page.bringToFront()
    await page
      .getByRole("alert")
      .getByText(/^No connection since \d\d:\d\d:\d\d\. Trying/)
      .waitFor()
    expect([name, await page.locator(tick).count()]).toEqual([name, 0])
    expect([name, await page.getByText("No problems.").count()]).toEqual([name, 0])
    // The page keeps what it knew, and fails nowhere else.
    expect([name, await page.getByRole("heading", { level: 1 }).count()]).toEqual([name, 1])
    expect([name, await page.getByRole("button", { name: "Try again" }).count()]).toEqual([name, 0])
    if (["overview", "webhook", "live"].includes(name)) await expectAccessible(page, `lost-${name}`)
  }

  await using second = await startDev(data.path, {}, new URL(url).port)
  expect(second.ready.url).toBe(url)
  for (const { name, page } of opened) {
    await page.bringToFront()
    await expect.poll(() => page.getByText(/^No connection since/).count(), { message: name }).toBe(0)
    expect([name, await page.getByRole("button", { name: "Try again" }).count()]).toEqual([name, 0])
  }
  await overview?.page.bringToFront()
  await overview?.page.getByText("No problems.").waitFor()
})
