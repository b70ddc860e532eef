/**
 * A server on a store that was moved to PostgreSQL in mid-delivery, and killed there in mid-delivery once more.
 *
 * `SLUICE_MIGRATED_POSTS` is the number of moved posts: 10,000 by default, a multiple of 1,000.
 */
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { expect, test } from "vitest"
import { fillMidDelivery } from "../../bench/mid-delivery-store.ts"
import { migrateStore } from "../../packages/server/src/migrate/migrate-store.ts"
import { sharedMasterKey as masterKey, SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { waitFor } from "./app-client.ts"
import { postgresMissing, PrivatePostgres } from "./private-postgres.ts"

const posts = Number(process.env.SLUICE_MIGRATED_POSTS ?? 10_000)

/** Matches after the position of each link. */
const owed = 200

/** Most deliveries of a link in flight: a kill may repeat this many. */
const deliveriesPerLink = 8

test.skipIf(postgresMissing !== undefined)(
  "links of a moved store resume from their positions with their retries, also after a kill: nothing is lost",
  async () => {
    await using directory = await temporaryDirectory()
    await using postgres = await PrivatePostgres.start()
    await using receivers = new AsyncDisposableStack()
    const received: string[] = []
    const endpointOf = async (secret: string): Promise<string> => {
      const receiver = receivers.use(await WebhookReceiver.start(secret))
      receiver.statusOf = ({ eventId }) => {
        received.push(eventId)
        return 200
      }
      return receiver.url
    }
    const from = join(directory.path, "embedded")
    const filled = await fillMidDelivery(from, posts, { masterKey, owed, endpointOf })
    await migrateStore({ from, to: postgres.url(), env: { SLUICE_MASTER_KEY: masterKey } })

    const serve = (): SluiceProcess =>
      new SluiceProcess(directory.path, {
        database: postgres.url(),
        env: { SLUICE_DELIVERIES_PER_LINK_MAX: String(deliveriesPerLink) },
      })
    {
      await using killed = serve()
      await killed.mustBeReady()
      await waitFor(
        () => received.length,
        (count) => count > filled.links * owed * 0.2,
      )
    }
    const before = received.length
    await using server = serve()
    await server.mustBeReady()
    const states = await waitFor(
      () => postgres.query("SELECT id, position, delivered, retries, dead_letters, missed FROM links ORDER BY id"),
      (rows) => rows.every((row) => row.split("|")[2] === String(filled.head - filled.dead)),
    )
    // A mistaken repeat would arrive within this time.
    await sleep(1_000)

    expect(before).toBeLessThan(filled.links * (owed + filled.retries))
    expect(states).toHaveLength(filled.links)
    for (const state of states) {
      const [, ...rest] = state.split("|").map(Number)
      expect(rest).toEqual([filled.head, filled.head - filled.dead, 0, filled.dead, 0])
    }
    const expected = states.flatMap((state) => {
      const [id = ""] = state.split("|")
      const seqs = Array.from({ length: filled.head }, (_, at) => at + 1)
      return seqs.filter((seq) => seq <= filled.retries || seq > filled.position).map((seq) => `msg_${id}_${seq}`)
    })
    expect(new Set(received)).toEqual(new Set(expected))
    const repeats = received.length - expected.length
    const countOf = async (sql: string): Promise<number> => Number((await postgres.query(sql))[0])
    // These counts explain additional repeats: an attempt that failed although it arrived is made again, and a link
    // that a process takes twice repeats its deliveries in flight. Each of the two processes takes every link once.
    const failed = await countOf("SELECT count(*) FROM attempts WHERE outcome <> 'delivered'")
    const taken = await countOf("SELECT last_value FROM lease_numbers")
    console.log(JSON.stringify({ posts, links: filled.links, deliveries: received.length, repeats, failed, taken }))
    expect(repeats).toBeLessThanOrEqual(filled.links * deliveriesPerLink)
    expect(server.errors).not.toMatch(/"level":[56]0/)
  },
  3_600_000,
)
