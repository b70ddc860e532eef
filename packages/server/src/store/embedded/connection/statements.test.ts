import { constants, DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { prepare } from "./statements.ts"

test.each([
  ["SELECT id FROM posts ORDER BY id LIMIT ?", [2]],
  ["SELECT id FROM posts WHERE id > ?1 ORDER BY id LIMIT ?2", [0n, 2]],
  ["SELECT id FROM posts ORDER BY id LIMIT ? OFFSET ?", [2, 0]],
])("a statement is compiled once, whatever its limit is: %s", (sql, values) => {
  using db = new DatabaseSync(":memory:")
  db.exec("CREATE TABLE posts (id INTEGER PRIMARY KEY); INSERT INTO posts VALUES (1), (2), (3)")
  let compiled = 0
  db.setAuthorizer((action) => {
    if (action === constants.SQLITE_SELECT) compiled += 1
    return constants.SQLITE_OK
  })
  const statement = prepare<{ id: number }>(db, sql)
  for (let run = 0; run < 3; run += 1) expect(statement.all(...values)).toEqual([{ id: 1 }, { id: 2 }])
  expect(compiled).toBe(1)
})
