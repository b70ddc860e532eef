import { paths } from "@sluice/api"
import { expect, test } from "vitest"
import { asId } from "../model/ids.ts"
import { startTestServer } from "./test-server.testing.ts"

test("a rotated app's stream ends, and its new token has the place", async () => {
  await using at = await startTestServer({ "stream-connections-per-app-max": "1" })
  await at.send("POST", paths.rules, { add: [{ value: "cat" }] })
  const stream = (token: string): Promise<Response> =>
    fetch(at.url + paths.stream, { headers: { authorization: `Bearer ${token}` } })
  const old = await stream(at.app.bearer_token)
  expect(old.status).toBe(200)

  const rotated = await at.server.apps.rotate(asId(at.app.application_id))
  const current = await stream(rotated?.bearer_token ?? "")
  expect(current.status).toBe(200)
  expect(JSON.parse(await old.text())).toMatchObject({
    errors: [{ disconnect_type: "OperationalDisconnect" }],
  })
  await current.body?.cancel()
})
