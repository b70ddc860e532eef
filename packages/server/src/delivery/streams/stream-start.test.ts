import { expect, test } from "vitest"
import { defaultSelection } from "../../model/field-selection.ts"
import { deliveryFormat } from "./line-format.ts"
import { streamHarness, idsOf, range, recordsOf } from "./stream-harness.testing.ts"

const harness = streamHarness()

test("a connection begins with the next match", async () => {
  await harness.append([1, 2])
  const client = await harness.connectClient()
  await harness.append([3])
  await expect.poll(() => idsOf(client.chunks)).toEqual([3])
})

test("a connection with backfill_minutes begins that long ago, older first, and continues with new matches", async () => {
  await harness.append([1], "old", harness.clock.nowMs() - 121_000)
  await harness.append([2, 3], "recent", harness.clock.nowMs() - 119_000)
  harness.nextOptions = {
    part: { kind: "live", backfillMinutes: 2 },
    format: deliveryFormat(defaultSelection),
    clientIp: "127.0.0.1",
  }
  const client = await harness.connectClient()
  await harness.append([4])
  await expect.poll(() => idsOf(client.chunks)).toEqual([2, 3, 4])
})

test("nothing is lost or doubled between catching up and following", async () => {
  await harness.append(range(1, 700))
  harness.nextOptions = {
    part: { kind: "live", backfillMinutes: 1 },
    format: deliveryFormat(defaultSelection),
    clientIp: "127.0.0.1",
  }
  const client = await harness.connectClient()
  for (let batch = 0; batch < 20; batch += 1) await harness.append(range(701 + batch * 10, 710 + batch * 10))
  await expect.poll(() => recordsOf(client)).toHaveLength(900)
  expect(idsOf(recordsOf(client))).toEqual(range(1, 900))
})
