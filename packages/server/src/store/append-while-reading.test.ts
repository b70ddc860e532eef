import { join } from "node:path"
import { expect, test } from "vitest"
import { beforeFirstMatch, type AppId } from "../model/ids.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { anApp, aPost } from "./contract/fixtures.ts"
import { openEmbeddedStore } from "./embedded/serving/embedded-store.ts"
import { follow } from "./follow.ts"
import type { Store } from "./store.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"

test("an entry that is appended while a read finds nothing is read at once, and not at the next poll", async () => {
  await using directory = await temporaryDirectory()
  await using store = await openEmbeddedStore({ file: join(directory.path, "sluice.db") })
  const appId = "100" as AppId
  await store.createApp(anApp(appId), [])
  let reads = 0
  const matches: Store["matches"] = async (range) => {
    const found = await store.matches(range)
    reads += 1
    if (reads === 1) await store.append([{ post: aPost("1"), matches: [{ appId, rules: [{ id: "1", tag: "" }] }] }], 1)
    return found
  }
  const followed = {
    matches,
    head: (id: AppId) => store.head(id),
    heads: () => store.heads(),
    onChange: (listener: Parameters<Store["onChange"]>[0]) => store.onChange(listener),
  }
  const stop = new AbortController()
  const from = { appId, after: beforeFirstMatch, shape: "core" as const, batchMax: 10 }
  // This clock stands still, so no poll follows.
  for await (const entries of follow(followed, createManualClock(), from, stop.signal)) {
    expect(entries.map(({ postId }) => postId)).toEqual(["1"])
    stop.abort()
  }
  expect(reads).toBe(2)
}, 5_000)
