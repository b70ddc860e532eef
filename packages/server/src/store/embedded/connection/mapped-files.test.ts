/** A sector that cannot be read fails a read of a file, and ends a process that has the file mapped. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import type { AppId, MatchSeq } from "../../../model/ids.ts"
import { temporaryDirectory } from "../../../../../../test/support/temporary-directory.testing.ts"
import { storeFile } from "./database.ts"
import { openEmbeddedStore } from "../serving/embedded-store.ts"

test.skipIf(process.platform !== "linux")(
  "nothing of the store is mapped into memory but the index of its log, whatever is read",
  async () => {
    await using directory = await temporaryDirectory()
    const settings = { file: storeFile(directory.path) }
    // Closed, so that what is read stands in the file, and not in its log.
    await (await openEmbeddedStore(settings))[Symbol.asyncDispose]()
    await using store = await openEmbeddedStore(settings)
    await store.apps()
    await store.posts({ direction: "older", limit: 10, bytesMax: 1_000 })
    const range = { appId: "1" as AppId, after: 0 as MatchSeq, limit: 10, bytesMax: 1_000, shape: "core" } as const
    await store.matches(range)
    const mapped = readFileSync("/proc/self/maps", "utf8")
      .split("\n")
      .map((line) => line.split(/ +/)[5] ?? "")
      .filter((path) => path.startsWith(directory.path))
    expect(new Set(mapped)).toEqual(new Set([join(directory.path, "sluice.db-shm")]))
  },
)
