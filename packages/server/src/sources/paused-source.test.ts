/** Sources of every kind that are paused, through whole servers in this process. */
import { paths, pathOf } from "@sluice/api/paths"
import { expect, test } from "vitest"
import { sourceState, startServerWith, type TestEntry } from "./server-with-sources.testing.ts"
import { peerKinds, peerSource, startPeer } from "./source-peers.testing.ts"
import { metric } from "./stored-ids.testing.ts"

// The settings of NATS are variables and no entry.
const kinds = (await peerKinds()).filter((kind) => kind !== "nats")

test.each(kinds)("a source of %s that is paused is not connected", async (kind) => {
  await using peer = await startPeer(kind)
  await using server = await startServerWith(peer.settingsAt(peer.port).sources as readonly TestEntry[])
  const connected = () => metric(server, `sluice_source_connected{source="${peerSource}"}`)
  await expect.poll(connected, { timeout: 20_000 }).toBe(1)
  const token = await server.running.apps.createToken("operator")
  const path = pathOf(paths.pauseSource, { name: peerSource })
  expect((await server.call(path, { method: "POST", token })).status).toBe(200)
  await expect.poll(connected, { timeout: 20_000 }).toBe(0)
  expect(await sourceState(server, peerSource)).not.toHaveProperty("connected_to")
})
