/** The disk is full at every kind of write: posts, rules, webhooks, the progress of a link. */
import assert from "node:assert/strict"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { SluiceResponse } from "../oracle/sluice-client.ts"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { faultyMachine, preloadMissing } from "./preloaded-faults.ts"
import { mountMissing, mountSmallDisk } from "./small-disk.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"

/** A disk that can fill up. */
interface LimitedDisk extends Disposable {
  /** The data directory on it. */
  readonly data: string
  readonly env: Readonly<Record<string, string>>
  fill(): void
  makeRoom(): void
  /** Returns whether a write failed for lack of room, or would fail now. */
  isOrWasFull(): boolean
}

/** Size of the small disk: room for a fresh store and some posts. */
const smallDiskBytes = 48 * 1024 * 1024

/** Most bodies or rules written until the disk is full: a file may be longer than its content. */
const attemptsMax = 300

/** Longest time for which the server may refuse after there is room again. */
const recoveryMsMax = 10_000

const disks: readonly {
  name: string
  missing: string | undefined
  make: (directory: string) => LimitedDisk
}[] = [
  { name: "a small disk that is full", missing: mountMissing, make: smallDisk },
  { name: "a disk that makes no file longer", missing: preloadMissing, make: refusingDisk },
]

describe.each(disks)("$name", ({ missing, make }) => {
  test.skipIf(missing !== undefined)(
    "makes writes fail with 503 while reads work, and writes resume by themselves when there is room",
    async () => {
      await using directory = await temporaryDirectory()
      using disk = make(directory.path)
      const acknowledged = await survivesFullDisk(disk)
      await using restarted = new SluiceProcess(disk.data)
      const app = new AppClient(await restarted.mustBeReady())
      expect(await app.ingest(acknowledged)).toEqual({ accepted: 0, duplicates: acknowledged.length })
    },
  )
})

/** Fills the disk under a server at work, and makes room again. Returns the acknowledged lines. */
async function survivesFullDisk(disk: LimitedDisk): Promise<readonly string[]> {
  const acknowledged: string[] = []
  let next = 1
  const lines = (count: number): string[] =>
    Array.from({ length: count }, () => postLine(next++, `a cat ${"and so on ".repeat(20)}`))
  await using server = new SluiceProcess(disk.data, { env: disk.env })
  const app = new AppClient(await server.mustBeReady())
  await using endpoint = await WebhookReceiver.start(app.consumerSecret)
  await app.addRule("cat")
  const webhookId = await app.link(endpoint.url)
  const ingest = async (count: number): Promise<SluiceResponse> => {
    const body = lines(count)
    const response = await app.tryIngest(body)
    if (response.status === 200) acknowledged.push(...body)
    return response
  }
  expect((await ingest(20)).status).toBe(200)
  await app.caughtUp(webhookId)
  // These wait for the endpoint until the disk is full; only then is their progress saved.
  endpoint.hold()
  expect((await ingest(5)).status).toBe(200)
  await endpoint.arrived(25)

  disk.fill()
  await isRefused(() => ingest(200))
  await isRefused(() => app.addRule(`dog ${(next += 1)}`))
  await isRefused(() => {
    const text = JSON.stringify({ url: `${endpoint.url}?${(next += 1)}` })
    return app.send("POST", "/2/webhooks", { type: "application/json", text })
  })
  endpoint.release()
  expect(disk.isOrWasFull()).toBe(true)

  const stored = new Set(await app.postIds("7"))
  expect(idsOf(acknowledged).filter((id) => !stored.has(id))).toEqual([])
  expect((await app.json("GET", "/2/tweets/search/stream/rules")).data).toContainEqual(
    expect.objectContaining({ value: "cat" }),
  )
  expect((await app.linkState(webhookId)).head).toBeGreaterThanOrEqual(acknowledged.length)
  expect((await app.send("GET", "/healthz")).status).toBe(200)
  expect(server.isRunning, server.errors).toBe(true)

  disk.makeRoom()
  await waitFor(
    () => ingest(10),
    ({ status }) => status === 200,
    recoveryMsMax,
  )
  expect((await app.addRule("horse")).status).toBe(201)
  const { head, total } = await app.caughtUp(webhookId)
  expect(total).toMatchObject({ delivered: head, dead_letters: 0, missed: 0 })
  const delivered = new Set(endpoint.postIds)
  expect(idsOf(acknowledged).filter((id) => !delivered.has(id))).toEqual([])
  // No process was killed, so nothing came twice.
  expect(endpoint.received.length).toBe(endpoint.eventIds.size)
  server.end("SIGKILL")
  await server.ended()
  return acknowledged
}

/** A disk of `faultyMachine`, which refuses to make files longer. */
function refusingDisk(directory: string): LimitedDisk {
  const data = join(directory, "data")
  const machine = faultyMachine(data)
  return {
    data,
    env: machine.env,
    fill: () => machine.turnDisk("disk-full"),
    makeRoom: () => machine.turnDisk("none"),
    isOrWasFull: () => machine.hits().full > 0,
    [Symbol.dispose]: () => machine[Symbol.dispose](),
  }
}

/** Writes until the disk is full, and expects the error that says so. */
async function isRefused(write: () => Promise<SluiceResponse>): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const { status, headers, text } = await write()
    if (status < 300) continue
    expect(status, text).toBe(503)
    expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/)
    expect(JSON.parse(text)).toMatchObject({ status: 503, title: "Service Unavailable" })
    return
  }
  assert.fail(`${attemptsMax} writes found room on a full disk`)
}

function idsOf(lines: readonly string[]): string[] {
  return lines.map((line) => (JSON.parse(line) as { data: { id: string } }).data.id)
}

function smallDisk(directory: string): LimitedDisk {
  const disk = mountSmallDisk(directory, smallDiskBytes)
  return {
    data: join(disk.mount, "data"),
    env: {},
    fill: () => disk.fill(),
    makeRoom: () => disk.makeRoom(),
    isOrWasFull: () => disk.isFull(),
    [Symbol.dispose]: () => disk[Symbol.dispose](),
  }
}
