/** A real server's challenges and deliveries, behind the servers that people use. */
import { afterAll, beforeAll, expect, test } from "vitest"
import { envelope, startTestServer, type TestServer } from "../../../../test/support/test-server.testing.ts"
import { createClient, type Client } from "../client.ts"
import { servers } from "./receiver-servers.testing.ts"
import { receiver, type Delivery } from "./receiver.ts"

let at: TestServer
let client: Client
beforeAll(async () => {
  at = await startTestServer({ "retry-seconds-min": "1", "retry-seconds-max": "1" })
  client = createClient({ url: at.url, token: at.app.bearer_token })
  await client.rules.sync([{ value: "heron", tag: "birds" }])
})
afterAll(() => at[Symbol.asyncDispose]())

let lastId = 0

test.each(servers)(
  "behind %s a real server's challenge is passed, and its deliveries are handled once",
  async (_, start) => {
    const deliveries: Delivery[] = []
    const refusals: string[] = []
    let signingKeys: readonly string[] = []
    let failures = 1
    await using server = await start(
      receiver({
        consumerSecret: at.app.consumer_secret,
        get signingKeys() {
          return signingKeys
        },
        onDelivery(delivery) {
          if (failures-- > 0) return 503
          deliveries.push(delivery)
          return 200
        },
        onRefusal: (reason) => refusals.push(reason),
      }),
    )
    const { data } = await client.request("POST", "webhooks", { body: { url: `${server.url}/hook` } })
    const parameters = { webhook_id: data?.id ?? "" }
    signingKeys = [(await client.request("GET", "signingKey", { parameters })).data.signing_key]
    await client.request("POST", "link", { parameters })
    const ids = Array.from({ length: 20 }, () => String((lastId += 1)))
    await at.ingest(...ids.map((id) => envelope(Number(id), `heron ${id}, 鷺`)))

    const delivered = (): readonly string[] =>
      deliveries.map((one) => (one.kind === "match" ? one.event.data.id : one.kind))
    await expect.poll(() => delivered().toSorted()).toEqual(ids.toSorted())
    expect(deliveries[0]).toMatchObject({ event: { matching_rules: [{ tag: "birds" }] } })
    expect(refusals).toEqual([])
    await client.request("DELETE", "webhook", { parameters })
  },
)
