import pg from "pg"
import { expect, test } from "vitest"
import { StoreUnavailable } from "../../store-faults.ts"
import { openClusterStore } from "../serving/cluster-store.ts"
import { createTestDatabase } from "./postgres.testing.ts"
import { clusterFault, isLost, isServerLost } from "./postgres-faults.ts"

test.each(["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "ERR_TLS_CERT_ALTNAME_INVALID", "CERT_HAS_EXPIRED"])(
  "a server whose certificate is not accepted (%s) is unavailable",
  (code) => {
    const error = Object.assign(new Error("why"), { code })
    expect(clusterFault(error)).toEqual(new StoreUnavailable("PostgreSQL is not available: why", { cause: error }))
  },
)

test("a server without TLS is unavailable to a client that requires it", async () => {
  await using database = await createTestDatabase()
  const url = `${database.url}?sslmode=verify-full`
  const opening = openClusterStore({ url, poolMax: 1, statementMsMax: 10_000 }, { sender: "test" })
  await expect(opening).rejects.toThrow("PostgreSQL is not available: The server does not support SSL connections")
})

test.each(["ECONNABORTED", "ENETDOWN", "ERR_STREAM_DESTROYED"])(
  "PostgreSQL is unavailable while its connections end with %s",
  (code) => {
    expect(clusterFault(Object.assign(new Error("lost"), { code }))).toBeInstanceOf(StoreUnavailable)
  },
)

test("PostgreSQL is unavailable while nobody answers a first connection", () => {
  // As pg words it for a client that is part of no pool.
  expect(clusterFault(new Error("timeout expired"))).toBeInstanceOf(StoreUnavailable)
})

test("PostgreSQL is unavailable while its disk fails, and an error of a statement is not changed", () => {
  const failed = (code: string): pg.DatabaseError => Object.assign(new pg.DatabaseError("failed", 0, "error"), { code })
  expect(clusterFault(failed("58030"))).toBeInstanceOf(StoreUnavailable)
  const wrong = failed("42601")
  expect(clusterFault(wrong)).toBe(wrong)
})

test("a read-only server is unavailable, and so are its connections; a statement that fails leaves them usable", () => {
  const failed = (code: string): pg.DatabaseError => Object.assign(new pg.DatabaseError("failed", 0, "error"), { code })
  const readOnly = failed("25006")
  expect(clusterFault(readOnly)).toBeInstanceOf(StoreUnavailable)
  expect([isLost(readOnly), isServerLost(readOnly), isServerLost(clusterFault(readOnly))]).toEqual([true, true, true])
  expect([isLost(failed("42601")), isServerLost(failed("42601"))]).toEqual([false, false])
})
