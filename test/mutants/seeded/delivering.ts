/** Seeded faults of deliveries: cursors, threads, retries and dead letters. */
import type { Mutant } from "../mutant.ts"
import { mutant, server } from "./one-change.ts"

export const cursors: readonly Mutant[] = [
  mutant(
    "the cursor is off by one",
    `${server}/delivery/finished-head.ts#FinishedHead.pass`,
    "if (seq > this.#passed) this.#passed = seq",
    "if (seq > this.#passed) this.#passed = (seq + 1) as MatchSeq",
    `${server}/delivery/links/run/link-cursor.test.ts`,
  ),
  mutant(
    "the cursor moves back",
    `${server}/delivery/finished-head.ts#FinishedHead.pass`,
    "if (seq > this.#passed) this.#passed = seq",
    "this.#passed = seq",
    `${server}/delivery/links/run/link-cursor.test.ts`,
  ),
  mutant(
    "the cursor passes what is under way without a retry of it",
    `${server}/delivery/links/run/link-cursor.ts#LinkCursor.start`,
    "    this.#unsaved.set(seq, { seq, failures: 0, dueAtMs: 0 })\n",
    "",
    `${server}/delivery/links/run/link-cursor.test.ts`,
  ),
  mutant(
    "a slot is free before what came of its attempt is saved",
    `${server}/delivery/links/run/webhook-link.ts#WebhookLink.#attempt`,
    "    this.#unsaved += 1\n",
    "    this.#saving += 1\n    this.progressSaved()\n",
    `${server}/delivery/links/run/delivery-bounds.test.ts`,
  ),
  mutant(
    "progress that could not be saved counts as saved",
    `${server}/delivery/links/run/progress-saves.ts#ProgressSaves.#try`,
    'error instanceof StoreUnreadable ? "fault" : "store"',
    'error instanceof StoreUnreadable ? "fault" : "saved"',
    `${server}/delivery/links/run/progress-saves.test.ts`,
  ),
  mutant(
    "the first link that waits takes all starts of a turn",
    `${server}/delivery/links/run/fair-starts.ts#FairStarts.note`,
    "this.#share -= 1",
    "this.#share -= 0",
    `${server}/delivery/links/run/fair-starts.test.ts`,
  ),
]

export const deliveryThreads: readonly Mutant[] = [
  mutant(
    "a link is driven by several threads",
    `${server}/delivery/threads/link-shares.ts#LinkShares.share`,
    "      if (this.#threads.some((own) => own.has(id))) continue\n",
    "",
    `${server}/delivery/threads/link-shares.test.ts`,
  ),
  mutant(
    "a delivery thread ends without what it has in flight",
    `${server}/delivery/threads/delivery-thread.ts`,
    "    await running\n",
    "",
    "test/delivery-threads.test.ts",
  ),
]

export const threadCalls: readonly Mutant[] = [
  mutant(
    "a thread that fails leaves the calls of other threads pending",
    `${server}/runtime/port-calls.ts#PortCalls.constructor`,
    "        void this.#refuse(pending.reject, pending.abort?.signal)\n",
    "",
    `${server}/runtime/port-calls.test.ts`,
    `${server}/runtime/thread.test.ts`,
  ),
  mutant(
    "an error loses its class between threads",
    `${server}/runtime/error-codec.ts#receivedError`,
    "(classes.get(className) ?? Error).prototype",
    "Error.prototype",
    `${server}/runtime/error-codec.test.ts`,
    `${server}/store/embedded/serving/group-commit.test.ts`,
  ),
  mutant(
    "a buffer that is handed to another thread is copied",
    `${server}/runtime/port-calls.ts#PortCalls.#post`,
    "this.#port.postMessage(message, transfer as Transferable[])",
    "this.#port.postMessage(message, transfer.filter((one) => !(one instanceof ArrayBuffer)) as Transferable[])",
    `${server}/runtime/port-calls.test.ts`,
  ),
  mutant(
    "a call that is aborted goes on in the other thread",
    `${server}/runtime/port-calls.ts#PortCalls.#receive`,
    'if ("isAborted" in message) this.#abortable.get(message.id)?.abort(new CallAborted())',
    'if ("isAborted" in message) return',
    `${server}/runtime/port-calls.test.ts`,
  ),
]

