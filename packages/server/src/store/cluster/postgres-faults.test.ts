import { expect, test } from "vitest"
import { StoreUnavailable } from "../store-faults.ts"
import { openClusterStore } from "./cluster-store.ts"
import { createTestDatabase } from "./postgres.testing.ts"
import { clusterFault } from "./postgres-faults.ts"

test.each(["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "ERR_TLS_CERT_ALTNAME_INVALID", "CERT_HAS_EXPIRED"])(
  "a server whose certificate is not accepted (%s) is not available",
  (code) => {
    const error = Object.assign(new Error("why"), { code })
    expect(clusterFault(error)).toEqual(new StoreUnavailable("PostgreSQL is not available: why", { cause: error }))
  },
)

test("a server without TLS is not available to who asks for it", async () => {
  await using database = await createTestDatabase()
  const url = `${database.url}?sslmode=verify-full`
  const opening = openClusterStore({ url, poolMax: 1, statementMsMax: 10_000 }, { sender: "test" })
  await expect(opening).rejects.toThrow("PostgreSQL is not available: The server does not support SSL connections")
})
