import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import { RuleIndex } from "../matching/rule-index.ts"
import type { AppId, RuleId } from "../model/ids.ts"
import { systemClock } from "../runtime/clock.ts"
import { anApp } from "../store/contract.ts"
import { openEmbeddedStore } from "../store/embedded/embedded-store.ts"
import { PostAcceptor } from "./accept-posts.ts"

test("a batch is matched by every rule that was answered before it, announced or not", async () => {
  const directory = await mkdtemp(join(tmpdir(), "sluice-accept-"))
  const store = await openEmbeddedStore({ file: join(directory, "sluice.db") })
  const appId = "100" as AppId
  await store.createApp(anApp(appId), [])
  // Nobody tells this index of changes.
  const rules = await RuleIndex.load(store)
  const acceptor = new PostAcceptor({ store, rules, clock: systemClock })
  const pour = async (id: number): Promise<number> => {
    const reports = await acceptor.write(Buffer.from(`{"data":{"id":"${id}","text":"a cat"}}\n`))
    return [...reports, await acceptor.flush()].reduce((sum, report) => sum + (report?.matches ?? 0), 0)
  }
  expect(await pour(1)).toBe(0)
  await store.addRules(appId, [{ id: "1" as RuleId, appId, value: "cat" }], { rulesMax: 9, dryRun: false })
  expect(await pour(2)).toBe(1)
  await store.deleteRules(appId, { kind: "all" }, { dryRun: false })
  expect(await pour(3)).toBe(0)
  await store[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})
