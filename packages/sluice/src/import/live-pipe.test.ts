/** How soon a line of a live pipe is down a stream connection: the real command, server and connection. */
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { expect, test } from "vitest"
import { openStream } from "../../../../test/support/open-stream.testing.ts"
import { temporaryDirectory } from "../../../../test/support/temporary-directory.testing.ts"
import { ended, run, start, startDev } from "../command.testing.ts"

/** Interval of a program that reports events as they happen. */
const writeEveryMs = 100
const lineCount = 50

/** The promise, of the typical line: on a machine that is busy with other tests single ones may take longer. */
const medianMsMax = 300

test("a line written every 100 ms typically reaches a stream connection within 300 ms", async () => {
  await using directory = await temporaryDirectory()
  await using dev = await startDev(join(directory.path, ".sluice"))
  const surroundings = { cwd: directory.path }
  await run(["rules", "add", "kingfisher"], surroundings)
  await using stream = await openStream(dev.ready)
  const child = start(["import", "-"], surroundings)
  const post = (id: number): string => `${JSON.stringify({ data: { id: String(id), text: "a kingfisher" } })}\n`
  // The start of the command is not timed.
  child.stdin.write(post(1))
  await stream.next()

  const writtenAtMs: number[] = []
  const latenciesMs: number[] = []
  const reading = (async () => {
    for (let index = 0; index < lineCount; index++) {
      const { data } = await stream.next()
      expect(data.id).toBe(String(index + 2))
      latenciesMs.push(performance.now() - (writtenAtMs[index] ?? Number.NaN))
    }
  })()
  const writing = (async () => {
    for (let index = 0; index < lineCount; index++) {
      writtenAtMs.push(performance.now())
      child.stdin.write(post(index + 2))
      await delay(writeEveryMs)
    }
  })()
  await Promise.all([reading, writing])
  const median = latenciesMs.toSorted((a, b) => a - b)[lineCount / 2] ?? Number.NaN
  expect(median).toBeLessThanOrEqual(medianMsMax)
  expect(await ended(child)).toMatchObject({ status: 0, stdout: expect.stringMatching(/^51 lines: 51 accepted,/) })
})
