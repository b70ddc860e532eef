/** A browser at the console of a `sluice dev` with posts flowing, for the tests of its pages. */
import { mkdir } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { paths } from "@sluice/api/paths"
import axe from "axe-core"
import type { Browser, Page } from "playwright-core"
import { expect } from "vitest"
import { startDev, type DevServer } from "../../packages/sluice/src/command.testing.ts"
import { launchChromium } from "../support/chromium.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"

/** The directory of the screenshots, which people look at. */
const screenshotDirectory = process.env["CONSOLE_SCREENSHOTS"] ?? join(tmpdir(), "sluice-console")

/** A wide and a narrow screen; the narrow one is the smallest that the console promises to fit. */
const sizes = { wide: { width: 1280, height: 860 }, narrow: { width: 390, height: 844 } } as const

/** Two posts in a hundred match the first rule, one the second. Together so many come in a second. */
const postsPerSecond = 20

/** A server, a browser, and an endpoint that takes deliveries. */
export interface ConsoleUnderTest extends AsyncDisposable {
  readonly dev: DevServer
  readonly browser: Browser
  readonly receiver: WebhookReceiver
  /** Id of the webhook at the receiver, which is linked. */
  readonly webhookId: string
  /** A request with the app's token, or another. */
  call(method: string, path: string, body?: unknown, token?: string): Promise<Response>
  /** A page on the console, not signed in. */
  open(path?: string): Promise<Page>
  /** A page on the console, signed in, at this path below the console's own. */
  signedIn(as: "app" | "operator", path?: string): Promise<Page>
}

/** Deviations from the usual browser and server. */
export interface Circumstances {
  /** `false`: no rules, no webhooks and no posts. */
  readonly withTraffic?: boolean
  /** Settings of the server, `SLUICE_…`. */
  readonly env?: Readonly<Record<string, string>>
}

/** Starts all of it. */
export async function startConsole({ withTraffic = true, env = {} }: Circumstances = {}): Promise<ConsoleUnderTest> {
  await using resources = new AsyncDisposableStack()
  const { path: data } = resources.use(await temporaryDirectory())
  const dev = resources.use(await startDev(data, env))
  const browser = resources.use(await launchChromium())
  const { url, app, operator_token: operatorToken } = dev.ready
  const receiver = resources.use(await WebhookReceiver.start(app.consumer_secret))
  const call: ConsoleUnderTest["call"] = (method, path, body, token = app.bearer_token) =>
    fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && {
          "content-type": typeof body === "string" ? "application/x-ndjson" : "application/json",
        }),
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    })
  const webhookId = withTraffic ? await addTraffic(call, receiver, resources) : ""

  const newPage = async (): Promise<Page> => {
    const context = await browser.newContext({ viewport: sizes.wide, permissions: ["clipboard-write"] })
    const page = await context.newPage()
    page.on("pageerror", (error) => expect.unreachable(`the page failed: ${error.message}`))
    return page
  }
  const open: ConsoleUnderTest["open"] = async (path = "/") => {
    const page = await newPage()
    await page.goto(`${url}/console${path}`)
    return page
  }
  const signedIn: ConsoleUnderTest["signedIn"] = async (as, path = "/") => {
    const page = await newPage()
    // Without the page for it, which has a test of its own: each new page loads the whole console.
    const token = as === "app" ? app.bearer_token : operatorToken
    expect((await page.request.post(url + paths.session, { data: { token } })).status()).toBe(200)
    await page.goto(`${url}/console${path}`)
    await page.getByRole("heading", { level: 1 }).waitFor()
    return page
  }
  const started = resources.move()
  return {
    dev,
    browser,
    receiver,
    webhookId,
    call,
    open,
    signedIn,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** Enters a token in the sign-in page. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Bearer token").fill(token)
  await page.getByRole("button", { name: "Sign in" }).click()
}

/** Rules, a linked webhook, and posts that come as long as the server runs. */
async function addTraffic(
  call: ConsoleUnderTest["call"],
  receiver: WebhookReceiver,
  resources: AsyncDisposableStack,
): Promise<string> {
  await mustSucceed(
    call("POST", paths.rules, {
      add: [
        { value: "heron OR kingfisher", tag: "birds" },
        { value: '"night market" -is:retweet', tag: "market" },
      ],
    }),
  )
  const webhook = await mustSucceed(call("POST", paths.webhooks, { url: `${receiver.url}/hook` }))
  const { id } = ((await webhook.json()) as { data: { id: string } }).data
  await mustSucceed(call("POST", paths.link.replace(":webhook_id", id)))
  let next = 1
  const flow = setInterval(() => {
    const lines = Array.from({ length: postsPerSecond / 4 }, () => JSON.stringify(postOf(next++)))
    void call("POST", paths.posts, `${lines.join("\n")}\n`).catch(() => undefined)
  }, 250)
  resources.defer(() => clearInterval(flow))
  return id
}

/** The n-th post of the flow, as an envelope. */
function postOf(n: number): unknown {
  const text =
    n % 5 === 0 ? "A heron stood at the sluice." : n % 11 === 0 ? "See you at the night market!" : "Good morning."
  return {
    data: { id: String(1_000_000 + n), text: `${text} ${n}`, author_id: "42", created_at: new Date().toISOString() },
    includes: { users: [{ id: "42", username: "wren", name: "Wren" }] },
  }
}

async function mustSucceed(request: Promise<Response>): Promise<Response> {
  const response = await request
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`)
  return response
}

/**
 * Checks a page as it stands, wide and narrow, light and dark: axe finds nothing, and nothing is wider than the screen.
 * Keeps a screenshot of each.
 */
export async function expectAccessible(page: Page, name: string): Promise<void> {
  await mkdir(screenshotDirectory, { recursive: true })
  await page.evaluate(axe.source)
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport)
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
      await colorsSettled(page, colorScheme)
      const what = `${name}, ${size}, ${colorScheme}`
      await page.screenshot({ path: join(screenshotDirectory, `${name}-${size}-${colorScheme}.png`) })
      expect(await faultsOf(page, colorScheme), what).toEqual([])
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      expect(overflow, `${what}: px beyond the screen`).toBeLessThanOrEqual(0)
    }
  }
  await page.setViewportSize(sizes.wide)
  await page.emulateMedia({ colorScheme: "light", reducedMotion: null })
}

/** Resolves when the page has the colours of a scheme: a transition between two would have those of neither. */
async function colorsSettled(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.waitForFunction(
    (scheme) =>
      matchMedia(`(prefers-color-scheme: ${scheme})`).matches &&
      !document.getAnimations().some((animation) => animation instanceof CSSTransition),
    colorScheme,
  )
}

/**
 * Violations that axe finds of WCAG A and AA, and of its own good practice; in the dark only those of colours, which is all
 * that a scheme changes.
 */
function faultsOf(page: Page, colorScheme: "light" | "dark"): Promise<readonly string[]> {
  return page.evaluate(async (scheme) => {
    const { axe: inPage } = globalThis as unknown as { axe: typeof axe }
    const { violations } = await inPage.run(document, {
      resultTypes: ["violations"],
      ...(scheme === "dark" && { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } }),
    })
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}: ${failureSummary ?? ""}`),
    )
  }, colorScheme)
}
