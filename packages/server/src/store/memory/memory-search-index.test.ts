import { searchIndexContract } from "../contract/search-index-contract.ts"
import { MemoryIndexState, MemorySearchIndex } from "./memory-search-index.testing.ts"

searchIndexContract("the search index in memory", async () => {
  const state = new MemoryIndexState()
  return { open: async () => new MemorySearchIndex(state), [Symbol.asyncDispose]: async () => undefined }
})
