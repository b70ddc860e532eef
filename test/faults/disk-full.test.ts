/** The disk is full at every kind of write: posts, rules, webhooks, the progress of a link. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, onTestFinished, test } from "vitest"
import type { Answer } from "../oracle/sluice-client.ts"
import { AppClient, postLine, waitFor } from "./app-client.ts"
import { faultyMachine, preloadMissing } from "./preloaded-faults.ts"
import { Endpoint } from "./endpoint.ts"
import { SluiceProcess } from "./sluice-process.ts"
import { temporaryDirectory } from "./temporary-directory.ts"

/** A disk that can be full. */
interface LimitedDisk {
  /** The data directory on it. */
  readonly data: string
  readonly env: Readonly<Record<string, string>>
  fill(): void
  makeRoom(): void
  /** Whether a write was refused for want of room, or would be now. */
  isOrWasFull(): boolean
}

/** Size of the small disk: room for a fresh store and some posts. */
const smallDiskBytes = 48 * 1024 * 1024

/** Most bodies, or rules, that go in before there is truly no room left: a file may be longer than what is in it. */
const attemptsMax = 300

/** How long after there is room again the server may still refuse. */
const recoveryMsMax = 10_000

const disks: readonly { name: string; missing: string | undefined; make: () => LimitedDisk }[] = [
  { name: "a small disk that is full", missing: tryMount(), make: smallDisk },
  { name: "a disk that makes no file longer", missing: preloadMissing, make: refusingDisk },
]

describe.each(disks)("$name", ({ missing, make }) => {
  test.skipIf(missing !== undefined)(
    "answers 503 to whoever writes, lets everything be read, and goes on by itself when there is room",
    async () => {
      const disk = make()
      const acknowledged = await survivesFullDisk(disk)
      await using restarted = new SluiceProcess(disk.data)
      const app = new AppClient(await restarted.mustBeReady())
      expect(await app.pour(acknowledged)).toEqual({ accepted: 0, duplicates: acknowledged.length })
    },
  )
})

/** Fills the disk under a server at work, and makes room again. Answers what was acknowledged, as lines. */
async function survivesFullDisk(disk: LimitedDisk): Promise<readonly string[]> {
  const acknowledged: string[] = []
  let next = 1
  const lines = (count: number): string[] =>
    Array.from({ length: count }, () => postLine(next++, `a cat ${"and so on ".repeat(20)}`))
  await using server = new SluiceProcess(disk.data, { env: disk.env })
  const app = new AppClient(await server.mustBeReady())
  await using endpoint = await Endpoint.start(app.consumerSecret)
  await app.addRule("cat")
  const webhookId = await app.link(endpoint.url)
  const pour = async (count: number): Promise<Answer> => {
    const body = lines(count)
    const answer = await app.tryPour(body)
    if (answer.status === 200) acknowledged.push(...body)
    return answer
  }
  expect((await pour(20)).status).toBe(200)
  await app.caughtUp(webhookId)
  // These wait for the endpoint until the disk is full, and have their progress saved then.
  endpoint.hold()
  expect((await pour(5)).status).toBe(200)
  await endpoint.have(25)

  disk.fill()
  await isRefused(() => pour(200))
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
    () => pour(10),
    ({ status }) => status === 200,
    recoveryMsMax,
  )
  expect((await app.addRule("horse")).status).toBe(201)
  const { head, total } = await app.caughtUp(webhookId)
  expect(total).toMatchObject({ delivered: head, dead_letters: 0, missed: 0 })
  const delivered = new Set(endpoint.postIds)
  expect(idsOf(acknowledged).filter((id) => !delivered.has(id))).toEqual([])
  // Nobody was killed, so nothing came twice.
  expect(endpoint.arrived.length).toBe(endpoint.eventIds.size)
  server.end("SIGKILL")
  await server.ended()
  return acknowledged
}

/** As `faultyMachine` makes one. */
function refusingDisk(): LimitedDisk {
  const data = join(temporaryDirectory(), "data")
  const machine = faultyMachine(data)
  return {
    data,
    env: machine.env,
    fill: () => machine.turnDisk("disk-full"),
    makeRoom: () => machine.turnDisk("none"),
    isOrWasFull: () => machine.hits().full > 0,
  }
}

/** Writes until there is no more room, which must be told as such and in no other way. */
async function isRefused(write: () => Promise<Answer>): Promise<void> {
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

/** A memory disk of its own, gone when the test is over. */
function smallDisk(): LimitedDisk {
  const mount = join(temporaryDirectory(), "disk")
  mkdirSync(mount)
  const { status, stderr } = spawnSync("mount", [
    "-t",
    "tmpfs",
    "-o",
    `size=${smallDiskBytes}`,
    "none",
    mount,
  ])
  assert(status === 0, String(stderr))
  onTestFinished(() => void spawnSync("umount", ["--lazy", mount]))
  const ballast = join(mount, "ballast")
  return {
    data: join(mount, "data"),
    env: {},
    fill() {
      const file = openSync(ballast, "w")
      const block = Buffer.alloc(64 * 1024)
      try {
        for (;;) writeSync(file, block)
      } catch (error) {
        assert((error as NodeJS.ErrnoException).code === "ENOSPC")
      } finally {
        closeSync(file)
      }
    },
    makeRoom: () => rmSync(ballast),
    isOrWasFull: () => statfsSync(mount).bavail === 0,
  }
}

/** Why no disk can be mounted here; undefined when it can. The other kind of full disk does not need it. */
function tryMount(): string | undefined {
  const { status, stderr, error } = spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/mnt"])
  if (status === 0 && process.getuid?.() === 0) return undefined
  const reason = error?.message ?? `may not mount: ${String(stderr).trim()}`
  console.log(`SKIPPED, a small disk: ${reason}`)
  return reason
}
