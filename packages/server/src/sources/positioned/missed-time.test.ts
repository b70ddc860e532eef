import { expect, test } from "vitest"
import type { SourceGap } from "../source.ts"
import { MissedTime } from "./missed-time.ts"

/** A stream whose readings begin under these numbers, at these times. */
function streamed() {
  let nowMs = 0
  const gaps: SourceGap[] = []
  const missed = new MissedTime({ nowMs: () => nowMs })
  const gap = async (found: SourceGap): Promise<void> => void gaps.push(found)
  const connect = async (driver: number, atMs: number, isReplayed = false): Promise<void> => {
    nowMs = atMs
    missed.reading({ driver })
    await missed.connected({ gap }, isReplayed)
  }
  return { missed, connect, spans: () => gaps.map(({ fromMs, toMs }) => [fromMs, toMs]) }
}

test("the time between two connections is a gap, however often a connection failed between them", async () => {
  const { missed, connect, spans } = streamed()
  await connect(1, 10)
  missed.lost(20)
  for (const driver of [2, 3, 4]) missed.reading({ driver })
  await connect(5, 90)
  expect(spans()).toEqual([[20, 90]])
})

test("time in which another process read the source, or in which it was paused, is none", async () => {
  const { missed, connect, spans } = streamed()
  await connect(1, 10)
  missed.lost(20)
  await connect(3, 90)
  missed.lost(95)
  await connect(4, 99)
  expect(spans()).toEqual([[95, 99]])
})

test("time that the server replays is none, and so is that after a response that was none of a stream", async () => {
  const { missed, connect, spans } = streamed()
  await connect(1, 10)
  missed.lost(20)
  await connect(2, 30, true)
  missed.lost(undefined)
  await connect(3, 40)
  expect(spans()).toEqual([])
})
