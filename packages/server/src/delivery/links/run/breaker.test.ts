import { expect, test } from "vitest"
import { Breaker } from "./breaker.ts"

const first = { hasFailedBefore: false }
const again = { hasFailedBefore: true }

function breaker(slotsMax: number): Breaker {
  return new Breaker(slotsMax)
}

/** A breaker of an endpoint that is down. */
function breakerDown(slotsMax: number): Breaker {
  const endpoint = breaker(slotsMax)
  for (let match = 0; match < slotsMax; match++) endpoint.noteFailed(first)
  return endpoint
}

test("an endpoint is down when as many different matches as there are slots fail in a row", () => {
  const endpoint = breaker(3)
  endpoint.noteFailed(first)
  endpoint.noteFailed(first)
  endpoint.noteDelivered(first)
  endpoint.noteFailed(first)
  endpoint.noteFailed(again)
  expect([endpoint.isDown, endpoint.slots]).toEqual([false, 3])
  endpoint.noteFailed(again)
  expect([endpoint.isDown, endpoint.slots]).toEqual([true, 1])
})

test("one match that always fails does not mark the endpoint as down, and only shows that nothing is delivered", () => {
  const endpoint = breaker(3)
  endpoint.noteFailed(first)
  endpoint.noteFailed(again)
  expect([endpoint.isDown, endpoint.isSilent]).toEqual([false, false])
  for (let attempt = 0; attempt < 100; attempt++) endpoint.noteFailed(again)
  expect([endpoint.isDown, endpoint.isSilent]).toEqual([false, true])
  endpoint.noteDelivered(first)
  expect(endpoint.isSilent).toBe(false)
})

test("in strict order one failing match marks the endpoint as down", () => {
  const endpoint = breaker(3)
  endpoint.isOrdered = true
  endpoint.noteFailed(first)
  endpoint.noteFailed(again)
  expect(endpoint.isDown).toBe(false)
  endpoint.noteFailed(again)
  expect(endpoint.isDown).toBe(true)
})

test("an endpoint that is up again gets 1, 2, 4 … slots, and half of them after a failure", () => {
  const endpoint = breaker(8)
  for (let match = 0; match < 8; match++) endpoint.noteFailed(first)
  endpoint.noteDelivered(again)
  const slots: number[] = []
  for (let success = 0; success < 7; success++) {
    slots.push(endpoint.slots)
    endpoint.noteDelivered(again)
  }
  expect([...slots, endpoint.slots]).toEqual([1, 2, 2, 4, 4, 4, 4, 8])

  for (let match = 0; match < 8; match++) endpoint.noteFailed(first)
  endpoint.noteDelivered(again)
  for (let success = 0; success < 3; success++) endpoint.noteDelivered(first)
  expect(endpoint.slots).toBe(4)
  endpoint.noteFailed(first)
  expect(endpoint.slots).toBe(2)
  endpoint.noteFailed(first)
  endpoint.noteFailed(first)
  expect(endpoint.slots).toBe(1)
})

test("failures take no slots from an endpoint that is not recovering", () => {
  const endpoint = breaker(8)
  for (let match = 0; match < 7; match++) endpoint.noteFailed(first)
  expect(endpoint.slots).toBe(8)
})

test("an endpoint is down until something is delivered, whatever else changes", () => {
  const endpoint = breakerDown(2)
  endpoint.noteDropped()
  endpoint.noteDropped()
  expect(endpoint.isDown).toBe(true)
  endpoint.noteDelivered(first)
  expect([endpoint.isDown, endpoint.slots]).toEqual([false, 1])

  const other = breaker(2)
  other.noteFailed(first)
  other.noteFailed(again)
  other.isOrdered = true
  expect(other.isDown).toBe(false)
})

test("an endpoint that is down is probed with matches that were not tried before, less and less often", () => {
  const endpoint = breakerDown(3)
  const tried: string[] = []
  for (let attempt = 0; attempt < 40; attempt++) {
    const isFirst = endpoint.isFirstDue
    tried.push(isFirst ? "F" : "-")
    endpoint.noteFailed(isFirst ? first : again)
  }
  expect(tried.join("")).toMatch(/^-F-F-F--F--F--F----F----F----F-{8}F/)

  endpoint.noteDelivered(again)
  expect(endpoint.isFirstDue).toBe(false)
})

test("enough failures from before a run keep the endpoint silent, with one slot", () => {
  const few = breaker(3)
  few.resume({ failing: 2, failures: 2 })
  expect([few.isSilent, few.isDown, few.slots]).toEqual([false, false, 3])

  const many = breaker(3)
  many.resume({ failing: 3, failures: 3 })
  expect([many.isSilent, many.isDown, many.slots]).toEqual([true, false, 1])
  many.noteFailed(again)
  expect(many.isDown).toBe(true)
})

test("a single match that has failed often enough before a run is not blamed for what fails next", () => {
  const quiet = breaker(3)
  quiet.resume({ failing: 1, failures: 2 })
  expect(quiet.isSilent).toBe(false)
  quiet.noteFailed(again)
  expect([quiet.isSilent, quiet.isDown]).toEqual([true, false])
  quiet.noteDelivered(first)
  expect(quiet.isSilent).toBe(false)
})

test("as many local failures in a row as slots leave one slot until an attempt reaches the endpoint", () => {
  for (const getsOut of ["noteDelivered", "noteFailed"] as const) {
    const endpoint = breaker(3)
    endpoint.noteOwnFailure()
    endpoint.noteOwnFailure()
    endpoint[getsOut](first)
    endpoint.noteOwnFailure()
    endpoint.noteOwnFailure()
    expect([endpoint.isStuck, endpoint.slots]).toEqual([false, 3])
    endpoint.noteOwnFailure()
    expect([endpoint.isStuck, endpoint.slots]).toEqual([true, 1])
    expect([endpoint.isDown, endpoint.isSilent]).toEqual([false, false])
    endpoint[getsOut](first)
    expect([endpoint.isStuck, endpoint.slots]).toEqual([false, 3])
  }
})