export const retries: readonly Mutant[] = [
  mutant(
    "what has failed is never tried again",
    `${server}/delivery/links/run/pending-deliveries.ts#PendingDeliveries.queueRetry`,
    "    this.#retries.splice(later, 0, delivery)\n",
    "    void later\n",
    `${server}/delivery/links/webhook-links.test.ts`,
  ),
  mutant(
    "waits between attempts do not grow",
    `${server}/delivery/sending/retry-delay.ts#ceilingMs`,
    "policy.baseMs * 2 ** (failures - 1)",
    "policy.baseMs",
    `${server}/delivery/sending/retry-delay.test.ts`,
  ),
  mutant(
    "waits have no jitter",
    `${server}/delivery/sending/retry-delay.ts#delayMs`,
    "(ceilingMs / 2) * (1 + fraction)",
    "ceilingMs",
    `${server}/delivery/sending/retry-delay.test.ts`,
  ),
  mutant(
    "an endpoint may ask for any time",
    `${server}/delivery/sending/retry-delay.ts#grantedDelayMs`,
    "Math.min(Math.max(Math.ceil(retryAfterMs), policy.baseMs), policy.maxMs)",
    "Math.max(Math.ceil(retryAfterMs), policy.baseMs)",
    `${server}/delivery/sending/granted-delay.test.ts`,
  ),
  mutant(
    "an endpoint may have everything at once",
    `${server}/delivery/sending/retry-delay.ts#grantedDelayMs`,
    "Math.min(Math.max(Math.ceil(retryAfterMs), policy.baseMs), policy.maxMs)",
    "Math.min(Math.ceil(retryAfterMs), policy.maxMs)",
    `${server}/delivery/sending/granted-delay.test.ts`,
  ),
  mutant(
    "Retry-After in seconds is read as milliseconds",
    `${server}/runtime/outbound/retry-after.ts#atMs`,
    "nowMs + Number(trimmed) * 1000",
    "nowMs + Number(trimmed)",
    `${server}/runtime/outbound/retry-after.test.ts`,
  ),
  mutant(
    "an endpoint is never found to be down",
    `${server}/delivery/links/run/breaker.ts#Breaker.noteFailed`,
    "      this.#isDown = true\n",
    "",
    `${server}/delivery/links/run/breaker.test.ts`,
  ),
  mutant(
    "one match that fails and fails makes an endpoint be down",
    `${server}/delivery/links/run/breaker.ts#Breaker.noteFailed`,
    "this.isSilent && (this.isOrdered || this.#failing >= this.#slotsMax)",
    "this.isSilent",
    `${server}/delivery/links/run/breaker.test.ts`,
  ),
  mutant(
    "an endpoint that is back gets everything at once",
    `${server}/delivery/links/run/breaker.ts#Breaker.restart`,
    "    this.#ownFailuresInARow = 0\n    this.#slots = 1\n",
    "    this.#ownFailuresInARow = 0\n    this.#slots = this.#slotsMax\n",
    `${server}/delivery/links/run/breaker.test.ts`,
  ),
  mutant(
    "matches are given up while nothing gets through",
    `${server}/delivery/links/run/delivery-outcomes.ts#DeliveryOutcomes.#mayBlame`,
    "return breaker.isOrdered || !breaker.isSilent || pending.isFull",
    "return true",
    `${server}/delivery/links/run/delivery-outcomes.test.ts`,
  ),
  mutant(
    "this server's own faults count against a match",
    `${server}/delivery/links/run/delivery-outcomes.ts#DeliveryOutcomes.#noteFailed`,
    'faultOf(result.outcome) === "server"',
    "faultOf(result.outcome) === undefined",
    `${server}/delivery/links/run/delivery-outcomes.test.ts`,
  ),
  mutant(
    "a link may send at twice its rate",
    `${server}/delivery/sending/delivery-rate.ts#DeliveryRate.constructor`,
    "this.#intervalMs = perSecondMax === 0 ? 0 : 1_000 /",
    "this.#intervalMs = perSecondMax === 0 ? 0 : 500 /",
    `${server}/delivery/sending/delivery-rate.test.ts`,
  ),
  mutant(
    "every match that failed probes an endpoint that is down",
    `${server}/delivery/links/run/link-schedule.ts#LinkSchedule.#pausedUntilMs`,
    "return breaker.isProbed && !pending.isFull ? Math.max(pausedUntilMs, probe.atMs) : pausedUntilMs",
    "return pausedUntilMs",
    `${server}/delivery/links/endpoint-outages.test.ts`,
  ),
  mutant(
    "matches that fill a link have no schedules of their own",
    `${server}/delivery/links/run/link-schedule.ts#LinkSchedule.#pausedUntilMs`,
    "breaker.isProbed && !pending.isFull ?",
    "breaker.isProbed ?",
    `${server}/delivery/links/endpoint-outages.test.ts`,
  ),
  mutant(
    "what a stream did not write counts as read",
    `${server}/delivery/streams/stream-connection.ts#writeRecords`,
    "isAtEnd = count === batch.length && !writer.isFull",
    "isAtEnd = !writer.isFull",
    `${server}/delivery/streams/stream-ends.test.ts`,
  ),
  mutant(
    "what a sample stream did not write counts as read",
    `${server}/delivery/streams/sampled-posts.ts#SampledPosts.source`,
    "records[count - 1] as",
    "records.at(-1) as",
    `${server}/delivery/streams/sample-streams.test.ts`,
  ),
  mutant(
    "an ended connection stays open",
    `${server}/delivery/streams/stream-connections.ts#createStreamConnections`,
    "      slots.endForced(appId, uuids)\n",
    "",
    `${server}/delivery/streams/sample-streams.test.ts`,
  ),
  mutant(
    "an app ends the connections of all apps",
    `${server}/store/embedded/nouns/connections.ts#createConnectionWrites`,
    "open.all(BigInt(appId), endpoint)",
    "open.all(null, endpoint)",
    "test/compatibility/streams-and-replays.test.ts",
  ),
  mutant(
    "strict order lets others pass one that fails",
    `${server}/delivery/links/run/link-schedule.ts#LinkSchedule.#mayTakeEntry`,
    "    if (breaker.isOrdered) return pending.count === 0\n",
    "",
    `${server}/delivery/links/webhook-links-restarts.test.ts`,
  ),
]

