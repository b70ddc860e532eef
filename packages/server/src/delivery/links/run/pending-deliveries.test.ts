import { expect, test } from "vitest"
import { asId, type AppId, type MatchSeq, type PostId } from "../../../model/ids.ts"
import { PendingBytes, PendingDeliveries, type Delivery } from "./pending-deliveries.ts"

const megabyte = new Uint8Array(1_048_576)

function delivery(body: Uint8Array | undefined = megabyte): Delivery {
  return {
    seq: 1 as MatchSeq,
    postId: "1" as PostId,
    body,
    isDeleted: false,
    readAtMs: 0,
    failures: 0,
    tries: 0,
    dueAtMs: 0,
  }
}

test("a link that has ended releases its pending bytes", () => {
  const all = new PendingBytes()
  const app = asId<AppId>("1")
  const links = Array.from({ length: 4 }, () => new PendingDeliveries(app, all))
  for (const link of links) for (let count = 0; count < 16; count++) link.add(delivery())
  expect(all.isFull(app)).toBe(true)
  links[0]?.clear()
  expect(all.isFull(app)).toBe(false)
  // A delivery that ends afterwards counts once.
  for (const link of links) link.clear()
  for (let count = 0; count < 63; count++) all.add(app, megabyte.length)
  expect(all.isFull(app)).toBe(false)
  all.add(app, megabyte.length)
  expect(all.isFull(app)).toBe(true)
})

test("all apps together may have 256 MiB pending, and every link a mebibyte regardless", () => {
  const all = new PendingBytes()
  for (let app = 1; app <= 8; app++) all.add(asId<AppId>(String(app)), 32 * megabyte.length)
  const link = new PendingDeliveries(asId<AppId>("9"), all)
  expect(link.isFull).toBe(false)
  link.add(delivery())
  expect(link.isFull).toBe(true)
})
