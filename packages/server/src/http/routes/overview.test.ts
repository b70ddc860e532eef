import { paths } from "@sluice/api"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startTestServer, envelope, type TestServer } from "../../../../../test/support/test-server.testing.ts"
import { WebhookReceiver } from "../../../../../test/support/webhook-receiver.testing.ts"

let at: TestServer
let operator: string
beforeAll(async () => {
  at = await startTestServer()
  operator = await at.running.apps.createToken("operator")
})
afterAll(() => at[Symbol.asyncDispose]())

test("a new server has no data, and no problems", async () => {
  const { status, body } = await at.call(paths.overview, { token: operator })
  expect(status).toBe(200)
  expect(body.data.counts).toEqual({ apps: 1, rules: 0, webhooks: 0, links: 0, has_posts: false })
  expect(body.data.problems.filter((one: { kind: string }) => one.kind !== "disk_full")).toEqual([])
  expect(body.data.activity.step_seconds).toBe(10)
})

test("a failing endpoint is a problem of its own app only, with the page where it can be fixed", async () => {
  const mine = await at.newApp()
  const other = await at.newApp()
  await using receiver = await WebhookReceiver.start(mine.app.consumer_secret)
  receiver.statusOf = () => 410
  const { body: webhook } = await mine.send("POST", paths.webhooks, { url: `${receiver.url}/hook` })
  const id = webhook.data.id as string
  expect((await mine.send("POST", paths.link.replace(":webhook_id", id))).status).toBe(200)
  expect((await mine.send("POST", paths.rules, { add: [{ value: "heron" }] })).status).toBe(201)
  await mine.ingest(envelope(1, "A heron"))
  const overview = async (token: string, headers = {}) =>
    (await at.call(paths.overview, { token, headers })).body.data as {
      counts: object
      problem_count: number
      problems: object[]
    }
  // An overview is kept for three seconds.
  await expect
    .poll(async () => overview(mine.app.bearer_token), { interval: 200 })
    .toMatchObject({
      counts: { rules: 1, webhooks: 1, links: 1, has_posts: true },
      problem_count: 1,
      problems: [
        {
          kind: "webhook_invalid",
          severity: "error",
          application_id: mine.app.application_id,
          webhook_id: id,
          console_path: `/webhooks/${id}`,
          detail: expect.stringMatching(/it responded with 410 Gone\. 1 match waits\./) as string,
        },
      ],
    })
  expect(await overview(other.app.bearer_token)).toMatchObject({ counts: { rules: 0, links: 0 }, problems: [] })
  expect(await overview(operator, { "sluice-app": other.app.application_id })).toMatchObject({ problems: [] })
  const all = await overview(operator, { "sluice-app": mine.app.application_id })
  expect(all.problems).toHaveLength(1)
})

test("an ingest token sees no overview", async () => {
  const ingest = await at.running.apps.createToken("ingest")
  expect((await at.call(paths.overview, { token: ingest })).status).toBe(403)
})
