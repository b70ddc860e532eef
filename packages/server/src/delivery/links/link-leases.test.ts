import { afterEach, beforeEach, expect, test } from "vitest"
import type { LinkId } from "../../model/ids.ts"
import type { Leases, LinkLease } from "../../store/leases.ts"
import { hurried, numbered, withMethods, type LinkHarness, type ScriptedOutbound } from "./link-harness.testing.ts"
import { breathe, eventually, makeRunningLinks, type RunningLinks } from "./running-links.testing.ts"
import { systemClock } from "../../runtime/clock.ts"

let running: RunningLinks
let harness: LinkHarness
let outbound: ScriptedOutbound

beforeEach(async () => {
  running = await makeRunningLinks()
  ;({ harness, outbound } = running)
  outbound.respondToAll(() => 200)
})

afterEach(async () => {
  await running[Symbol.asyncDispose]()
})

/** Leases that the test gives and takes. */
function givenLeases() {
  const held = new Map<LinkId, number>()
  const listeners = new Set<() => void>()
  const lost: LinkLease[] = []
  const stopped: LinkId[] = []
  const leases: Leases = {
    ofLink: (id) => held.get(id),
    snapshot: () => {
      const then = new Map(held)
      return (id) => then.get(id)
    },
    has: () => true,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    lost: (gone) => void lost.push(...gone),
    stopped: (ids) => void stopped.push(...ids),
  }
  return {
    leases,
    lost,
    stopped,
    give: (id: LinkId, lease: number | undefined): void => {
      if (lease === undefined) held.delete(id)
      else held.set(id, lease)
      for (const listener of listeners) listener()
    },
  }
}

async function linkIdOf(webhookId: string): Promise<LinkId> {
  const link = (await harness.store.allLinks()).find((found) => found.webhookId === webhookId)
  if (link === undefined) throw new Error(`there is no link of webhook ${webhookId}`)
  return link.id
}

test("a process drives a link while it has the lease, and resumes there when it has the lease again", async () => {
  await harness.addLink("1", "100", "https://example.com/webhook")
  const id = await linkIdOf("100")
  const { leases, give, stopped } = givenLeases()
  running.start({ leases })
  await harness.post("1", "1", "2")
  await breathe()
  expect(running.receivedIds()).toEqual([])
  give(id, 1)
  await eventually(() => running.receivedIds()).toEqual(["1", "2"])
  give(id, undefined)
  await eventually(() => stopped).toEqual([id])
  await harness.post("1", "3")
  await breathe()
  expect(running.receivedIds()).toEqual(["1", "2"])
  give(id, 2)
  await eventually(() => running.receivedIds()).toEqual(["1", "2", "3"])
})

test("nothing is sent under a lease that was not renewed in time; delivery continues after the renewal", async () => {
  await harness.addLink("1", "100", "https://example.com/webhook")
  const id = await linkIdOf("100")
  let isLate = false
  const given = givenLeases()
  given.give(id, 1)
  running.start({
    leases: { ...given.leases, ofLink: (link) => (isLate ? undefined : given.leases.ofLink(link)) },
  })
  await harness.post("1", "1")
  await eventually(() => running.receivedIds()).toEqual(["1"])
  isLate = true
  await harness.post("1", "2")
  await breathe()
  expect(running.receivedIds()).toEqual(["1"])
  isLate = false
  given.give(id, 1)
  await eventually(() => running.receivedIds()).toEqual(["1", "2"])
})

test("matches in flight at the loss of a lease are saved before the link is driven again, not repeated", async () => {
  await harness.addLink("1", "100", "https://example.com/webhook")
  const id = await linkIdOf("100")
  const { leases, give } = givenLeases()
  give(id, 1)
  outbound.respondToAll(() => undefined)
  running.start({ leases })
  await harness.post("1", "1", "2")
  await eventually(() => running.receivedIds()).toEqual(["1", "2"])
  give(id, undefined)
  await breathe()
  give(id, 1)
  await breathe()
  expect(running.receivedIds()).toEqual(["1", "2"])
  outbound.respondToAll(() => 200)
  await harness.post("1", "3")
  await eventually(() => running.receivedIds()).toEqual(["1", "2", "3"])
})

test("progress is saved under the lease that it was made under, and a link that the store says is lost is reported", async () => {
  await harness.addLink("1", "100", "https://example.com/webhook")
  const id = await linkIdOf("100")
  const { leases, give, lost } = givenLeases()
  give(id, 7)
  const savedUnder: (number | undefined)[] = []
  const store = withMethods(harness.store, {
    saveProgress: async (progress) => {
      savedUnder.push(...progress.map(({ lease }) => lease))
      return progress.map(({ linkId }) => ({ linkId, lease: 7 }))
    },
  })
  running.start({ leases, store, clock: hurried(systemClock) })
  await harness.post("1", ...numbered(1))
  await eventually(() => lost).toEqual([{ linkId: id, lease: 7 }])
  expect(savedUnder).toEqual([7])
})
