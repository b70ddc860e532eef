/** The one statement that saves deliveries alone, against the ledger, of which it is a special case. */
import fc from "fast-check"
import { expect, test } from "vitest"
import type { LinkId } from "../../../model/ids.ts"
import { addLink, anApp, app, progress } from "../../contract/fixtures.ts"
import { progressChange } from "../../ledger/progress.ts"
import { CountedStore } from "../connection/counted-store.testing.ts"
import { createTestDatabase } from "../connection/postgres.testing.ts"

const links = ["31", "32", "33"] as LinkId[]

class Deliveries extends CountedStore {
  static async create(): Promise<Deliveries> {
    const store = new Deliveries(await createTestDatabase())
    await store.fill(async (filled) => {
      await filled.createApp(anApp(app), [])
      for (const [index, linkId] of links.entries()) await addLink(filled, app, { linkId, webhookId: `${index + 1}` })
    })
    return store
  }
}

test("one statement makes the changes that the ledger makes for deliveries alone", async () => {
  await using store = await Deliveries.create()
  const tallies = () => Promise.all(links.map((link) => store.read((reads) => reads.linkTally(link))))
  const anySave = fc.record({ by: fc.integer({ min: -3, max: 6 }), delivered: fc.nat(8) })
  const saves = fc.array(anySave, { minLength: links.length, maxLength: links.length })
  await fc.assert(
    fc.asyncProperty(saves, fc.integer({ min: 1, max: links.length }), async (of, count) => {
      const before = await tallies()
      const all = of.slice(0, count).map(({ by, delivered }, index) => {
        const position = Math.max((before[index]?.position ?? 0) + by, 0)
        return progress(position, { linkId: links[index]!, delivered })
      })
      expect(await store.writes.saveProgress(all)).toEqual([])
      const expected = before.map((tally, index) => {
        const saved = all[index]
        if (tally === undefined || saved === undefined) return tally
        const link = { position: tally.position, trimmedTo: 0, outstanding: [] }
        const { position, delivered } = progressChange(link, [saved])
        return { ...tally, position, delivered: tally.delivered + delivered }
      })
      expect(await tallies()).toEqual(expected)
    }),
  )
})
