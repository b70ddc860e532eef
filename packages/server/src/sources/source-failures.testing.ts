import { pino } from "pino"
import { Registry } from "prom-client"
import { expect } from "vitest"
import { systemClock } from "../runtime/clock.ts"
import { createEvents } from "../runtime/events/recorded-events.ts"
import { SourceStates, type SourceState } from "./source-states.ts"
import type { AcknowledgedSourceDeps, Source } from "./source.ts"

/** The first failure of a source that takes no post, and the advice that it gives. */
export async function failureOf(
  create: (deps: AcknowledgedSourceDeps) => Source,
): Promise<Pick<NonNullable<SourceState["lastFailure"]>, "message" | "advice">> {
  const events = createEvents(pino({ enabled: false }), new Registry())
  const states = new SourceStates({ clock: systemClock, events })
  const intake = {
    open: () => {
      throw new Error("A post was taken.")
    },
  }
  const source = create({ intake, clock: systemClock, monitor: states.monitorOf("posts"), drainMsMax: 1_000 })
  const ending = new AbortController()
  const running = source.run(ending.signal)
  const failure = () => states.list()[0]?.lastFailure
  try {
    await expect.poll(failure).toBeDefined()
  } finally {
    ending.abort()
    await running
  }
  return failure() ?? { message: "" }
}
