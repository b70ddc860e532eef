import { afterAll, beforeAll } from "vitest"
import { storeContract } from "../../contract/store-contract.ts"
import { auditOf } from "./audited.testing.ts"
import { openClusterStore } from "./cluster-store.ts"
import { createTestDatabase, createTestSchema, type TestDatabase } from "../connection/postgres.testing.ts"

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})

afterAll(async () => {
  await database[Symbol.asyncDispose]()
})

storeContract("the PostgreSQL store", async () => {
  const settings = { url: await createTestSchema(database), poolMax: 4, statementMsMax: 30_000 }
  return {
    open: () => openClusterStore(settings, { sender: "test" }),
    audit: () => auditOf(settings),
    [Symbol.asyncDispose]: async () => undefined,
  }
})
