/** Notices that a source was paused, resumed or rewound, or that another process is to drive it. */
import type { Clock } from "../runtime/clock.ts"
import type { Leases } from "../store/leases.ts"
import type { ChangeSource } from "../store/store.ts"

/** Dependencies of the watch. */
export interface SteeringDeps {
  readonly store: ChangeSource
  readonly clock: Clock
  /** Absent for a source that all processes drive at once. */
  readonly leases?: Pick<Leases, "onChange">
}

/** Time between two checks, if no hint comes. Ours. */
const checkMs = 2_000

/** Calls `check` after each change of control data and of leases, and now and then, until aborted. It must not reject. */
export async function watchSteering(
  { store, clock, leases }: SteeringDeps,
  signal: AbortSignal,
  check: () => Promise<void>,
): Promise<void> {
  const heard = (): void => void check()
  const stopListening = [
    leases?.onChange(heard),
    store.onChange(({ kind }) => {
      if (kind === "control") heard()
    }),
  ]
  while (!signal.aborted) {
    await clock.sleep(checkMs, signal)
    if (!signal.aborted) await check()
  }
  for (const stop of stopListening) stop?.()
}
