import { readFile } from "node:fs/promises"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import type { PostId } from "../model/ids.ts"
import { createManualClock } from "../runtime/manual-clock.testing.ts"
import { aPost } from "../store/contract/fixtures.ts"
import { storeFile } from "../store/embedded/connection/database.ts"
import { openEmbeddedStore } from "../store/embedded/serving/embedded-store.ts"
import { createDeletions } from "./deletions.ts"

const markerOf = (id: number): string => `marker${id}marker`

test("while deletions come without a pause, deleted bytes are overwritten within 30 s all the same", async () => {
  await using directory = await temporaryDirectory()
  const file = storeFile(directory.path)
  await using store = await openEmbeddedStore({ file })
  const ids = Array.from({ length: 400 }, (_, index) => index + 1)
  const posts = ids.map((id) =>
    aPost(String(id), "7", { envelope: JSON.stringify({ data: { id: String(id), text: markerOf(id) } }) }),
  )
  await store.append(
    posts.map((post) => ({ post, matches: [] })),
    1,
  )
  const clock = createManualClock()
  const events = {
    failed: ({ error }: { readonly error: unknown }) => expect.fail(String(error)),
    deletionsRequested: () => undefined,
  }
  const deletions = createDeletions({ store, leases: { has: () => true }, clock, events })
  const over = new AbortController()
  const running = deletions.run(over.signal)
  /** Those of the posts of which the files hold the text. */
  const held = async (some: readonly number[]): Promise<readonly number[]> => {
    const bytes = await Promise.all([file, `${file}-wal`].map((name) => readFile(name, "latin1")))
    return some.filter((id) => bytes.some((of) => of.includes(markerOf(id))))
  }
  /** Deletes each, 100 ms after the one before. */
  const deleteEach = async (some: readonly number[]): Promise<void> => {
    for (const id of some) {
      await deletions.delete([{ kind: "post", id: String(id) as PostId }])
      await clock.advance(100)
    }
  }
  const [early, late] = [ids.slice(0, 20), ids.slice(20, 320)]
  await deleteEach(early)
  // The test would see nothing if the files had been cleared by now.
  expect(await held(early)).toEqual(early)
  await deleteEach(late)
  expect(await held(early)).toEqual([])
  expect(await held([399, 400])).toEqual([399, 400])
  over.abort()
  await running
})

test("a deletion of very many posts goes on at its pace while bytes are overwritten", async () => {
  const clock = createManualClock()
  const over = new AbortController()
  const parts = { deleted: 0, overwritten: 0 }
  const deletions = createDeletions({
    leases: { has: () => true },
    clock,
    events: {
      failed: ({ error }) => expect.fail(String(error)),
      deletionsRequested: () => undefined,
    },
    store: {
      delete: () => expect.fail("Nothing is requested."),
      post: () => expect.fail("Nothing is requested."),
      onChange: () => () => undefined,
      async continueDeletions() {
        parts.deleted += 1
        return false
      },
      async overwriteDeleted() {
        parts.overwritten += 1
        return false
      },
      eraseDeleted: () => expect.fail("Not all is overwritten."),
    },
  })
  const running = deletions.run(over.signal)
  await clock.advance(60_000)
  over.abort()
  await running
  // A part comes every 35 ms, and a part of the erasure every 300 ms.
  expect(parts.deleted).toBeGreaterThan(1_500)
  expect(parts.overwritten).toBeGreaterThan(150)
})
