/** Text from outside that reverses the reading order reverses nothing but itself. */
import { pathOf, paths } from "@sluice/api/paths"
import type { Page } from "playwright-core"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startConsole, type ConsoleUnderTest } from "./console.testing.ts"

const reversed = "\u202Edesrever"

let at: ConsoleUnderTest
let webhookId: string
beforeAll(async () => {
  at = await startConsole({ withTraffic: false })
  const operator = at.dev.ready.operator_token
  expect((await at.call("POST", paths.apps, { name: `app ${reversed}` }, operator)).ok).toBe(true)
  expect((await at.call("POST", paths.tokens, { kind: "ingest", name: `token ${reversed}` }, operator)).ok).toBe(true)
  const texts = { name: `webhook ${reversed}`, description: `described ${reversed}` }
  const made = await at.call("POST", paths.webhooks, { url: `${at.receiver.url}/bidirectional` })
  webhookId = ((await made.json()) as { data: { id: string } }).data.id
  expect((await at.call("PATCH", pathOf(paths.webhookDetail, { webhook_id: webhookId }), texts)).ok).toBe(true)
  const rule = { value: "heron", tag: `tag ${reversed}` }
  expect((await at.call("POST", paths.rules, { add: [rule] })).ok).toBe(true)
  const users = [{ id: "42", username: `wren ${reversed}`, name: `Wren ${reversed}` }]
  const data = { id: "1000001", text: `A heron ${reversed}`, author_id: "42" }
  await at.call("POST", paths.posts, `${JSON.stringify({ data, includes: { users } })}\n`)
})
afterAll(() => at[Symbol.asyncDispose]())

test.each([
  ["the apps", "operator", "/apps"],
  ["the webhooks", "app", "/webhooks"],
  ["a webhook", "app", "/webhooks/:webhook_id"],
  ["the rules", "app", "/rules"],
  ["matches", "app", "/live"],
  ["the posts", "app", "/posts"],
  ["one post", "app", "/posts/1000001"],
  ["the posts of a user", "app", "/posts/users/42"],
  ["the hits of a search", "app", "/search?query=heron&span=all"],
] as const)("%s isolate each text that holds a bidirectional control", async (_, as, path) => {
  const page = await at.signedIn(as, path.replace(":webhook_id", webhookId))
  await page
    .locator("main")
    .getByText(/desrever/)
    .filter({ visible: true })
    .first()
    .waitFor()
  expect(await leaksOf(page)).toEqual([])
  await page.context().close()
})

/** Texts with a control whose element has other text too, or is an inline one that does not isolate. */
async function leaksOf(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    const leaks: string[] = []
    while (texts.nextNode() !== null) {
      const text = texts.currentNode
      const element = text.parentElement
      if (element === null || !(text.textContent ?? "").includes("\u202E") || element.closest("pre, textarea, script"))
        continue
      // The pieces of a text that marks have cut stand in the element of the whole.
      const own = element.matches("p > span, p > mark") ? (element.parentElement ?? element) : element
      const { unicodeBidi } = getComputedStyle(own)
      const isAlone = own === element ? element.childNodes.length === 1 : true
      if (!/^(isolate|plaintext)/.test(unicodeBidi) || !isAlone) leaks.push(own.outerHTML.slice(0, 200))
    }
    return leaks
  })
}
