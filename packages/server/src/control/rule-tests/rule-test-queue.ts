/**
 * Tests of rules, in a thread of their own that starts with the first test and ends when none has come for a while.
 *
 *     app A ── one test at a time ──┐
 *     app B ── one test at a time ──┼─► first come, first served ─► the thread, one test at a time
 *     app C ── one test at a time ──┘
 *
 * An app has one test running or waiting, and another is refused, so the apps take turns and the queue is no longer than
 * the number of apps.
 */
import { parseRule, type RuleOptions } from "@sluice/rules"
import type { AppId } from "../../model/ids.ts"
import { invalidRule, ruleNotServed, ruleNotTried } from "../../model/problem.ts"
import type { Clock } from "../../runtime/clock.ts"
import { EmbeddingsUnavailable, type EmbeddingsEndpoint } from "../../runtime/embeddings.ts"
import type { Events } from "../../runtime/events/events.ts"
import type { StoreAccess } from "../../store/engine.ts"
import { PerAppQueues } from "../per-app-queues.ts"
import { startRuleTestThread, type RuleTestSettings, type RuleTestThread } from "./rule-test-thread.ts"
import type { RuleTest, RuleTestRequest } from "./test-rule.ts"

/** Tests of the rules of all apps. */
export interface RuleTestQueue extends AsyncDisposable {
  /**
   * Tests a rule for an app. Throws 400 with what is wrong with the rule, 429 while another test of the app is in
   * progress, and 503 when similarities are not available or the test took too much memory.
   */
  run(appId: AppId, request: RuleTestRequest, signal: AbortSignal): Promise<RuleTest>
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
  let thread: RuleTestThread | undefined
  let last: Promise<unknown> = Promise.resolve()
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

  const runTest = async (request: RuleTestRequest, signal: AbortSignal): Promise<RuleTest> => {
    // The client has left.
    signal.throwIfAborted()
    idle.abort()
    try {
      thread ??= await start({ storeAccess: storeAccess(), embeddings })
      return await thread.testRule(request, signal)
    } catch (error) {
      if (signal.aborted && error === signal.reason) throw error
      if (error instanceof EmbeddingsUnavailable) throw ruleNotServed(request.value, error)
      events.failed({ where: "rule test", error })
      await endThread().catch(() => undefined)
      throw ruleNotTried(request.value, error)
    } finally {
      void endWhenIdle()
    }
  }

  return {
    async run(appId, request, signal) {
      const parsed = parseRule(request.value, { ...ruleOptions, mode: request.mode })
      if (!parsed.ok) {
        throw invalidRule(
          request.value,
          parsed.problems.map(({ message }) => message),
        )
      }
      return queues.run(appId, () => {
        const test = last.then(() => runTest(request, signal))
        last = test.catch(() => undefined)
        return test
      })
    },
    async [Symbol.asyncDispose]() {
      idle.abort()
      await endThread()
    },
  }
}
