/** A thousand links over three processes: exactly one process drives each, whichever processes run. */
import { expect, test } from "vitest"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { Cluster } from "./cluster.ts"
import { postgresMissing } from "./private-postgres.ts"

/** Links move within this time of the end of a process. */
const moveMsMax = 10_000

const links = 1_000

/** Deliveries in flight at a pause: a link's maximum while the outcomes of others wait to be saved. */
const inFlight = 8

/** Copies one link a thousand times: a challenge of each endpoint would take most of the test. */
async function multiply(cluster: Cluster): Promise<void> {
  for (const table of ["webhooks", "links"]) {
    const columns = await cluster.postgres.query(
      `SELECT column_name FROM information_schema.columns WHERE table_name = '${table}' ORDER BY ordinal_position`,
    )
    const copied = columns.map((column) => {
      if (column === "id" || column === "webhook_id") return `${column} + copy`
      if (column === "url") return "url || '/' || copy"
      if (column === "url_hash") return "sha256(convert_to(url || '/' || copy, 'UTF8'))"
      return column === "process" || column === "lease" ? "NULL" : column
    })
    await cluster.postgres.query(
      `INSERT INTO ${table} (${columns.join()}) SELECT ${copied.join()} FROM ${table}, generate_series(1, ${links - 1}) AS copy`,
    )
  }
  await cluster.postgres.query("UPDATE totals SET control_changes = control_changes + 1 WHERE shard = 1")
}

test.skipIf(postgresMissing !== undefined)(
  "3 processes share 1,000 links evenly, one process drives each, and links move within 10 s of a SIGKILL",
  async () => {
    await using cluster = await Cluster.start()
    const app = new AppClient(cluster.readyLine)
    await using receiver = await WebhookReceiver.start(app.consumerSecret)
    expect((await app.addRule("tide")).status).toBe(201)
    await app.link(receiver.url)
    await multiply(cluster)
    const spreadIs = (...counts: readonly number[]) =>
      waitFor(
        () => cluster.spread(),
        (found) => found.join() === counts.join(),
      )
    /** Sends a post, and waits until every link has delivered it once. */
    const deliverToAll = async (id: number): Promise<void> => {
      receiver.received.length = 0
      await app.ingest([postLine(id, "the tide")])
      await receiver.arrived(links)
      await waitFor(
        () => cluster.postgres.query("SELECT count(*) FROM links WHERE delivered <> (SELECT head FROM match_logs)"),
        ([late]) => late === "0",
      )
      expect(receiver.received).toHaveLength(links)
      expect(receiver.eventIds.size).toBe(links)
    }
    await spreadIs(333, 333, 334)
    await deliverToAll(1)
    const killedAtMs = performance.now()
    await cluster.end(2, "SIGKILL")
    await spreadIs(500, 500)
    expect(performance.now() - killedAtMs).toBeLessThan(moveMsMax)
    await deliverToAll(2)
    await cluster.startAgain(2)
    await spreadIs(333, 333, 334)
    await deliverToAll(3)
    expect(cluster.errors).toEqual([])
  },
)

test.skipIf(postgresMissing !== undefined)(
  "a lone process that is paused for longer than its lease finishes its deliveries in flight and repeats none",
  async () => {
    await using cluster = await Cluster.start({ processes: 1 })
    const app = new AppClient(cluster.readyLine)
    await using receiver = await WebhookReceiver.start(app.consumerSecret)
    expect((await app.addRule("tide")).status).toBe(201)
    await app.link(receiver.url)
    receiver.hold()
    await app.ingest(Array.from({ length: inFlight }, (_, index) => postLine(index + 1, "the tide")))
    await receiver.arrived(inFlight)
    const { process } = cluster.member(0)
    process.pause()
    await waitFor(
      () => cluster.spread(),
      (counts) => counts.length === 0,
    )
    process.resume()
    await waitFor(
      () => cluster.spread(),
      (counts) => counts.join() === "1",
    )
    receiver.release()
    await app.ingest([postLine(inFlight + 1, "the tide")])
    await waitFor(
      () => cluster.postgres.query("SELECT delivered FROM links"),
      ([delivered]) => delivered === String(inFlight + 1),
    )
    expect(receiver.received).toHaveLength(inFlight + 1)
  },
)
