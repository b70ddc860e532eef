import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../../../test/support/temporary-directory.testing.ts"
import type { UserId } from "../../../model/ids.ts"
import { aUserPost } from "../../contract/fixtures.ts"
import { audited } from "../serving/audited.testing.ts"
import { openEmbeddedStore } from "../serving/embedded-store.ts"

test("a damaged user is named and not shown, until a newer object replaces it", async () => {
  const directory = await temporaryDirectory()
  const file = join(directory.path, "sluice.db")
  {
    await using store = await openEmbeddedStore({ file })
    const post = aUserPost(
      "1",
      5,
      { id: "7", username: "Anna", name: "Anna" },
      { id: "8", username: "Bob", name: "Bob" },
    )
    await store.append([{ post, matches: [] }], 1)
  }
  {
    using db = new DatabaseSync(file)
    db.exec(`UPDATE user_objects SET object = replace(object, '"name":"Anna"', '"name":"Anne"') WHERE id = 7`)
  }
  await using store = await openEmbeddedStore({ file })
  const whole = { id: "8", username: "bob", json: '{"id":"8","username":"Bob","name":"Bob"}' }
  expect(await store.usersById(["7", "8"] as UserId[])).toEqual([{ id: "7", username: "anna" }, whole])
  expect(await store.usersByName(["anna"])).toEqual([{ id: "7", username: "anna" }])
  expect(await store.usersByPrefix({ prefix: "a", limit: 5 })).toEqual([{ id: "7", username: "anna" }])
  const { damage } = await audited(file)
  expect(damage).toEqual([expect.stringContaining("user_objects: user 7 is not as it was stored.")])

  const newer = { id: "7", username: "Anna", name: "Anna B" }
  await store.append([{ post: aUserPost("2", 6, newer), matches: [] }], 1)
  expect(await store.usersByName(["anna"])).toEqual([{ id: "7", username: "anna", json: JSON.stringify(newer) }])
  await directory.remove()
})
