/**
 * Webhooks: the accepted URLs, and the challenges that keep a webhook valid. Each test bears the id of its row of
 * docs/compatibility.md.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { paths } from "@sluice/api"
import { expect } from "vitest"
import { webhookUrlFault } from "../../packages/server/src/runtime/outbound/outbound-address.ts"
import { runningSchedule } from "../support/challenge-schedule.testing.ts"
import { startTestServer, type TestResponse } from "../support/test-server.testing.ts"
import { appWithReceiver, hourMs, minuteMs, test, webhookPath } from "./support.testing.ts"

test("webhook-body: POST and PUT of a webhook return it within data", async ({ server }) => {
  await using linked = await appWithReceiver(server)
  const beforeMs = Date.now()
  const made = await linked.send("POST", paths.webhooks, { url: linked.receiver.url })
  expect(made.status).toBe(200)
  const { id, created_at: createdAt } = made.body.data as { id: string; created_at: string }
  expect(made.body).toStrictEqual({
    data: { id, created_at: createdAt, url: linked.receiver.url, valid: true },
  })
  expect(new Date(createdAt).toISOString()).toBe(createdAt)
  expect(Date.parse(createdAt)).toBeGreaterThanOrEqual(beforeMs)
  expect(Date.parse(createdAt)).toBeLessThanOrEqual(Date.now())
  const validated = await linked.send("PUT", webhookPath(id))
  expect([validated.status, validated.body]).toEqual([200, { data: { valid: true } }])
  linked.receiver.passesChallenges = false
  const failed = await linked.send("PUT", webhookPath(id))
  expect([failed.status, failed.body]).toEqual([200, { data: { valid: false } }])
})

test("webhook-url: a webhook's URL is https, public, without port, of 200 characters, and dev accepts http, ports and loopback", async ({
  server,
}) => {
  const longest = `https://hooks.example.com/${"x".repeat(174)}`
  expect(longest).toHaveLength(200)
  for (const url of ["https://hooks.example.com/sluice", "https://8.8.8.8/", longest]) {
    expect(webhookUrlFault(url, { allowPrivate: false })).toBeUndefined()
  }
  await using careful = await startTestServer({}, "serve")
  const port = "names a port; only the default port of https is accepted, without being named"
  const tooLong = "is 201 characters long; at most 200 are allowed"
  for (const [url, fault] of [
    ["http://hooks.example.com/", "begins with http:; only https is accepted"],
    ["https://hooks.example.com:8443/", port],
    ["https://hooks.example.com:443/", port],
    ["https://localhost/", "has the host localhost, which is not a public name"],
    ["https://127.0.0.1/", "has the host 127.0.0.1, which is a loopback address"],
    ["https://10.1.2.3/", "has the host 10.1.2.3, which is a private address"],
    ["https://[::1]/", "has the host [::1], which is a loopback address"],
    [`${longest}x`, tooLong],
  ] as const) {
    const advice = fault === tooLong ? "" : ". An operator can allow this destination with SLUICE_WEBHOOK_ALLOW"
    expectRefusedUrl(await careful.send("POST", paths.webhooks, { url }), url, fault + advice)
  }
  expect((await careful.call(paths.webhooks)).body.data).toEqual([])

  await using linked = await appWithReceiver(server)
  for (const url of [linked.receiver.url, linked.receiver.url.replace("127.0.0.1", "localhost")]) {
    const made = await linked.send("POST", paths.webhooks, { url })
    expect([made.status, made.body.data?.url]).toEqual([200, url])
  }
  expectRefusedUrl(await linked.send("POST", paths.webhooks, { url: `${longest}x` }), `${longest}x`, tooLong)
})

test("challenge-schedule: the server challenges a webhook at creation, on PUT, and every 30 minutes once the last success is a day old", async ({
  server,
}) => {
  await using linked = await appWithReceiver(server)
  linked.receiver.passesChallenges = false
  const refused = await linked.send("POST", paths.webhooks, { url: linked.receiver.url })
  expect(refused.status).toBe(400)
  expect(refused.body.errors[0].message).toMatch(/^CrcValidationFailed: /)
  expect((await linked.call(paths.webhooks)).body.data).toEqual([])
  linked.receiver.passesChallenges = true
  const id = await linked.webhook()
  expect((await linked.send("PUT", webhookPath(id))).body).toEqual({ data: { valid: true } })
  linked.receiver.passesChallenges = false
  expect((await linked.send("PUT", webhookPath(id))).body).toEqual({ data: { valid: false } })

  await using schedule = await runningSchedule()
  await schedule.pass(24 * hourMs)
  expect(schedule.challenges).toBe(0)
  await schedule.pass(30 * minuteMs)
  expect(schedule.challenges).toBe(1)

  schedule.endpoint = "down"
  await schedule.pass(24 * hourMs)
  expect(schedule.challenges).toBe(1)
  await schedule.pass(4 * hourMs)
  expect(schedule.challenges).toBe(9)
  expect(await schedule.isValid()).toBe(true)
  await schedule.pass(30 * minuteMs)
  expect(schedule.challenges).toBe(10)
  expect(await schedule.isValid()).toBe(false)

  for (const fault of ["wrong", "redirect", "tls", "large"] as const) {
    schedule.endpoint = "right"
    expect(await schedule.validate()).toEqual({ valid: true })
    const before = schedule.challenges
    schedule.endpoint = fault
    await schedule.pass(24 * hourMs)
    expect(await schedule.isValid()).toBe(true)
    await schedule.pass(30 * minuteMs)
    expect(schedule.challenges, fault).toBe(before + 1)
    expect(await schedule.isValid(), fault).toBe(false)
  }
})

test("challenge-limits: five challenges of an app run at once, and a 429 with a retry time refuses the others", async ({
  server,
}) => {
  const app = await server.newApp()
  const hanging = createServer(() => undefined)
  hanging.listen(0, "127.0.0.1")
  await once(hanging, "listening")
  let underWay = 0
  hanging.on("request", () => {
    underWay += 1
  })
  const { port } = hanging.address() as AddressInfo
  const leave = new AbortController()
  const asked = Array.from({ length: 20 }, (_, index) =>
    app.call(paths.webhooks, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ url: `http://127.0.0.1:${port}/${index}` }),
      signal: leave.signal,
    }),
  )
  const refused: TestResponse[] = []
  for (const one of asked) one.then((response) => refused.push(response)).catch(() => undefined)
  await expect.poll(() => refused.length).toBe(15)
  await expect.poll(() => underWay).toBe(5)
  const [title, detail] = ["Too Many Requests", "Too Many Requests"]
  const error = { title, type: "about:blank", detail, status: 429, message: detail }
  for (const { status, headers, body } of refused) {
    expect([status, body]).toEqual([429, { ...error, errors: [error] }])
    expect(headers.get("retry-after")).toBe("1")
    expect(headers.get("x-rate-limit-limit")).toBe("450")
    expect(headers.get("x-rate-limit-remaining")).toBe("0")
    const waitS = Number(headers.get("x-rate-limit-reset")) - Date.now() / 1000
    expect(Math.abs(waitS)).toBeLessThan(60)
  }
  leave.abort()
  hanging.closeAllConnections()
  hanging.close()
})

function expectRefusedUrl({ status, body }: TestResponse, url: string, fault: string): void {
  expect(status).toBe(400)
  expect(body.errors).toMatchObject([
    {
      parameters: { url: [url.length > 200 ? `${url.slice(0, 199)}…` : url] },
      message: `UrlValidationFailed: The URL ${fault}.`,
    },
  ])
}
