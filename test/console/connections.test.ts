import { paths } from "@sluice/api/paths"
import { afterAll, beforeAll, expect, test } from "vitest"
import { expectAccessible, startConsole, type ConsoleUnderTest } from "./console.testing.ts"

let at: ConsoleUnderTest

beforeAll(async () => {
  at = await startConsole()
})

afterAll(() => at[Symbol.asyncDispose]())

test("the app's open connections are listed, and one ends by its button, with X's message", async () => {
  const page = await at.signedIn("app", "/connections")
  await page.getByText("No open connections").waitFor()
  const stream = await at.call("GET", paths.sample)
  expect(stream.status).toBe(200)
  const open = page.getByRole("region", { name: "Open connections" })
  await open.getByText("sample_stream").waitFor()
  await expectAccessible(page, "connections")
  await open.getByRole("button", { name: /^End the connection / }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "End" }).click()
  await page.getByText("Ended a connection to sample_stream.").waitFor()
  expect(await stream.text()).toContain('"disconnect_type":"ForceDisconnect"')
  await page.getByRole("region", { name: "Ended connections" }).getByText("ForceDisconnect").waitFor()
  await expectAccessible(page, "connections-ended")
})