export const deadLetters: readonly Mutant[] = [
  mutant(
    "a match that dies is forgotten on the way to the store",
    `${server}/delivery/links/run/link-cursor.ts#LinkCursor.deadLetter`,
    "    this.#dead.push(dead)\n",
    "",
    `${server}/delivery/links/run/link-cursor.test.ts`,
  ),
  mutant(
    "stored outcomes are renamed without their checksums",
    `${server}/store/embedded/connection/migrations.ts#renameOutcomes`,
    ", checksum = ${checksum(renamed)}\n",
    "\n",
    `${server}/store/embedded/connection/migrations.test.ts`,
  ),
  mutant(
    "an attempt history that cannot be kept fails deliveries",
    `${server}/delivery/sending/attempt-history.ts#AttemptHistory.#flush`,
    '        events.failed({ where: "attempt history", error })\n',
    '        events.failed({ where: "attempt history", error })\n        throw error\n',
    `${server}/delivery/sending/attempt-history.test.ts`,
  ),
  mutant(
    "a link sends what another has rendered with other fields",
    `${server}/delivery/sending/delivery-body.ts#deliveryBody`,
    "before?.selection === selection",
    "before !== undefined",
    `${server}/delivery/sending/delivery-body.test.ts`,
  ),
  mutant(
    "of very many attempts the failed ones are not preferred",
    `${server}/delivery/sending/attempt-history.ts#isFailed`,
    'return outcome !== "delivered"',
    'return outcome === "delivered"',
    `${server}/delivery/sending/attempt-history.test.ts`,
  ),
]

const searchesTest = `${server}/delivery/replays/backfill-searches.test.ts`
const pastTest = `${server}/control/rule-tests/find-in-past.test.ts`

export const backfills: readonly Mutant[] = [
  mutant(
    "each backfill of an app has a turn of its own",
    `${server}/control/rule-tests/rule-test-queue.ts#createRuleTestQueue`,
    "`past ${part.appId}`",
    "`past ${part.appId} ${part.lastId}`",
    `${server}/control/rule-tests/rule-test-queue.test.ts`,
  ),
  mutant(
    "a replay goes on while its endpoint asks for time",
    `${server}/delivery/replays/replay-job.ts#ReplayJob.#deliver`,
    "Math.max(this.#pausedUntilMs, pausedUntilMs)",
    "0 * pausedUntilMs",
    `${server}/delivery/replays/replays.test.ts`,
  ),
  mutant(
    "a backfill sends what a rule has matched already",
    `${server}/control/rule-tests/find-in-past.ts#notMatchedBefore`,
    "return rules.filter((rule) => !matched.has(rule.id))",
    "return rules.filter((rule) => matched !== undefined || rule)",
    pastTest,
  ),
  mutant(
    "a backfill finds posts from long after the rule was added",
    `${server}/control/rule-tests/find-in-past.ts#findInPast`,
    "BigInt(id) <= one.lastId && evaluate(one.rule, post)",
    "evaluate(one.rule, post)",
    pastTest,
  ),
  mutant(
    "a part of a search that ends at its limit skips the rest of its posts",
    `${server}/control/rule-tests/find-in-past.ts#findInPast`,
    "return { matches, searchedId: id }",
    "return { matches, searchedId: lastId }",
    pastTest,
  ),
  mutant(
    "a backfill is sent before all is found",
    `${server}/model/replay.ts#isSearched`,
    "return backfill === undefined || isSearchOver(backfill)",
    "return backfill === undefined || BigInt(backfill.searchedId) > 0n",
    searchesTest,
  ),
  mutant(
    "a search begins anew after a restart",
    `${server}/delivery/replays/backfill-searches.ts#search`,
    "const { rules, searchedId: after, lastId }: Backfill = backfill",
    'const { rules, lastId }: Backfill = backfill\n    const after = (found % 20 === 10 ? "0" : backfill.searchedId) as Backfill["searchedId"]',
    searchesTest,
  ),
  mutant(
    "a backfill has no bound of matches",
    `${server}/delivery/replays/backfill-searches.ts#search`,
    "lastId: found < backfillMatchesMax ? lastId : searchedId",
    "lastId",
    searchesTest,
  ),
  mutant(
    "a cancelled replay goes on",
    `${server}/delivery/replays/replays.ts#createReplays`,
    "const isWanted = running.isEnding || runs.has(id)",
    "const isWanted = running.isEnding || runs.size >= 0",
    searchesTest,
  ),
]
