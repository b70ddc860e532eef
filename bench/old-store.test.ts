import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, expect, test } from "vitest"
import { storeFile } from "../packages/server/src/store/embedded/connection/database.ts"
import { storeVersion } from "../packages/server/src/store/embedded/connection/migrations.ts"
import { openEmbeddedStore } from "../packages/server/src/store/embedded/serving/embedded-store.ts"
import { temporaryDirectory, type TemporaryDirectory } from "../test/support/temporary-directory.testing.ts"
import { fillOldStore } from "./old-store.ts"
import { SearchedPosts } from "./searched-posts.ts"

let directory: TemporaryDirectory

beforeEach(async () => {
  directory = await temporaryDirectory()
})

afterEach(async () => {
  await directory.remove()
})

function state(): unknown {
  using db = new DatabaseSync(storeFile(directory.path), { readOnly: true })
  return [
    db.prepare("PRAGMA user_version").get()?.["user_version"],
    db.prepare("SELECT count(*) AS posts FROM posts").get()?.["posts"],
  ]
}

test("the store of an earlier version has its posts, and is brought to the present version", async () => {
  await fillOldStore(directory.path, new SearchedPosts({ count: 60, endMs: Date.now() }), 50)
  expect(state()).toEqual([12, 50])
  await using store = await openEmbeddedStore({ file: storeFile(directory.path) })
  expect(state()).toEqual([storeVersion, 50])
  expect((await store.arrivedPosts({ limit: 500, bytesMax: 1_000_000 })).posts).toHaveLength(50)
})
