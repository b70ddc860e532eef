import { expect, test } from "vitest"
import { findPooling, poolingOf, type SessionSigns } from "./pooler.ts"
import { createTestDatabase } from "./postgres.testing.ts"

const direct: SessionSigns = {
  givenProcesses: [11, 12],
  processes: [[11], [12]],
  refusesTransactions: false,
  isNotified: false,
}
const pooled: SessionSigns = {
  givenProcesses: [7001, 7002],
  processes: [
    [11, 11],
    [12, 12],
  ],
  refusesTransactions: false,
  isNotified: true,
}

test.each([
  ["each connection is a process of PostgreSQL", direct, "none"],
  ["a pooler keeps the sessions", pooled, "session"],
  ["a pooler refuses transactions", { ...pooled, refusesTransactions: true, isNotified: false }, "statement"],
  ["a notification is lost", { ...pooled, isNotified: false }, "transaction"],
  ["both connections use one process", { ...pooled, processes: [[11], [11]] }, "transaction"],
  ["a connection changes its process", { ...pooled, processes: [[11, 13], [12]] }, "transaction"],
  ["a process number happens to be right", { ...pooled, givenProcesses: [11, 7002], isNotified: false }, "transaction"],
] as const)("when %s, the kind of pooling is recognised", (_, signs, pooling) => {
  expect(poolingOf(signs)).toBe(pooling)
})

test("PostgreSQL itself is not mistaken for a pooler", async () => {
  await using database = await createTestDatabase()
  expect(await findPooling({ url: database.url, poolMax: 1, statementMsMax: 10_000 })).toBe("none")
})
