/**
 * The server is killed in the middle of retention, again and again, with a link that has not read the matches to be
 * removed.
 *
 *     log      1 … head, all older than the retention
 *     link     a few delivered, a few in flight, the rest unread ──► a gap marker, or delivered; never lost silently
 */
import { join } from "node:path"
import { expect, test } from "vitest"
import { AppClient, postLine } from "./app-client.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { faultyMachine, preloadMissing } from "./preloaded-faults.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

const matches = 2_400
const retentionHours = 1
const twoHoursInSeconds = 7_200

/** Steps of retention in which the server is killed, one start after the other. */
const killedSteps = [2, 1, 2]

test.skipIf(preloadMissing !== undefined)(
  "a server that is killed while it trims leaves a gap marker for every unread match",
  { timeout: 180_000 },
  async () => {
    await using directory = await temporaryDirectory()
    const data = join(directory.path, "data")
    using machine = faultyMachine(data)
    const settings = {
      ...machine.env,
      SLUICE_MATCH_RETENTION_HOURS: String(retentionHours),
      SLUICE_UNDELIVERED_RETENTION_HOURS: String(retentionHours),
      SLUICE_CLOCK_JUMP: "believe",
    }
    let webhookId: string
    let endpoint: WebhookReceiver
    {
      machine.setClockOff(-twoHoursInSeconds)
      await using server = new SluiceProcess(data, { env: settings })
      const app = new AppClient(await server.mustBeReady())
      endpoint = await WebhookReceiver.start(app.consumerSecret)
      await app.addRule("cat")
      webhookId = await app.link(endpoint.url)
      await app.ingest(Array.from({ length: 40 }, (_, index) => postLine(1 + index, "a cat")))
      await app.caughtUp(webhookId)
      endpoint.hold()
      const rest = Array.from({ length: matches - 40 }, (_, index) => postLine(41 + index, "a cat"))
      await app.ingest(rest)
      await endpoint.arrived(41)
      server.end("SIGKILL")
    }
    await using receiver = endpoint
    // The endpoint responded to none of those in flight, so they are still pending.
    receiver.received.splice(40)
    machine.setClockOff(0)

    for (const step of killedSteps) {
      const env = { ...settings, SLUICE_CRASH_POINT: `in-trim:${step}` }
      await using killed = new SluiceProcess(data, { env })
      const { signal, errors } = await killed.ended()
      expect(signal).toBe("SIGKILL")
      expect(errors).toContain("crash point in-trim\n")
    }
    receiver.release()

    await using server = new SluiceProcess(data, { env: settings })
    const app = new AppClient(await server.mustBeReady())
    const state = await app.caughtUp(webhookId)
    expect(state.head).toBe(matches)
    const delivered = receiver.received.map(({ eventId }) => Number(eventId.split("_").at(-1)))
    const inGaps = state.gaps.flatMap(({ from, to }) => range(from, to))
    // Retention ran, and removed matches of the link.
    expect(inGaps.length).toBeGreaterThan(0)
    expect(state.total).toMatchObject({ missed: inGaps.length, dead_letters: 0, expired: 0 })
    const accounted = new Set([...delivered, ...inGaps])
    expect(range(1, matches).filter((position) => !accounted.has(position))).toEqual([])
    // The log continues at its head.
    await app.ingest([postLine(matches + 1, "a cat")])
    expect(await app.caughtUp(webhookId)).toMatchObject({ position: matches + 1, gaps: state.gaps })
  },
)

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
