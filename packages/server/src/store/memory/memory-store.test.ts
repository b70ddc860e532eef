import { storeContract } from "../contract/store-contract.ts"
import { MemoryState, MemoryStore } from "./memory-store.testing.ts"

storeContract("the in-memory store", async () => {
  const state = new MemoryState()
  return {
    open: async () => new MemoryStore(state),
    audit: async () => new MemoryStore(state).audit(),
    [Symbol.asyncDispose]: async () => undefined,
  }
})
