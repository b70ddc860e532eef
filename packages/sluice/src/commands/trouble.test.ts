import { paths } from "@sluice/api"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { openStream } from "../../../../test/support/open-stream.testing.ts"
import { startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { run, type Run } from "../command.testing.ts"

let at: TestServer

beforeAll(async () => {
  at = await startTestServer()
})

afterAll(() => at[Symbol.asyncDispose]())

beforeEach(async () => {
  await trouble("clear")
})

const trouble = (...args: readonly string[]): Promise<Run> =>
  run(["trouble", ...args], { env: { SLUICE_URL: at.url, SLUICE_TOKEN: at.app.bearer_token } })

test("faults are added, listed with their remaining uses, and cleared by id or all", async () => {
  const webhook = await at.webhook()
  const added = await trouble("responses", webhook, "--response", "503", "--next", "3", "--retry-after", "2")
  expect(added).toMatchObject({ status: 0 })
  expect(added.stdout).toMatch(/^Fault \d+: response 503, Retry-After 2 s: the next 3 deliveries$/m)
  await trouble("responses", "--response", "slow", "--latency", "1.5s", "--percent", "20")
  await trouble("repeats")
  await trouble("challenges", webhook)
  await trouble("page-tokens", "--next", "2")
  await trouble("page-tokens")
  const { stdout } = await trouble("list")
  expect(stdout.split("\n").map((line) => line.replace(/^\d+ +/, "").trim())).toEqual([
    expect.stringMatching(/^ID +WEBHOOK +APPLIED +FAULT$/),
    expect.stringContaining(`${webhook}  0        response 503, Retry-After 2 s: the next 3 deliveries`),
    expect.stringContaining("response after 1500 ms: 20% of the deliveries"),
    expect.stringContaining("sent twice: the next delivery"),
    expect.stringContaining("response with a wrong token: the next challenge"),
    expect.stringContaining("expired: the next 2 page tokens used"),
    expect.stringMatching(/page tokens issued until \d{4}-.* are expired/),
    "",
  ])
  const [first] = JSON.parse((await trouble("list", "--json")).stdout) as { id: string }[]
  expect((await trouble("clear", first?.id ?? "")).stdout).toBe("Cleared 1 fault.\n")
  expect((await trouble("clear")).stdout).toBe("Cleared 5 faults.\n")
  expect((await trouble("list")).stderr).toContain("No active faults.")
})

test("stream connections are disconnected with the requested message", async () => {
  await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
  await using stream = await openStream(at)
  const outcome = await trouble("disconnect", "--type", "ForceDisconnect")
  expect(outcome).toMatchObject({ status: 0, stdout: "Disconnected 1 stream connection.\n" })
  expect(await stream.next()).toMatchObject({ errors: [{ disconnect_type: "ForceDisconnect" }] })
})

test("an invalid fault is refused with the reason", async () => {
  expect((await trouble("responses", "--latency", "2s")).stderr).toContain("is for slow responses")
  expect(await trouble("responses", "--response", "418")).toMatchObject({ status: 2 })
  expect(await trouble("repeats", "--next", "many")).toMatchObject({ status: 2 })
})
