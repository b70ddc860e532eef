import { once } from "node:events"
import { connect, createServer, type AddressInfo } from "node:net"
import { setImmediate as nextRound } from "node:timers/promises"
import { expect, onTestFinished, test } from "vitest"
import { systemClock } from "./clock.ts"
import { FairRounds } from "./fair-rounds.ts"

const stoppedClock = { monotonicMs: () => 0 }

test("a few pieces of work begin at once, and more begin round-robin by owner until all have begun", async () => {
  const rounds = new FairRounds(stoppedClock)
  const begun: string[] = []
  const come = (owner: string, count: number): void => {
    for (let number = 0; number < count; number++) rounds.begin(owner, () => begun.push(owner))
  }
  come("flood", 1_000)
  expect(begun).toHaveLength(16)
  come("neighbour", 2)
  await nextRound()
  // Sixteen in a round, of which the neighbour's are the second and the fourth.
  expect(begun).toHaveLength(32)
  expect(begun.slice(16, 20)).toEqual(["flood", "neighbour", "flood", "neighbour"])
  for (let round = 0; round < 62; round++) {
    const before = begun.length
    await nextRound()
    expect(begun.length - before).toBeLessThanOrEqual(16)
  }
  expect(begun).toHaveLength(1_002)
  // When nothing is queued, the next one begins at once.
  come("neighbour", 1)
  expect(begun).toHaveLength(1_003)
})

test("work waits behind earlier work of its owner, and work that begins may add more", async () => {
  const rounds = new FairRounds(stoppedClock)
  const begun: number[] = []
  for (let number = 0; number < 20; number++) {
    rounds.begin("a", () => {
      begun.push(number)
      if (number === 16) rounds.begin("a", () => begun.push(20))
    })
  }
  await nextRound()
  await nextRound()
  expect(begun).toEqual(Array.from({ length: 21 }, (_, number) => number))
})

test("withdrawn work does not begin, and uses no place in a round", async () => {
  const rounds = new FairRounds(stoppedClock)
  const begun: number[] = []
  const withdrawals = Array.from({ length: 500 }, (_, number) => rounds.begin("a", () => begun.push(number)))
  expect(withdrawals.filter((withdraw) => withdraw === undefined)).toHaveLength(16)
  for (const withdraw of withdrawals.slice(0, 490)) withdraw?.()
  await nextRound()
  expect(begun.slice(16)).toEqual(Array.from({ length: 10 }, (_, number) => 490 + number))
})

test("a round ends when its time is spent, also when resumed work spends it", async () => {
  let nowMs = 0
  const rounds = new FairRounds({ monotonicMs: () => nowMs })
  const done: number[] = []
  const goOn = async (number: number): Promise<void> => {
    await rounds.turn("a")
    done.push(number)
    nowMs += 2
  }
  const all = Array.from({ length: 30 }, (_, number) => goOn(number))
  await Promise.resolve()
  const counts: number[] = []
  while (done.length < 30) {
    const before = done.length
    await nextRound()
    counts.push(done.length - before)
  }
  await Promise.all(all)
  expect(done).toEqual(Array.from({ length: 30 }, (_, number) => number))
  // Three turns of 2 ms are the first that end after 5 ms.
  expect(Math.max(...counts)).toBe(3)
})

test("while connections arrive, rounds rest for three times their length, at most 50 ms, and then run on", async () => {
  let nowMs = 0
  const rounds = new FairRounds({ monotonicMs: () => nowMs })
  let begun = 0
  const work = (ms: number): void => {
    for (let number = 0; number < 100; number++) {
      rounds.begin("a", () => {
        begun += 1
        nowMs += ms
      })
    }
  }
  /** Counts the starts in `count` rounds of 1 ms, each of which accepts a connection. */
  const arriving = async (count: number): Promise<number> => {
    const before = begun
    for (let round = 0; round < count; round++) {
      rounds.connectionArrived()
      await nextRound()
      nowMs += 1
    }
    return begun - before
  }
  work(1)
  // Five pieces of 1 ms in a round, and 15 ms of rest.
  expect(begun).toBe(5)
  expect(await arriving(10)).toBe(0)
  expect(rounds.isResting).toBe(true)
  expect(await arriving(40)).toBeLessThanOrEqual(10)
  const before = begun
  await nextRound()
  await nextRound()
  expect(begun - before).toBeGreaterThanOrEqual(5)
  expect(rounds.isResting).toBe(false)
})

test("a rest after a long round lasts at most 50 ms, and there is no rest without connections", async () => {
  let nowMs = 0
  const rounds = new FairRounds({ monotonicMs: () => nowMs })
  rounds.begin("a", () => {
    nowMs += 1_000
  })
  rounds.connectionArrived()
  await nextRound()
  expect(rounds.isResting).toBe(true)
  nowMs += 50
  expect(rounds.isResting).toBe(false)

  rounds.begin("a", () => {
    nowMs += 1_000
  })
  await nextRound()
  expect(rounds.isResting).toBe(false)
})

test("200 connections that arrive during endless work are accepted before 40 pieces of it are done", async () => {
  const rounds = new FairRounds(systemClock)
  let accepted = 0
  const server = createServer((socket) => {
    accepted += 1
    socket.on("error", () => undefined)
    rounds.connectionArrived()
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  let done = 0
  const over = new AbortController()
  const workOn = async (owner: string): Promise<void> => {
    while (!over.signal.aborted) {
      await rounds.turn(owner)
      const endsAtMs = performance.now() + 5
      while (performance.now() < endsAtMs);
      done += 1
    }
  }
  const work = Array.from({ length: 20 }, (_, at) => workOn(`${at}`))
  const sockets = Array.from({ length: 200 }, () => connect(port, "127.0.0.1"))
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()))
  const before = done
  while (accepted < sockets.length) await nextRound()
  over.abort()
  await Promise.all(work)
  // One connection is accepted each time that the event loop goes round: without rests that is after 200 pieces of work.
  expect(done - before).toBeLessThan(40 + work.length)
})
