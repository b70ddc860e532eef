/**
 * All replays: runs a job for each one that is running in the store, updates it when its link changes, and stops it when
 * it is cancelled or the link is gone. A replay that was running when the process ended is still running in the store, so
 * it continues. A backfill begins when all of its matches are found (`backfill-searches.ts`).
 *
 *     store.replays(running) ──► new? start · link changed? update · cancelled, link gone? stop
 *            ▲                      └──────────┐
 *            └──── whenever control data has changed (`control-watch.ts`)
 */
import type { LinkId, ReplayId, WebhookId } from "../../model/ids.ts"
import type { LinkToDeliver } from "../../model/link.ts"
import { isCut, isSearched, type Replay } from "../../model/replay.ts"
import { ControlWatch } from "../control-watch.ts"
import { AttemptHistory } from "../sending/attempt-history.ts"
import { LinkSender } from "../sending/sender.ts"
import type { SendingDeps } from "../sending/sending-deps.ts"
import { Supervisor } from "../supervisor.ts"
import { sendCompletion } from "./replay-completion.ts"
import { ReplayJob } from "./replay-job.ts"

/** A replay that is being sent, over all its runs. */
interface RunningReplay {
  link: LinkToDeliver
  /** The link's lease: the process that drives a link drives its replays. */
  readonly lease: number
  job: ReplayJob | undefined
  /** All is sent, and its completion is on its way: the replay does not run any more in the store, or will not in a moment. */
  isEnding: boolean
}

/**
 * The replays of all apps. `run` sends until aborted, and resolves when what is in flight has finished, or has been given
 * up at `drainMsMax`, to be repeated later.
 */
export function createReplays(deps: SendingDeps): { run(signal: AbortSignal): Promise<void> } {
  const { store, clock, events, leases } = deps
  const history = new AttemptHistory(deps)
  const supervisor = new Supervisor<ReplayId, RunningReplay>("replay", deps)

  /** One run: to the end of the replay, or until it is stopped. Does nothing when it has ended in the store. */
  async function runReplay(
    { id: replayId, appId }: Replay,
    running: RunningReplay,
    signal: AbortSignal,
  ): Promise<void> {
    running.isEnding = false
    const replay = (await store.replays({ appId, state: "running" })).find(({ id }) => id === replayId)
    if (replay === undefined) return
    const { lease } = running
    const sender = new LinkSender(running.link, { ...deps, history })
    const jobDeps = { ...deps, sender, lease }
    const job = new ReplayJob(replay, running.link, jobDeps)
    running.job = job
    const { webhookId, endSeq, position } = replay
    events.replayStarted({ replayId, webhookId, matches: endSeq - position })
    if ((await job.run(signal)) === "stopped") return
    const { delivered, failed } = job.progress
    const state = failed === 0 && !isCut(replay) ? "complete" : "incomplete"
    running.isEnding = true
    // It may have been cancelled meanwhile.
    if (!(await store.endReplay(replayId, state, clock.nowMs(), lease))) return
    events.replayEnded({ replayId, webhookId, state, delivered, failed })
    await sendCompletion(jobDeps, replay, state, () => running.link.valid, signal)
  }

  function update(running: RunningReplay, link: LinkToDeliver): void {
    try {
      running.job?.update(link)
      running.link = link
    } catch (error) {
      events.failed({ where: "replay", error })
    }
  }

  /** A webhook may have been unlinked, and linked again: that is another link. */
  async function linkOf(webhookId: WebhookId, linkId: LinkId): Promise<LinkToDeliver | undefined> {
    const link = await store.linkToDeliver(webhookId)
    return link?.id === linkId ? link : undefined
  }

  async function stop(id: ReplayId): Promise<void> {
    await supervisor.stop(id)
    // The lease may have come back meanwhile.
    watch.requestReconcile()
  }

  async function reconcile(signal: AbortSignal): Promise<void> {
    const replays = (await store.replays({ state: "running" })).filter(isSearched)
    const runs = new Set(replays.map(({ id }) => id))
    for (const [id, running] of supervisor.loops) {
      const isWanted = running.isEnding || runs.has(id)
      const link = isWanted ? await linkOf(running.link.webhookId, running.link.id) : undefined
      if (link === undefined || leases.ofLink(link.id) !== running.lease) void stop(id)
      else update(running, link)
    }
    for (const replay of replays) {
      if (signal.aborted) return
      // Not before the results of an earlier loop are saved: else they would be repeated.
      if (supervisor.busy.has(replay.id)) continue
      const lease = leases.ofLink(replay.linkId)
      if (lease === undefined) continue
      const link = await linkOf(replay.webhookId, replay.linkId)
      if (link !== undefined && !signal.aborted) {
        const running: RunningReplay = { link, lease, job: undefined, isEnding: false }
        supervisor.start(replay.id, running, (stopped) => runReplay(replay, running, stopped))
      }
    }
  }

  const watch = new ControlWatch("replays", reconcile, deps)

  return {
    async run(signal) {
      const stopListening = leases.onChange(() => watch.requestReconcile())
      await watch.run(signal)
      stopListening()
      const drained = new AbortController()
      const ended = supervisor.stopAll().then(() => history.close())
      await Promise.race([ended, clock.sleep(deps.drainMsMax, drained.signal)])
      drained.abort()
    },
  }
}
