import { paths } from "@sluice/api/paths"
import { afterAll, beforeAll, expect, test } from "vitest"
import { signIn, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let at: ConsoleUnderTest
beforeAll(async () => {
  at = await startConsole()
})
afterAll(() => at[Symbol.asyncDispose]())

test("an app sees its own rules and matches, and receives no data of another app", async () => {
  const { data } = (await (await at.call("GET", paths.rules)).json()) as { data: readonly { id: string }[] }
  const made = await at.call("POST", paths.apps, { name: "other" }, at.dev.ready.operator_token)
  const { bearer_token: token } = ((await made.json()) as { data: { bearer_token: string } }).data
  await at.call("POST", paths.rules, { add: [{ value: "bittern", tag: "reeds" }] }, token)

  const page = await at.open("/sign-in")
  const sent: string[] = []
  page.on("response", (response) => {
    const { pathname } = new URL(response.url())
    if (!/^\/(2|sluice)\//.test(pathname)) return
    // The live matches have no end: what they show is looked at in the page.
    if (!response.headers()["content-type"]?.includes("json") || pathname === paths.matches) return
    void response.text().then(
      (text) => sent.push(text),
      () => undefined,
    )
  })
  await signIn(page, token)
  const open = async (path: string): Promise<void> => void (await page.goto(`${at.dev.ready.url}/console${path}`))
  const main = page.getByRole("main")

  await page.getByRole("link", { name: /^Rules.*1.*in use$/ }).waitFor()
  await page.getByRole("link", { name: /^Links.*0.*of webhooks$/ }).waitFor()

  await open("/rules")
  await main.getByText("bittern").first().waitFor()
  expect(await main.getByRole("region", { name: "Rules" }).getByRole("listitem").count()).toBe(1)
  await open(`/rules/${data[0]?.id ?? ""}`)
  await page.getByRole("heading", { name: "Rule not found" }).waitFor()

  await open("/live")
  await page.getByText("Live", { exact: true }).last().waitFor()
  // A rule of each app matches it.
  await at.call("POST", paths.posts, '{"data":{"id":"77","text":"A bittern and a heron.","author_id":"42"}}\n')
  await main.getByText("A bittern and a heron.").waitFor()
  const rows = main.getByRole("region", { name: "Matches" }).getByRole("listitem")
  expect(await rows.count()).toBe(1)
  expect(await rows.textContent()).toContain("reeds")
  expect(await rows.textContent()).not.toContain("birds")

  // Posts belong to no app; who matched them does.
  await open("/posts/77")
  await main.getByText("reeds").waitFor()
  await open("/webhooks")
  await page.getByText("No webhooks yet").waitFor()
  await open("/trouble")
  await page.getByText("No active faults").waitFor()

  const secrets = ["birds", at.webhookId, at.receiver.url, at.dev.ready.app.application_id, ...data.map(({ id }) => id)]
  expect(sent.length).toBeGreaterThan(5)
  const named = secrets.filter((secret) => sent.some((text) => text.includes(secret)))
  expect(named).toEqual([])
})
