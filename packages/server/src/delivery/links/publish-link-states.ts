/** Shares with other processes what this one knows of the links that it drives. */
import type { LinkId } from "../../model/ids.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { Events } from "../../runtime/events/events.ts"
import { undrivenState, type DrivenState, type SharedLinkStates } from "../../store/shared-link-states.ts"
import { drivenStateOf, type RunningLink } from "./link-states.ts"

/** Time between two saves of what has changed. Ours: states are for people and alerts. */
const saveMs = 1_000

/** The next attempt of a link that waits comes out a little different each time. Ours. */
const sameAttemptMs = 500

/** Saves the states of the links that run here whenever they have changed, until aborted. */
export async function publishLinkStates(
  shared: SharedLinkStates,
  running: ReadonlyMap<LinkId, RunningLink>,
  { clock, events }: { readonly clock: Clock; readonly events: Pick<Events, "failed"> },
  signal: AbortSignal,
): Promise<void> {
  const saved = new WeakMap<RunningLink, DrivenState>()
  while (!signal.aborted) {
    await clock.sleep(saveMs, signal)
    if (signal.aborted) return
    const changed = [...running]
      .map(([linkId, entry]) => ({ linkId, entry, state: drivenStateOf(entry) }))
      .filter(({ entry, state }) => !isSame(state, saved.get(entry) ?? undrivenState))
    if (changed.length === 0) continue
    try {
      await shared.save(changed.map(({ linkId, entry: { lease }, state }) => ({ linkId, lease, ...state })))
      for (const { entry, state } of changed) saved.set(entry, state)
    } catch (error) {
      events.failed({ where: "shared link states", error })
    }
  }
}

function isSame(a: DrivenState, b: DrivenState): boolean {
  return (
    a.isDown === b.isDown &&
    a.inFlight === b.inFlight &&
    a.failingSinceMs === b.failingSinceMs &&
    a.delivered === b.delivered &&
    a.failed === b.failed &&
    (a.nextAttemptAtMs === b.nextAttemptAtMs ||
      Math.abs((a.nextAttemptAtMs ?? 0) - (b.nextAttemptAtMs ?? 0)) < sameAttemptMs)
  )
}
