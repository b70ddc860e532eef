import { storeContract } from "../contract/store-contract.ts"
import { auditOf } from "./audit.ts"
import { openClusterStore } from "./cluster-store.ts"
import { createTestDatabase } from "./postgres.testing.ts"

storeContract("the PostgreSQL store", async () => {
  const database = await createTestDatabase()
  const settings = { url: database.url, poolMax: 4, statementMsMax: 30_000 }
  return {
    open: () => openClusterStore(settings, { sender: "test" }),
    audit: () => auditOf(settings),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
})
