import { join } from "node:path"
import { expect, test } from "vitest"
import { openForWriting } from "../connection/database.ts"
import { GroupCommit } from "./group-commit.ts"
import { temporaryDirectory } from "../../../../../../test/support/temporary-directory.testing.ts"

test("a write that fails midway is undone completely, and the others of its group are kept completely", async () => {
  await using directory = await temporaryDirectory()
  const db = openForWriting(join(directory.path, "sluice.db"))
  try {
    db.exec("CREATE TABLE notes (text TEXT)")
    const note = (text: string): void => void db.prepare("INSERT INTO notes VALUES (?)").run(text)
    const group = new GroupCommit(db, { failed: () => undefined })
    const outcomes = await Promise.allSettled([
      group.run(() => note("before")),
      group.run(() => {
        note("half")
        throw new Error("on its way")
      }),
      group.run(() => note("after")),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"])
    const kept = db.prepare("SELECT text FROM notes").all()
    expect(kept.map(({ text }) => text)).toEqual(["before", "after"])
  } finally {
    db.close()
  }
})
