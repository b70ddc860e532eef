/**
 * All replays at work: starts a job for each one that the store has as running, tells it of changes of its link, and
 * stops it when the link is gone. What was running when the process ended is running in the store, so it goes on.
 *
 *     store.replays(running) ──► new? start · link changed? update · link gone? stop
 *            ▲                      └──────────┐
 *            └── when something has changed or a job has ended: on a hint, and by a look every 10 s
 */
import { setImmediate as nextTurn } from "node:timers/promises"
import type { LinkId, ReplayId, WebhookId } from "../model/ids.ts"
import type { LinkToDeliver } from "../model/link.ts"
import type { Replay } from "../model/replay.ts"
import type { Clock } from "../runtime/clock.ts"
import type { Events } from "../runtime/events.ts"
import type { Outbound } from "../runtime/outbound.ts"
import type { Random } from "../runtime/random.ts"
import type { SecretBox } from "../runtime/secret-box.ts"
import type { Store } from "../store/store.ts"
import { AttemptHistory } from "./attempt-history.ts"
import { ControlLooks } from "./control-looks.ts"
import { LinkSender } from "./link-sender.ts"
import { tellCompletion } from "./replay-completion.ts"
import { ReplayJob } from "./replay-job.ts"

/** The replays of all apps. */
export interface Replays {
  /**
   * Sends until aborted. Resolves when what is under way has ended, or has been given up at `drainMsMax`, to be
   * repeated later.
   */
  run(signal: AbortSignal): Promise<void>
}

/** Links that are read in one turn of the event loop, since reads do not leave it. */
const readsPerTurn = 50

/** Wait before a replay that failed is tried again. */
const restartMs = 1_000

/** A replay that is being sent, over all its runs. */
interface FollowedReplay {
  link: LinkToDeliver
  job: ReplayJob | undefined
  /** Its run has ended. What the store was asked before may still have it as running, so it is kept for one more look. */
  isOver: boolean
  readonly stop: AbortController
}

/** Replays over a store. */
export function createReplays(deps: {
  store: Store
  outbound: Outbound
  secretBox: SecretBox
  clock: Clock
  random: Random
  events: Events
  attemptMsMax: number
  attemptsKeptPerLink: number
  /** 0 is without a bound. A replay has as many beside its link's. */
  deliveriesPerLinkPerSecondMax: number
  /** Longest that a stop waits for attempts. */
  drainMsMax: number
}): Replays {
  const { store, clock, events } = deps
  const history = new AttemptHistory(deps)
  const followed = new Map<ReplayId, FollowedReplay>()
  const following = new Set<Promise<void>>()
  const looks = new ControlLooks("replays", reconcile, deps)

  /** One run: to the end of the replay, or until it is stopped. */
  async function runJob(replay: Replay, entry: FollowedReplay): Promise<void> {
    const { signal } = entry.stop
    const sender = new LinkSender(entry.link, { ...deps, history })
    entry.job = new ReplayJob(replay, entry.link, { ...deps, sender })
    const { id: replayId, webhookId, endSeq, position } = replay
    events.replayStarted({ replayId, webhookId, matches: endSeq - position })
    if ((await entry.job.run(signal)) === "stopped") return
    const { delivered, failed } = entry.job.progress
    const state = failed === 0 ? "complete" : "incomplete"
    await store.endReplay(replayId, state, clock.nowMs())
    events.replayEnded({ replayId, webhookId, state, delivered, failed })
    await tellCompletion(deps, replay, state, () => entry.link, signal)
  }

  async function followReplay(replay: Replay, entry: FollowedReplay): Promise<void> {
    try {
      await runJob(replay, entry)
    } catch (error) {
      events.failed({ where: "replay", error })
      await clock.sleep(restartMs, entry.stop.signal)
    }
    // One that failed is still running in the store, with how far it came, and is found there.
    entry.isOver = true
    looks.again()
  }

  function start(replay: Replay, link: LinkToDeliver, signal: AbortSignal): void {
    const entry: FollowedReplay = { link, job: undefined, isOver: false, stop: new AbortController() }
    followed.set(replay.id, entry)
    const stop = (): void => entry.stop.abort()
    signal.addEventListener("abort", stop)
    const end = followReplay(replay, entry).finally(() => {
      signal.removeEventListener("abort", stop)
      following.delete(end)
    })
    following.add(end)
  }

  function update(entry: FollowedReplay, link: LinkToDeliver): void {
    try {
      entry.job?.update(link)
      entry.link = link
    } catch (error) {
      events.failed({ where: "replay", error })
    }
  }

  /** A webhook may have been unlinked, and linked again: that is another link. */
  async function linkNow(webhookId: WebhookId, linkId: LinkId): Promise<LinkToDeliver | undefined> {
    const link = await store.linkToDeliver(webhookId)
    return link?.id === linkId ? link : undefined
  }

  async function reconcile(signal: AbortSignal): Promise<void> {
    const over = [...followed].filter(([, { isOver }]) => isOver)
    const running = await store.replays({ state: "running" })
    for (const [id] of over) followed.delete(id)
    let reads = 0
    for (const entry of followed.values()) {
      const link = await linkNow(entry.link.webhookId, entry.link.id)
      if (link === undefined) entry.stop.abort()
      else update(entry, link)
      if (++reads % readsPerTurn === 0) await nextTurn()
    }
    for (const replay of running) {
      if (signal.aborted) return
      if (followed.has(replay.id)) continue
      const link = await linkNow(replay.webhookId, replay.linkId)
      if (link !== undefined && !signal.aborted) start(replay, link, signal)
      if (++reads % readsPerTurn === 0) await nextTurn()
    }
  }

  return {
    async run(signal) {
      await looks.run(signal)
      const drained = new AbortController()
      const ended = Promise.all(following).then(() => history.close())
      await Promise.race([ended, clock.sleep(deps.drainMsMax, drained.signal)])
      drained.abort()
    },
  }
}
