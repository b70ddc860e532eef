/**
 * Rules that are tried on posts, in a thread of their own that starts with the first call and ends when none has come for a
 * while.
 *
 *     test of app A ────────────────────┐
 *     test of app B ────────────────────┼─► in turn ─► the thread, one call at a time
 *     backfills of app B, part by part ─┘
 *
 * The test of an app has a turn, and all of its backfills have one together: between two calls of either, each other app has at
 * most two. An app has one test running or waiting, and another is refused.
 */
import type { TestRuleBody } from "@sluice/api"
import { parseRule, type RuleOptions } from "@sluice/rules"
import type { AppId } from "../../model/ids.ts"
import { invalidRule, ruleNotServed, ruleNotTried } from "../../model/problem.ts"
import type { BackfillPart, FoundInPast } from "../../model/replay.ts"
import type { Clock } from "../../runtime/clock.ts"
import { EmbeddingsUnavailable, type EmbeddingsEndpoint } from "../../runtime/embeddings.ts"
import type { Events } from "../../runtime/events/events.ts"
import { FairQueue } from "../../runtime/fair-queue.ts"
import type { StoreAccess } from "../../store/engine.ts"
import { PerAppQueues } from "../per-app-queues.ts"
import { ruleTestRequest } from "./rule-test-request.ts"
import { startRuleTestThread, type RuleTestSettings, type RuleTestThread } from "./rule-test-thread.ts"
import type { RuleTest, RuleTestRequest } from "./test-rule.ts"

/** A test as an app asks for it. */
interface RequestedTest {
  readonly body: TestRuleBody
  /** Most characters of the rule: what the app may add to its stream, or send to a search. */
  readonly lengthMax: number
}

/** Tests of the rules of all apps. */
export interface RuleTestQueue extends AsyncDisposable {
  /**
   * Tests a rule for an app. Throws 400 with what is wrong with the rule or its posts, 429 while another test of the app is in
   * progress, and 503 when similarities are not available or the test took too much memory.
   */
  run(appId: AppId, test: RequestedTest, signal: AbortSignal): Promise<RuleTest>
  /** Looks at a part of the stored posts for a backfill. Throws `EmbeddingsUnavailable`, or the error of the thread. */
  findInPast(part: BackfillPart, signal: AbortSignal): Promise<FoundInPast>
}

/** The thread ends when no test has come for so long. Ours. */
const idleMsMax = 60_000

/** The queue in front of a rule test thread. */
export function createRuleTestQueue({
  clock,
  events,
  ruleOptions,
  start = startRuleTestThread,
  storeAccess,
  embeddings,
}: {
  /** Grants each thread that begins its access to the store. */
  readonly storeAccess: () => StoreAccess
  readonly embeddings?: EmbeddingsEndpoint | undefined
  readonly clock: Clock
  readonly events: Pick<Events, "failed">
  readonly ruleOptions: RuleOptions
  /** Stands in for the thread, in tests. */
  readonly start?: (settings: RuleTestSettings) => Promise<RuleTestThread>
}): RuleTestQueue {
  const queues = new PerAppQueues({ unfinishedMax: 1, what: "test of a rule" })
  const waiting = new FairQueue<() => Promise<void>>()
  let isRunning = false
  let thread: RuleTestThread | undefined
  let idle = new AbortController()

  const endThread = async (): Promise<void> => {
    const ending = thread
    thread = undefined
    await ending?.close()
  }

  const endWhenIdle = async (): Promise<void> => {
    idle = new AbortController()
    const { signal } = idle
    await clock.sleep(idleMsMax, signal)
    if (!signal.aborted) await endThread()
  }

  const isGivenUp = (error: unknown, signal: AbortSignal): boolean => signal.aborted && error === signal.reason

  const runCall = async <Result>(
    call: (running: RuleTestThread) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> => {
    // The client has left.
    signal.throwIfAborted()
    idle.abort()
    try {
      thread ??= await start({ storeAccess: storeAccess(), embeddings })
      return await call(thread)
    } catch (error) {
      // Another call gets another thread.
      if (!isGivenUp(error, signal) && !(error instanceof EmbeddingsUnavailable))
        await endThread().catch(() => undefined)
      throw error
    } finally {
      void endWhenIdle()
    }
  }

  const runWaiting = async (): Promise<void> => {
    if (isRunning) return
    isRunning = true
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next()
    isRunning = false
  }

  /** Runs a call when it is the turn of its owner. */
  const inThread = <Result>(
    owner: string,
    call: (running: RuleTestThread) => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result> => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    waiting.push(owner, () => runCall(call, signal).then(resolve, reject))
    void runWaiting()
    return promise
  }

  const runTest = async (appId: AppId, request: RuleTestRequest, signal: AbortSignal): Promise<RuleTest> => {
    try {
      return await inThread(`test ${appId}`, (running) => running.testRule(request, signal), signal)
    } catch (error) {
      if (isGivenUp(error, signal)) throw error
      if (error instanceof EmbeddingsUnavailable) throw ruleNotServed(request.value, error)
      events.failed({ where: "rule test", error })
      throw ruleNotTried(request.value, error)
    }
  }

  return {
    async run(appId, { body, lengthMax }, signal) {
      const request = ruleTestRequest(body)
      const parsed = parseRule(request.value, { ...ruleOptions, mode: request.mode, lengthMax })
      if (!parsed.ok) {
        throw invalidRule(
          request.value,
          parsed.problems.map(({ message }) => message),
        )
      }
      return queues.run(appId, () => runTest(appId, request, signal))
    },
    findInPast: (part, signal) => inThread(`past ${part.appId}`, (running) => running.findInPast(part, signal), signal),
    async [Symbol.asyncDispose]() {
      idle.abort()
      await endThread()
    },
  }
}
