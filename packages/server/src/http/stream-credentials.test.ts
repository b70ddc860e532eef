import { setTimeout as sleep } from "node:timers/promises"
import { paths } from "@sluice/api"
import { expect, test, vi } from "vitest"
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

test("a stream that an operator opened for an app ends with the operator's token, and with the session", async () => {
  await using at = await startTestServer()
  await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
  const operator = await at.running.apps.createToken("operator", "visiting")
  const ofApp = { "sluice-app": at.app.application_id }
  const signedIn = await at.call(paths.session, {
    method: "POST",
    token: null,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: operator }),
  })
  const cookie = signedIn.headers.get("set-cookie")?.split(";", 1)[0] ?? ""
  const session = { cookie, "sec-fetch-site": "same-origin", "sluice-csrf": signedIn.body.data.csrf_token as string }
  const opened = async (path: string, headers: Readonly<Record<string, string>>): Promise<Response> => {
    const response = await fetch(at.url + path, { headers })
    expect(response.status).toBe(200)
    return response
  }
  const end = (stream: Response): Promise<string> =>
    Promise.race([stream.text(), sleep(8_000, "still open", { ref: false })])

  const ofSession = await opened(paths.matches, { ...session, ...ofApp })
  const ofToken = await opened(paths.matches, { authorization: `Bearer ${operator}`, ...ofApp })
  const ofItsOwn = await opened(paths.stream, { authorization: `Bearer ${at.app.bearer_token}` })
  const isOpen = vi.fn<() => void>()
  void ofItsOwn.text().then(isOpen, isOpen)

  expect((await at.call(paths.session, { method: "DELETE", token: null, headers: session })).status).toBeLessThan(300)
  expect(await end(ofSession)).toContain("OperationalDisconnect")
  const tokens = await at.running.apps.listTokens()
  await at.running.apps.revokeToken(tokens.find(({ name }) => name === "visiting")?.id ?? "")
  expect(await end(ofToken)).toContain("OperationalDisconnect")
  expect(isOpen, "the app's own stream goes on").not.toHaveBeenCalled()
}, 30_000)

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
