import { MessageChannel, type MessagePort } from "node:worker_threads"
import { expect, onTestFinished, test } from "vitest"
import type { AppId } from "../../../model/ids.ts"
import { FollowedLogs, logKey, type AnnouncedChange, type AppendedEntries } from "./appended-entries.ts"
import { serveWrites, writesThrough, type PortWrites } from "./write-port.ts"

const app = "100" as AppId
const core = logKey(app, "core")
const envelope = logKey(app, "envelope")

/** Logs whose following shows that what a thread has asked before was heard. */
const barriers = [logKey("200" as AppId, "core"), logKey("300" as AppId, "core")] as const

const appended = (shape: AppendedEntries["shape"]): AppendedEntries => ({ appId: app, shape, entries: [] })
const change: AnnouncedChange = { kind: "matches", appIds: [app], appended: [appended("core"), appended("envelope")] }

/** A writer, and threads that write through it. */
function writer() {
  const followed = new FollowedLogs()
  const listeners = new Set<(change: AnnouncedChange) => void>()
  const onChange = (listener: (change: AnnouncedChange) => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
  return {
    followed,
    announce: () => {
      for (const listener of listeners) listener(change)
    },
    thread: (): Pick<PortWrites, "follow"> & { port: MessagePort; heard: AnnouncedChange[] } => {
      const { port1, port2 } = new MessageChannel()
      onTestFinished(() => port2.close())
      serveWrites(port1, { onChange, followed } as unknown as Parameters<typeof serveWrites>[1])
      const heard: AnnouncedChange[] = []
      const { follow } = writesThrough(port2, (one) => heard.push(one))
      return { port: port2, heard, follow }
    },
  }
}

test("a thread is handed the entries of the logs that it follows, and of others only that they changed", async () => {
  const { thread, announce, followed } = writer()
  const [one, two] = [thread(), thread()]
  one.follow(core, true)
  one.follow(barriers[0], true)
  two.follow(core, true)
  two.follow(envelope, true)
  await expect.poll(() => followed.has(envelope) && followed.has(barriers[0])).toBe(true)
  announce()
  await expect.poll(() => [one, two].map(({ heard }) => heard.length)).toEqual([1, 1])
  expect(one.heard).toEqual([{ kind: "matches", appIds: [app], appended: [appended("core")] }])
  expect(two.heard).toEqual([change])
})

test("a log is followed until its last follower stops or leaves, however often one began to follow it", async () => {
  const { thread, followed, announce } = writer()
  const [one, two] = [thread(), thread()]
  one.follow(core, true)
  one.follow(core, true)
  two.follow(core, true)
  one.follow(core, false)
  for (const [index, { follow }] of [one, two].entries()) follow(barriers[index] ?? core, true)
  await expect.poll(() => barriers.every((log) => followed.has(log))).toBe(true)
  announce()
  await expect.poll(() => two.heard).toMatchObject([{ appended: [appended("core")] }])
  await expect.poll(() => one.heard).toEqual([{ kind: "matches", appIds: [app] }])
  expect(followed.has(core)).toBe(true)
  two.port.close()
  await expect.poll(() => followed.has(core)).toBe(false)
})
