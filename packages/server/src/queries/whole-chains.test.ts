import { afterEach, beforeEach, expect, test } from "vitest"
import { temporaryDirectory, type TemporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { chainOf } from "../model/edit-chain.ts"
import { parseSelection } from "../model/field-selection.ts"
import type { AppId, PostId } from "../model/ids.ts"
import type { StoredPost } from "../model/post.ts"
import { renderPosts } from "../model/render-post.ts"
import { aPost } from "../store/contract/fixtures.ts"
import type { Store } from "../store/store.ts"
import { openTestedStore } from "../store/tested-store.testing.ts"
import { withWholeChains } from "./whole-chains.ts"

const reader = "5" as AppId
const selection = parseSelection({ expansions: "edit_history_tweet_ids" })
const text = "x".repeat(9_000)

let directory: TemporaryDirectory
let store: Store

beforeEach(async () => {
  directory = await temporaryDirectory()
  store = await openTestedStore(directory.path)
})

afterEach(async () => {
  await store[Symbol.asyncDispose]()
  await directory.remove()
})

/** Stores the versions of one post, and returns them as they are stored. */
async function storeVersions(count: number): Promise<readonly StoredPost[]> {
  const ids = Array.from({ length: count }, (_, at) => String(1_001 + at) as PostId)
  const posts = ids.map((id, at) => {
    const history = ids.slice(0, at + 1)
    const envelope = JSON.stringify({ data: { id, text, edit_history_tweet_ids: history } })
    const chain = chainOf(id, history)
    return aPost(id, "7", { envelope, ...(chain !== undefined && { chain }) })
  })
  await store.append(
    posts.map((post) => ({ post, matches: [] })),
    0,
  )
  const { posts: stored } = await store.postsById({ ids, shape: "envelope", bytesMax: 16_777_216, reader })
  return stored
}

const charactersOf = (posts: readonly StoredPost[]) => posts.reduce((sum, { json }) => sum + json.length, 0)

test("a hundred versions of a post bring each version once, and the response includes all of them without errors", async () => {
  const posts = await storeVersions(100)
  const ids = posts.map(({ id }) => id)
  const whole = await withWholeChains(posts, { selection, reader }, store)
  expect(charactersOf(whole)).toBeLessThan(3 * charactersOf(posts))
  const { dataJson, includesJson = "", missing } = await renderPosts(whole, selection)
  const data = JSON.parse(dataJson) as readonly { readonly edit_history_tweet_ids: readonly string[] }[]
  expect(data.map((post) => post.edit_history_tweet_ids)).toEqual(Array(100).fill(ids))
  const { tweets } = JSON.parse(includesJson) as { readonly tweets: readonly { readonly id: string }[] }
  expect(tweets.map(({ id }) => id).toSorted()).toEqual(ids)
  expect(missing).toEqual([])
})

test("versions that an earlier part of the response has brought are not read or brought again", async () => {
  const [first, second, third] = await storeVersions(3)
  const read: (readonly PostId[])[] = []
  const reading = {
    chainsOf: store.chainsOf.bind(store),
    postsById: (range: Parameters<Store["postsById"]>[0]) => {
      read.push(range.ids)
      return store.postsById(range)
    },
  }
  const brought = new Set<PostId>()
  const includedIn = async (post: StoredPost | undefined): Promise<readonly string[]> => {
    const [whole] = await withWholeChains(post === undefined ? [] : [post], { selection, reader, brought }, reading)
    const { includes } = JSON.parse(whole?.json ?? "") as {
      readonly includes?: { readonly tweets: readonly { readonly id: string }[] }
    }
    return (includes?.tweets ?? []).map(({ id }) => id)
  }
  expect(await includedIn(first)).toEqual(["1002", "1003"])
  expect(await includedIn(second)).toEqual(["1001"])
  expect(await includedIn(third)).toEqual([])
  expect(read).toEqual([["1001", "1002", "1003"], ["1001"], []])
})
