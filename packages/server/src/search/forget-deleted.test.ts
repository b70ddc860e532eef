import { expect, test } from "vitest"
import type { PostId } from "../model/ids.ts"
import type { ArrivalPosition } from "../store/port/arrival-store.ts"
import { aPost } from "../store/contract/fixtures.ts"
import { MemorySearchIndex } from "../store/memory/memory-search-index.testing.ts"
import { MemoryState, MemoryStore } from "../store/memory/memory-store.testing.ts"
import { forgetDeleted } from "./forget-deleted.ts"

const never = new AbortController().signal
const ids = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index) as PostId)
const everything = [0n, 10_000n]

async function indexOf(indexed: readonly PostId[], stored: readonly PostId[]) {
  const store = new MemoryStore(new MemoryState())
  await store.append(
    stored.map((id) => ({ post: aPost(id), matches: [] })),
    1,
  )
  const index = new MemorySearchIndex()
  await index.add(
    indexed.map((id) => ({ id, terms: [] })),
    "1" as ArrivalPosition,
  )
  return { store, index }
}

test("posts that retention has deleted leave the index, and all others stay", async () => {
  const deps = await indexOf(ids(1, 1_300), ids(1_101, 1_300))
  await forgetDeleted(deps, never)
  expect(await deps.index.count({ kind: "everything" }, everything)).toEqual([200])
  const range = { above: -1n, upTo: 10_000n, direction: "newer", limit: 1 } as const
  expect(await deps.index.find({ kind: "everything" }, range)).toEqual(["1101"])
})

test("an index without deleted posts is read no further than the oldest ones", async () => {
  const { store, index } = await indexOf(ids(1, 1_300), ids(1, 1_300))
  let reads = 0
  const counting: Pick<typeof index, "find" | "remove"> = {
    find: (...args) => {
      reads += 1
      return index.find(...args)
    },
    remove: (gone) => index.remove(gone),
  }
  await forgetDeleted({ store, index: counting }, never)
  expect(reads).toBe(1)
  expect(await index.count({ kind: "everything" }, everything)).toEqual([1_300])
})
