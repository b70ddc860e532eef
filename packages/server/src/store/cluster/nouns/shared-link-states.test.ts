import { afterEach, beforeEach, expect, test } from "vitest"
import { addLink, anApp, app, link } from "../../contract/fixtures.ts"
import { undrivenState, type LeasedState } from "../../shared-link-states.ts"
import { openClusterStore, type ClusterStore } from "../serving/cluster-store.ts"
import { createTestDatabase, type TestDatabase } from "../connection/postgres.testing.ts"
import { clusterLinkStates } from "./shared-link-states.ts"

let server: TestDatabase
let store: ClusterStore

beforeEach(async () => {
  server = await createTestDatabase()
  store = await openClusterStore({ url: server.url, poolMax: 4, statementMsMax: 30_000 }, { sender: "one" })
  await store.createApp(anApp(app), [])
  await addLink(store, app, { linkId: link, webhookId: "1" })
})

afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const state = { ...undrivenState, isDown: true, inFlight: 3, failingSinceMs: 7, nextAttemptAtMs: 8.6, failed: 2 ** 40 }

async function lease(number: number | null): Promise<void> {
  await store.database.run("UPDATE links SET lease = $1", number)
}

test("a link's state is that of the process that has its lease, and no other's", async () => {
  const states = clusterLinkStates(store.database)
  const under = (number: number, more: Partial<LeasedState> = {}): LeasedState => ({
    ...state,
    ...more,
    linkId: link,
    lease: number,
  })
  await states.save([under(1)])
  expect(await states.of([link])).toEqual(new Map())
  await lease(2)
  await states.save([under(1, { failed: 1 }), { ...under(2), linkId: "404" as typeof link }])
  expect(await states.of([link])).toEqual(new Map())
  await states.save([under(2)])
  expect(await states.of([link])).toEqual(new Map([[link, { ...state, nextAttemptAtMs: 9 }]]))
  await states.save([under(1, { failed: 1 })])
  await states.save([under(2, { failed: 5, nextAttemptAtMs: undefined })])
  expect(await states.of([link])).toMatchObject(new Map([[link, { failed: 5, nextAttemptAtMs: undefined }]]))
  for (const other of [3, null]) {
    await lease(other)
    expect(await states.of([link])).toEqual(new Map())
  }
})
