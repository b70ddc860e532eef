import { beforeEach, expect, test } from "vitest"
import type { AppId } from "../../model/ids.ts"
import { RateLimited } from "../../model/problem.ts"
import { createManualClock, type ManualClock } from "../../runtime/manual-clock.testing.ts"
import { ChallengeLimits } from "./challenge-limits.ts"

const minuteMs = 60_000
const app = (id: number): AppId => String(id) as AppId
const at = (host: number): string => `https://${host}.example.com/hook`

let clock: ManualClock
let limits: ChallengeLimits

beforeEach(() => {
  clock = createManualClock()
  limits = new ChallengeLimits(clock, 450)
})

/** Asks so often, each time as the function says. The number let in, and what the last refusal said. */
function asking(count: number, ask: (index: number) => () => void): { leave: (() => void)[]; refusal: unknown } {
  const leave: (() => void)[] = []
  let refusal: unknown
  for (let index = 0; index < count; index += 1) {
    try {
      leave.push(ask(index))
    } catch (error) {
      refusal = error
    }
  }
  return { leave, refusal }
}

test("an app may have five challenges in progress, and another when one of them has ended", () => {
  const { leave, refusal } = asking(3_000, (index) => limits.enter(app(1), at(index)))
  expect(leave).toHaveLength(5)
  expect(refusal).toBeInstanceOf(RateLimited)
  expect(refusal).toMatchObject({ status: 429, retryAfterMs: 1_000 })
  limits.enter(app(2), at(1))
  leave[0]?.()
  expect(asking(3, (index) => limits.enter(app(1), at(index))).leave).toHaveLength(1)
})

test("a host may have ten challenges in progress for all apps, whatever the port, and scheduled ones count", () => {
  const ports = (index: number): string => `https://one.example.com:${1 + index}/hook`
  const ended = limits.enterScheduled("https://one.example.com/")
  const { leave } = asking(3_000, (index) => limits.enter(app(index), ports(index)))
  expect(leave).toHaveLength(9)
  ended()
  expect(asking(3, (index) => limits.enter(app(index), ports(index))).leave).toHaveLength(1)
})

test("a hundred challenges may be in progress over all, and the schedule is never refused", () => {
  expect(asking(3_000, (index) => limits.enter(app(index), at(index))).leave).toHaveLength(100)
  expect(asking(50, () => limits.enterScheduled(at(1))).leave).toHaveLength(50)
})

test.each([
  ["an app", 450, (index: number) => limits.enter(app(1), at(index))],
  ["a host", 900, (index: number) => limits.enter(app(index), at(1))],
] as const)("%s has so many challenges in 15 minutes: %i", async (_name, most, enter) => {
  await clock.advance(minuteMs)
  const ask = (index: number): (() => void) => {
    const leave = enter(index)
    leave()
    return leave
  }
  const first = asking(2_000, ask)
  expect(first.leave).toHaveLength(most)
  expect(first.refusal).toMatchObject({ limit: most, retryAfterMs: 15 * minuteMs })
  await clock.advance(15 * minuteMs - 1)
  expect(asking(1, ask)).toMatchObject({ leave: [], refusal: { retryAfterMs: 1 } })
  await clock.advance(1)
  expect(asking(2_000, ask).leave).toHaveLength(most)
})

test("no more than 20,000 apps and hosts are remembered, and those with challenges in progress stay", async () => {
  const { leave } = asking(5, () => limits.enter(app(0), at(0)))
  for (let index = 1; index <= 30_000; index += 1) limits.enter(app(index), at(index))()
  expect(limits.size).toBeLessThanOrEqual(20_002)
  expect(asking(1, () => limits.enter(app(0), at(1))).leave).toEqual([])
  for (const end of leave) end()
  await clock.advance(15 * minuteMs)
  limits.enter(app(1), at(1))()
  expect(limits.size).toBeLessThan(5)
})
