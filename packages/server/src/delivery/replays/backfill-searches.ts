/**
 * The searches of backfills: finds the matches of each backfill that this process drives, some posts at a time, and saves them
 * with the position in one transaction. So a search that a crash ends goes on exactly where it was.
 *
 *     store.replays(running, not searched) ──► posts after the position ──► matches, position ──► … ──► searched
 *                    ▲                                                                                   │
 *                    └──────────────────── then `replays.ts` sends it ◄──────────────────────────────────┘
 */
import type { ReplayId } from "../../model/ids.ts"
import {
  backfillGraceMs,
  isSearched,
  isSearchOver,
  type Backfill,
  type BackfillPart,
  type FoundInPast,
} from "../../model/replay.ts"
import type { Store } from "../../store/store.ts"
import { ControlWatch } from "../control-watch.ts"
import type { SendingDeps } from "../sending/sending-deps.ts"
import { Supervisor } from "../supervisor.ts"

/** Most matches of a backfill. Ours: some megabytes of rows, and an hour of deliveries at 14 a second. */
export const backfillMatchesMax = 50_000

/** Most matches that are found at a time. Ours. */
const foundMax = 500

/** Dependencies of the searches. */
export interface BackfillSearchDeps extends Pick<SendingDeps, "clock"> {
  readonly store: Pick<Store, "replays" | "addBackfillMatches" | "controlVersion" | "onChange">
  readonly leases: Pick<SendingDeps["leases"], "ofLink" | "onChange">
  readonly events: Pick<SendingDeps["events"], "failed">
  readonly pastPosts: {
    /** Looks at the next posts, as many as take some tens of milliseconds. */
    findInPast(part: BackfillPart, signal: AbortSignal): Promise<FoundInPast>
  }
}

/** The searches of all apps' backfills. `run` searches until aborted. */
export function createBackfillSearches(deps: BackfillSearchDeps): { run(signal: AbortSignal): Promise<void> } {
  const { store, leases } = deps
  const supervisor = new Supervisor<ReplayId, { readonly lease: number }>("backfill", deps)

  async function reconcile(): Promise<void> {
    const replays = (await store.replays({ state: "running" })).filter((replay) => !isSearched(replay))
    const leaseOf = new Map(replays.map(({ id, linkId }) => [id, leases.ofLink(linkId)]))
    for (const [id, { lease }] of supervisor.loops) {
      if (leaseOf.get(id) !== lease) void supervisor.stop(id).then(() => watch.requestReconcile())
    }
    for (const { id } of replays) {
      const lease = leaseOf.get(id)
      if (lease === undefined || supervisor.busy.has(id)) continue
      supervisor.start(id, { lease }, (signal) => search(id, lease, deps, signal))
    }
  }

  const watch = new ControlWatch("backfills", reconcile, deps)

  return {
    async run(signal) {
      const stopListening = leases.onChange(() => watch.requestReconcile())
      await watch.run(signal)
      stopListening()
      await supervisor.stopAll()
    },
  }
}

/** Searches from the position that is saved, until all is found, the replay has ended, or `signal`. */
async function search(
  id: ReplayId,
  lease: number,
  { store, clock, pastPosts }: BackfillSearchDeps,
  signal: AbortSignal,
): Promise<void> {
  const replay = (await store.replays({ state: "running" })).find((one) => one.id === id)
  let backfill = replay?.backfill
  if (replay === undefined || backfill === undefined) return
  const { appId } = replay
  let found: number = replay.endSeq
  // Until then every post is stored that came before the rules and was not matched by them.
  // The clock may have gone back since the request.
  const waitMs = Math.min(replay.toMs - clock.nowMs(), backfillGraceMs)
  if (waitMs > 0) await clock.sleep(waitMs, signal)
  while (!isSearchOver(backfill) && !signal.aborted) {
    const { rules, searchedId: after, lastId }: Backfill = backfill
    const limit = Math.min(foundMax, backfillMatchesMax - found)
    const part: BackfillPart = { appId, rules, after, lastId, limit }
    const result: FoundInPast | void = await pastPosts.findInPast(part, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    if (result === undefined) return
    found += result.matches.length
    const { searchedId } = result
    backfill = { rules, searchedId, lastId: found < backfillMatchesMax ? lastId : searchedId }
    if (!(await store.addBackfillMatches({ ...result, id, lastId: backfill.lastId, lease }))) return
  }
}
