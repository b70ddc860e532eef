import { pino } from "pino"
import { Registry } from "prom-client"
import { expect } from "vitest"
import { systemClock, type Clock } from "../runtime/clock.ts"
import { createEvents } from "../runtime/events/recorded-events.ts"
import { backoffMs } from "./backoff.ts"
import { SourceStates, type SourceState } from "./source-states.ts"
import type { AcknowledgedSourceDeps, Source } from "./source.ts"

/** The first failure of a source that takes no post, and the advice that it gives. */
export async function failureOf(
  create: (deps: AcknowledgedSourceDeps) => Source,
): Promise<Pick<NonNullable<SourceState["lastFailure"]>, "message" | "advice">> {
  let failure: SourceState["lastFailure"]
  await whileRunning(create, {}, async (states) => {
    await expect.poll(() => (failure = states.list()[0]?.lastFailure)).toBeDefined()
  })
  return failure ?? { message: "" }
}

/** Chance that tells the waits after failures from all other waits of a source. */
const fraction = 0.618

/**
 * The first waits of a source that takes no post and fails each time, in ms, and those that are expected after so many
 * failures. They pass at once here.
 */
export async function waitsOf(
  create: (deps: AcknowledgedSourceDeps) => Source,
  failures: readonly number[],
): Promise<{ readonly waits: readonly number[]; readonly expected: readonly number[] }> {
  const expected = failures.map((failure) => backoffMs(failure, fraction))
  const known = new Set(Array.from({ length: 10 }, (_, at) => backoffMs(at + 1, fraction)))
  const waits: number[] = []
  const clock: Clock = {
    ...systemClock,
    sleep(ms, signal) {
      if (!known.has(ms)) return systemClock.sleep(ms, signal)
      waits.push(ms)
      return systemClock.sleep(1, signal)
    },
  }
  await whileRunning(create, { clock, random: { fraction: () => fraction } }, async () => {
    await expect.poll(() => waits.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(expected.length)
  })
  return { waits: waits.slice(0, expected.length), expected }
}

async function whileRunning(
  create: (deps: AcknowledgedSourceDeps) => Source,
  { clock = systemClock, random }: Partial<Pick<AcknowledgedSourceDeps, "clock" | "random">>,
  meanwhile: (states: SourceStates) => Promise<void>,
): Promise<void> {
  const events = createEvents(pino({ enabled: false }), new Registry())
  const states = new SourceStates({ clock: systemClock, events })
  const intake = {
    open: () => {
      throw new Error("A post was taken.")
    },
  }
  const source = create({ intake, clock, random, monitor: states.monitorOf("posts"), drainMsMax: 1_000 })
  const ending = new AbortController()
  const running = source.run(ending.signal)
  try {
    await meanwhile(states)
  } finally {
    ending.abort()
    await running
  }
}
