import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { MastodonServer } from "../../packages/server/src/sources/mastodon/mastodon-server.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { expectAccessible, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

const resources = new AsyncDisposableStack()
let at: ConsoleUnderTest
let oat: MastodonServer

beforeAll(async () => {
  const directory = resources.use(await temporaryDirectory())
  oat = resources.use(
    await MastodonServer.start({ access: { live_feeds: { local: "public", remote: "authenticated" } } }),
  )
  const rye = resources.use(await MastodonServer.start({ token: "secret" }))
  const config = join(directory.path, "sluice.json")
  const source = { type: "mastodon", healMax: 40 }
  await writeFile(
    config,
    JSON.stringify({
      sources: [
        { ...source, name: "oats", host: "oat.example", url: oat.url },
        { ...source, name: "ryes", host: "rye.example", url: rye.url, number: 1 },
      ],
    }),
  )
  at = resources.use(await startConsole({ withTraffic: false, env: { SLUICE_CONFIG: config } }))
})

afterAll(() => resources.disposeAsync())

test("the sources are listed with what they do, and what keeps their posts away", async () => {
  const page = await at.signedIn("operator", "/sources")
  const rows = page.getByRole("region", { name: "Sources" }).getByRole("row")
  await rows.filter({ hasText: "oats" }).filter({ hasText: "running" }).filter({ hasText: "1 notice" }).waitFor()
  await rows.filter({ hasText: "ryes" }).filter({ hasText: "Missing access token" }).waitFor()
  await expectAccessible(page, "sources")
  await page.getByRole("link", { name: "ryes" }).click()
  await page.getByRole("heading", { name: "ryes" }).waitFor()
  await page.getByText("Set or check the token of the source").waitFor()
  await expectAccessible(page, "source-failing")
})

test("a source is paused, resumed and rewound, and shows its gaps", async () => {
  const page = await at.signedIn("operator", "/sources/oats")
  await page.getByText("to accounts only").waitFor()
  oat.publish(["public"])
  await page.getByText("1 new post", { exact: true }).waitFor()
  await page.getByRole("button", { name: "Pause", exact: true }).click()
  await page.getByText("Paused oats.").waitFor()
  await page.getByText("paused", { exact: true }).waitFor()
  await expect.poll(() => oat.subscribed).toEqual([])
  oat.keep(["public"], ...Array.from({ length: 200 }, () => oat.status()))
  await page.getByRole("button", { name: "Resume" }).click()
  await page.getByText("running", { exact: true }).waitFor()
  await page.getByRole("region", { name: "Gaps" }).getByText("more than 40 posts").waitFor()
  await page.getByRole("button", { name: "Rewind …" }).click()
  await page.getByLabel("Begin again at").waitFor()
  await expectAccessible(page, "source-rewind")
  await page.getByRole("dialog").getByRole("button", { name: "Rewind" }).click()
  await page.getByText("Rewound oats.").waitFor()
  await expectAccessible(page, "source")
})

test("dead letters of a source are inspected, repeated and discarded", async () => {
  const page = await at.signedIn("operator", "/sources/oats")
  await page.getByText("No dead letters").waitFor()
  await expect.poll(() => oat.subscribed).toEqual(["public"])
  oat.sendText('{"no":"event"}')
  const letters = page.getByRole("region", { name: "Dead letters" })
  await letters.getByText("Invalid Record").waitFor()
  await letters.getByRole("button", { name: /^Inspect Invalid Record/ }).click()
  await page.getByRole("dialog").getByText('{"no":"event"}').waitFor()
  await expectAccessible(page, "source-dead-letter")
  await page.keyboard.press("Escape")
  await letters.getByRole("checkbox").check()
  await page.getByRole("button", { name: "Repeat 1" }).click()
  await page.getByText("Converted 1 dead letter again. 1 record became dead letters again.").waitFor()
  await letters.getByRole("checkbox").check()
  await page.getByRole("button", { name: "Discard 1" }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "Discard" }).click()
  await page.getByText("Discarded 1 dead letter.").waitFor()
  await page.getByText("No dead letters").waitFor()
})

test("an app sees no sources", async () => {
  const page = await at.signedIn("app", "/sources")
  await page.getByText("Page not found").waitFor()
  expect(await page.getByRole("link", { name: "Sources" }).count()).toBe(0)
})
