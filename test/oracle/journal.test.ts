import { appendFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { Journal } from "./journal.ts"

test("a reopened journal has all its entries, however its end was cut off", async () => {
  await using directory = await temporaryDirectory()
  {
    using journal = new Journal(directory.path)
    journal.append({ kind: "receiver", port: 4711 })
    journal.append({ kind: "life", url: "http://127.0.0.1:1", app: "{}" })
    journal.append({ kind: "acknowledged", body: 3, ids: ["31", "32"], again: false })
  }
  appendFileSync(join(directory.path, "journal.ndjson"), '{"kind":"acknowledged","body":4,"id')
  for (const faults of [0, 1]) {
    using journal = new Journal(directory.path)
    const { ledger } = journal
    expect(ledger.receiverPort).toBe(4711)
    expect([...ledger.acknowledgedIds]).toEqual(["31", "32"])
    expect([...ledger.acknowledgedBodies]).toEqual([3])
    expect(ledger.faults.length).toBe(faults)
    journal.append({ kind: "fault", text: "something" })
  }
})
