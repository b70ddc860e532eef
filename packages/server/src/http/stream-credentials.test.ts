import { setTimeout as sleep } from "node:timers/promises"
import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { openApps } from "../commands.ts"
import { asId } from "../model/ids.ts"
import { startTestServer } from "../../../../test/support/test-server.testing.ts"

test("a rotation ends the app's stream, and the new token may open one", async () => {
  await using at = await startTestServer({ "stream-connections-per-app-max": "1" })
  await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
  const stream = (token: string): Promise<Response> =>
    fetch(at.url + paths.stream, { headers: { authorization: `Bearer ${token}` } })
  const old = await stream(at.app.bearer_token)
  expect(old.status).toBe(200)

  const rotated = await at.running.apps.rotate(asId(at.app.application_id))
  const current = await stream(rotated?.bearer_token ?? "")
  expect(current.status).toBe(200)
  expect(JSON.parse(await old.text())).toMatchObject({
    errors: [{ disconnect_type: "OperationalDisconnect" }],
  })
  await current.body?.cancel()
})

test.each(["rotate", "revoke"] as const)(
  "an app's stream and token end within seconds of a `sluice app %s` while the server runs",
  async (change) => {
    await using at = await startTestServer()
    await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
    const stream = await fetch(at.url + paths.stream, {
      headers: { authorization: `Bearer ${at.app.bearer_token}` },
    })
    expect(stream.status).toBe(200)
    await using beside = await openApps(at.config)
    await beside.apps[change](asId(at.app.application_id))
    const ended = stream.text()
    // Far from the 10 s after which the stream would be looked at without a word from the store.
    const late = sleep(5_000, "still open")
    expect(await Promise.race([ended, late])).toContain("OperationalDisconnect")
    // The server rereads a token at least every second.
    await expect.poll(async () => (await at.call(paths.rules)).status, { timeout: 5_000 }).toBe(401)
  },
)
