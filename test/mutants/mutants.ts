/** The seeded faults, by the promise that each breaks. */
import type { Mutant } from "./mutant.ts"

const server = "packages/server/src"
const rules = "packages/rules/src"

/** One change of one file. */
function mutant(name: string, file: string, from: string, to: string, ...tests: readonly string[]): Mutant {
  return { name, file, changes: [{ from, to }], tests }
}

const durability: readonly Mutant[] = [
  mutant(
    "acknowledged before the commit",
    `${server}/store/embedded/group-commit.ts`,
    "for (const pending of batch) answers.push(this.#attempt(pending))",
    "for (const pending of batch) this.#attempt(pending)()",
    `${server}/store/embedded/group-commit.test.ts`,
  ),
  mutant(
    "acknowledged though the commit failed",
    `${server}/store/embedded/group-commit.ts`,
    "    for (const pending of batch) pending.reject(fault)\n",
    "    for (const pending of batch) pending.resolve(undefined)\n",
    `${server}/store/embedded/group-commit.test.ts`,
  ),
  mutant(
    "a write that fails is not rolled back",
    `${server}/store/embedded/group-commit.ts`,
    '      this.#db.exec("ROLLBACK TO one")\n',
    "",
    `${server}/store/embedded/failed-write.test.ts`,
  ),
  mutant(
    "goes on after a disk that failed",
    `${server}/store/embedded/group-commit.ts`,
    "      this.#end = fault\n",
    "",
    `${server}/store/embedded/group-commit.test.ts`,
  ),
  mutant(
    "matches are not written in the transaction of their posts",
    `${server}/store/embedded/writes.ts`,
    "          insertMatch.run(app, seq, BigInt(post.id), atMs, rules, checksum)",
    "          setTimeout(() => insertMatch.run(app, seq, BigInt(post.id), atMs, rules, checksum), 20)",
    `${server}/store/embedded/embedded-store.test.ts`,
  ),
  mutant(
    "posts are matched again when they come again",
    `${server}/store/embedded/writes.ts`,
    "        const isNew = insertAccepted(post)\n        if (!isNew) return false",
    "        insertAccepted(post)",
    `${server}/store/embedded/embedded-store.test.ts`,
    `${server}/ingest/intake.test.ts`,
  ),
  mutant(
    "a damaged post is shown",
    `${server}/store/embedded/match-reads.ts`,
    "const isWhole = textChecksum(postId, row.post) === row.post_checksum",
    "const isWhole = true",
    `${server}/store/embedded/damage.test.ts`,
  ),
  mutant(
    "an entry that is missing is passed in silence",
    `${server}/store/embedded/match-reads.ts`,
    "    if (isComplete) return entries\n",
    "    if (isComplete || entries.length > 0) return entries\n",
    `${server}/store/embedded/damage.test.ts`,
  ),
]

const log: readonly Mutant[] = [
  mutant(
    "the log is read from the last entry on, and not after it",
    `${server}/store/follow.ts`,
    "        after = last.seq\n",
    "        after = (last.seq - 1) as MatchSeq\n",
    `${server}/store/follow.test.ts`,
  ),
  mutant(
    "a span ends one entry early",
    `${server}/store/follow.ts`,
    "entries.filter((entry) => entry.seq <= upTo)",
    "entries.filter((entry) => entry.seq < upTo)",
    `${server}/store/follow.test.ts`,
  ),
  mutant(
    "an announcement during a read is forgotten",
    `${server}/store/follow.ts`,
    "      } else if (!signal.aborted) {\n",
    "      } else if (!signal.aborted) {\n        hint.clear()\n",
    `${server}/store/append-while-reading.test.ts`,
  ),
  mutant(
    "a lost announcement is never made up for",
    `${server}/store/log-hints.ts`,
    "    if (this.#after !== undefined && this.#after < head) this.call()\n",
    "    if (this.#after === head) this.call()\n",
    `${server}/store/log-hints.test.ts`,
    `${server}/store/follow.test.ts`,
  ),
  mutant(
    "a replay begins after what retention took of it",
    `${server}/control/replay-book.ts`,
    "if (trimmed === undefined || trimmed.untilMs < fromMs) return position",
    "if (trimmed === undefined || trimmed.untilMs >= 0) return position",
    `${server}/control/replay-book.test.ts`,
  ),
  mutant(
    "a new link begins at the start of the log",
    `${server}/store/embedded/writes.ts`,
    "     SELECT ?1, ?2, ?3, ?4, ?5, head, head\n",
    "     SELECT ?1, ?2, ?3, ?4, ?5, 0, 0\n",
    `${server}/store/embedded/embedded-store.test.ts`,
  ),
  mutant(
    "a position by time is one entry late",
    `${server}/store/embedded/position-at.ts`,
    "entry.at_ms >= atMs",
    "entry.at_ms > atMs",
    `${server}/store/embedded/embedded-store.test.ts`,
  ),
]

const cursors: readonly Mutant[] = [
  mutant(
    "the cursor is off by one",
    `${server}/delivery/link-cursor.ts`,
    "if (seq > this.#position) this.#position = seq",
    "if (seq > this.#position) this.#position = (seq + 1) as MatchSeq",
    `${server}/delivery/link-cursor.test.ts`,
  ),
  mutant(
    "the cursor moves back",
    `${server}/delivery/link-cursor.ts`,
    "if (seq > this.#position) this.#position = seq",
    "this.#position = seq",
    `${server}/delivery/link-cursor.test.ts`,
  ),
  mutant(
    "the stored cursor moves back",
    `${server}/store/embedded/delivery-writes.ts`,
    "SET position = max(position, ?)",
    "SET position = ?",
    `${server}/store/embedded/embedded-store.test.ts`,
  ),
  mutant(
    "the cursor passes what is under way without a retry of it",
    `${server}/delivery/link-cursor.ts`,
    "    this.#unsaved.set(seq, { seq, failures: 0, dueAtMs: 0 })\n",
    "",
    `${server}/delivery/link-cursor.test.ts`,
  ),
  mutant(
    "a slot is free before what came of its attempt is saved",
    `${server}/delivery/webhook-link.ts`,
    "    await this.#deps.saves.save(this)\n    this.#slotsTaken -= 1",
    "    void this.#deps.saves.save(this)\n    this.#slotsTaken -= 1",
    `${server}/delivery/webhook-links.test.ts`,
  ),
  mutant(
    "progress that could not be saved counts as saved",
    `${server}/delivery/progress-saves.ts`,
    "      this.#hasStoreFailed = error instanceof StoreFailed\n      return false",
    "      this.#hasStoreFailed = error instanceof StoreFailed\n      return true",
    `${server}/delivery/progress-saves.test.ts`,
  ),
]

const retries: readonly Mutant[] = [
  mutant(
    "what has failed is never tried again",
    `${server}/delivery/held-deliveries.ts`,
    "    this.#waiting.splice(later, 0, delivery)\n",
    "    void later\n",
    `${server}/delivery/webhook-links.test.ts`,
  ),
  mutant(
    "waits between attempts do not grow",
    `${server}/delivery/retry-delay.ts`,
    "policy.baseMs * 2 ** (failures - 1)",
    "policy.baseMs",
    `${server}/delivery/retry-delay.test.ts`,
  ),
  mutant(
    "waits have no jitter",
    `${server}/delivery/retry-delay.ts`,
    "(ceilingMs / 2) * (1 + fraction)",
    "ceilingMs",
    `${server}/delivery/retry-delay.test.ts`,
  ),
  mutant(
    "an endpoint may ask for any time",
    `${server}/delivery/retry-delay.ts`,
    "Math.min(Math.max(Math.ceil(askedMs), policy.baseMs), policy.maxMs)",
    "Math.max(Math.ceil(askedMs), policy.baseMs)",
    `${server}/delivery/granted-delay.test.ts`,
  ),
  mutant(
    "an endpoint may have everything at once",
    `${server}/delivery/retry-delay.ts`,
    "Math.min(Math.max(Math.ceil(askedMs), policy.baseMs), policy.maxMs)",
    "Math.min(Math.ceil(askedMs), policy.maxMs)",
    `${server}/delivery/granted-delay.test.ts`,
  ),
  mutant(
    "Retry-After in seconds is read as milliseconds",
    `${server}/delivery/retry-after.ts`,
    "nowMs + Number(trimmed) * 1000",
    "nowMs + Number(trimmed)",
    `${server}/delivery/retry-after.test.ts`,
  ),
  mutant(
    "an endpoint is never found to be down",
    `${server}/delivery/breaker.ts`,
    "      this.#isDown = true\n",
    "",
    `${server}/delivery/breaker.test.ts`,
  ),
  mutant(
    "one match that fails and fails makes an endpoint be down",
    `${server}/delivery/breaker.ts`,
    "this.isSilent && (this.isOrdered || this.#failing >= this.#slotsMax)",
    "this.isSilent",
    `${server}/delivery/breaker.test.ts`,
  ),
  mutant(
    "an endpoint that is back gets everything at once",
    `${server}/delivery/breaker.ts`,
    "    this.#ownFailuresInARow = 0\n    this.#slots = 1\n",
    "    this.#ownFailuresInARow = 0\n    this.#slots = this.#slotsMax\n",
    `${server}/delivery/breaker.test.ts`,
  ),
  mutant(
    "matches are given up while nothing gets through",
    `${server}/delivery/delivery-outcomes.ts`,
    "return breaker.isOrdered || !breaker.isSilent || held.isFull",
    "return true",
    `${server}/delivery/delivery-outcomes.test.ts`,
  ),
  mutant(
    "this server's own faults count against a match",
    `${server}/delivery/delivery-outcomes.ts`,
    'faultOf(result.outcome) === "server"',
    "faultOf(result.outcome) === undefined",
    `${server}/delivery/delivery-outcomes.test.ts`,
  ),
  mutant(
    "a link may send at twice its rate",
    `${server}/delivery/delivery-rate.ts`,
    "this.#intervalMs = perSecondMax === 0 ? 0 : 1_000 /",
    "this.#intervalMs = perSecondMax === 0 ? 0 : 500 /",
    `${server}/delivery/delivery-rate.test.ts`,
  ),
  mutant(
    "strict order lets others pass one that fails",
    `${server}/delivery/webhook-link.ts`,
    "    if (this.#isOrdered()) return this.#held.count === 0\n",
    "",
    `${server}/delivery/webhook-links.test.ts`,
  ),
]

const deadLetters: readonly Mutant[] = [
  mutant(
    "a dead letter is not kept",
    `${server}/store/embedded/delivery-writes.ts`,
    "    insertDead.run(BigInt(app), link, seq, failures, outcome, status ?? null, error ?? null, diedAtMs)\n",
    "    void [app, failures, outcome, status, error, diedAtMs]\n",
    `${server}/store/embedded/embedded-store.test.ts`,
  ),
  mutant(
    "a match that dies is forgotten on the way to the store",
    `${server}/delivery/link-cursor.ts`,
    "    this.#dead.push(dead)\n",
    "",
    `${server}/delivery/link-cursor.test.ts`,
  ),
  mutant(
    "what is sent again stays a dead letter",
    `${server}/store/embedded/delivery-writes.ts`,
    "      forgetDead.run(BigInt(id))\n",
    "      void id\n",
    `${server}/store/embedded/embedded-store.test.ts`,
  ),
  mutant(
    "an attempt history that cannot be kept fails deliveries",
    `${server}/delivery/attempt-history.ts`,
    '        events.failed({ where: "attempt history", error })\n',
    '        events.failed({ where: "attempt history", error })\n        throw error\n',
    `${server}/delivery/attempt-history.test.ts`,
  ),
]

const retention: readonly Mutant[] = [
  mutant(
    "no gap marker is made",
    `${server}/store/embedded/retention-writes.ts`,
    "        insertGap.run(...marker)\n",
    "",
    `${server}/store/embedded/embedded-store.test.ts`,
  ),
  mutant(
    "retention looks at no cursor",
    `${server}/store/embedded/retention-writes.ts`,
    "        gaps = overtakeLinks(app, to)\n",
    "        void overtakeLinks\n",
    `${server}/store/embedded/embedded-store.test.ts`,
  ),
  mutant(
    "retention takes what a retry needs",
    `${server}/store/embedded/retention-writes.ts`,
    "       SELECT seq FROM retries WHERE app_id = ?1 AND seq > ?2 AND seq <= ?3\n",
    "       SELECT seq FROM retries WHERE app_id = ?1 AND seq > ?2 AND seq <= 0 * ?3\n",
    `${server}/store/embedded/embedded-store.test.ts`,
  ),
  mutant(
    "retention takes what a dead letter needs",
    `${server}/store/embedded/retention-writes.ts`,
    "       UNION ALL SELECT seq FROM dead_letters WHERE app_id = ?1 AND seq > ?2 AND seq <= ?3)",
    "       UNION ALL SELECT seq FROM dead_letters WHERE app_id = ?1 AND seq > ?2 AND seq <= 0 * ?3)",
    `${server}/store/embedded/embedded-store.test.ts`,
  ),
  mutant(
    "retention takes posts that a match log needs",
    `${server}/store/embedded/retention-writes.ts`,
    "post.created_at_ms < beforeMs && post.is_needed === 0",
    "post.created_at_ms < beforeMs",
    `${server}/store/embedded/embedded-store.test.ts`,
  ),
  mutant(
    "retention takes matches a minute early",
    `${server}/control/retention.ts`,
    "matchAges.nowMs() - matchRetentionMs",
    "matchAges.nowMs() - matchRetentionMs + 60_000",
    `${server}/control/retention.test.ts`,
  ),
  mutant(
    "retention believes a clock that steps forward",
    `${server}/control/retention.ts`,
    "if (epochMs <= this.#epochMs + stepMsMin) {",
    "if (epochMs <= Number.POSITIVE_INFINITY) {",
    `${server}/control/retention.test.ts`,
  ),
  mutant(
    "a replay leaves its last minute out",
    `${server}/control/replay-book.ts`,
    "store.positionAt(appId, toMs + minuteMs)",
    "store.positionAt(appId, toMs)",
    `${server}/control/replay-book.test.ts`,
    `${server}/http/routes/replays.test.ts`,
  ),
  mutant(
    "a replay that is stopped counts what it did not send",
    `${server}/delivery/replay-job.ts`,
    "    if (!signal.aborted) this.#head.failUpTo(endSeq)\n",
    "    this.#head.failUpTo(endSeq)\n",
    `${server}/delivery/replays.test.ts`,
  ),
]

const signatures: readonly Mutant[] = [
  mutant(
    "X's signature is over other bytes than the body",
    `${server}/delivery/attempt.ts`,
    "signature(keys.consumerSecret, body)",
    "signature(keys.consumerSecret, body.subarray(1))",
    `${server}/delivery/attempt.test.ts`,
  ),
  mutant(
    "the Standard Webhooks signature leaves the time out",
    `${server}/delivery/attempt.ts`,
    "const before = `${eventId}.${atS}.`",
    "const before = `${eventId}.`",
    `${server}/delivery/attempt.test.ts`,
  ),
  mutant(
    "the old signing key is dropped at once",
    `${server}/delivery/link-keys.ts`,
    "this.#before !== undefined && atMs < this.#before.untilMs ? this.#before.keys : this.#now",
    "this.#now",
    `${server}/delivery/link-sender.test.ts`,
  ),
  mutant(
    "the old signing key is never dropped",
    `${server}/delivery/link-keys.ts`,
    "this.#before !== undefined && atMs < this.#before.untilMs ? this.#before.keys : this.#now",
    "(this.#before?.keys ?? this.#now)",
    `${server}/delivery/link-sender.test.ts`,
  ),
  mutant(
    "an event's id is another at every attempt",
    `${server}/delivery/link-sender.ts`,
    "return eventIdOf(this.#link.id, seq)",
    "return `${eventIdOf(this.#link.id, seq)}_${this.#deps.clock.monotonicMs()}`",
    `${server}/delivery/link-sender.test.ts`,
    `${server}/delivery/webhook-links.test.ts`,
  ),
  mutant(
    "a redirect counts as delivered",
    `${server}/delivery/attempt.ts`,
    "if (status < 300) return {",
    "if (status < 400) return {",
    `${server}/delivery/attempt.test.ts`,
  ),
]

const challenges: readonly Mutant[] = [
  mutant(
    "any token of the right length passes a challenge",
    `${server}/control/crc-check.ts`,
    "return isSame(token, expected) ?",
    "return token.length === expected.length || isSame(token, expected) ?",
    `${server}/control/crc-check.test.ts`,
  ),
  mutant(
    "every challenge has the same token",
    `${server}/control/crc-check.ts`,
    "Buffer.from(deps.random.bytes(tokenBytes))",
    "Buffer.alloc(tokenBytes)",
    `${server}/control/crc-check.test.ts`,
    `${server}/control/webhook-registry.test.ts`,
  ),
  mutant(
    "an endpoint that is only down is found to be invalid",
    `${server}/control/webhook-registry.ts`,
    '    if (result.kind === "unreachable" && !isSilentTooLong) return result\n',
    "    void isSilentTooLong\n",
    `${server}/control/webhook-registry.test.ts`,
  ),
  mutant(
    "an invalid webhook is delivered to",
    `${server}/delivery/webhook-link.ts`,
    "if (this.#ending.signal.aborted || !this.#link.valid || this.#isTurning) return false",
    "if (this.#ending.signal.aborted) return false",
    `${server}/delivery/webhook-links.test.ts`,
    `${server}/delivery/delivery-outcomes.test.ts`,
  ),
  mutant(
    "410 Gone changes nothing",
    `${server}/delivery/webhook-link.ts`,
    '        if (result.outcome === "gone") await this.#turnInvalid()\n',
    "        void this.#turnInvalid\n",
    `${server}/delivery/delivery-outcomes.test.ts`,
  ),
]

const guard: readonly Mutant[] = [
  {
    name: "the guard does not know IPv4-mapped addresses",
    file: `${server}/runtime/outbound-address.ts`,
    changes: [
      {
        from: 'if (range !== "unicast") return',
        to: 'if (range !== "unicast" && range !== "ipv4Mapped") return',
      },
      {
        from: "const isGlobal = address instanceof ipaddr.IPv4 ||",
        to: 'const isGlobal = address instanceof ipaddr.IPv4 || range === "ipv4Mapped" ||',
      },
    ],
    tests: [`${server}/runtime/outbound-address.test.ts`],
  },
  mutant(
    "the guard does not know the ranges of IPv6",
    `${server}/runtime/outbound-address.ts`,
    'if (range !== "unicast") return',
    'if (range !== "unicast" && address instanceof ipaddr.IPv4) return',
    `${server}/runtime/outbound-address.test.ts`,
  ),
  mutant(
    "the guard does not know the metadata address",
    `${server}/runtime/outbound-address.ts`,
    "if (address.toString() === publicMetadataAddress) return",
    "if (address.toString() === `${publicMetadataAddress}0`) return",
    `${server}/runtime/outbound-address.test.ts`,
  ),
  mutant(
    "only the first address of a name is checked",
    `${server}/runtime/outbound-address.ts`,
    "for (const { address } of addresses) {",
    "for (const { address } of addresses.slice(0, 1)) {",
    `${server}/runtime/outbound-address.test.ts`,
    `${server}/runtime/outbound.test.ts`,
  ),
  mutant(
    "a name is looked up again after its check",
    `${server}/runtime/outbound-address.ts`,
    "return addresses.slice(0, attemptedAddressesMax)",
    "return (await resolve(name)).slice(0, attemptedAddressesMax)",
    `${server}/runtime/outbound-address.test.ts`,
    `${server}/runtime/outbound.test.ts`,
  ),
  {
    name: "redirects are followed",
    file: `${server}/runtime/outbound.ts`,
    changes: [
      {
        from: "import { Agent, buildConnector, errors,",
        to: "import { Agent, buildConnector, errors, interceptors,",
      },
      {
        from: "      agent.dispatch(\n",
        to: "      agent.compose(interceptors.redirect({ maxRedirections: 5 })).dispatch(\n",
      },
    ],
    tests: [`${server}/runtime/outbound.test.ts`],
  },
  mutant(
    "an answer's body has no bound",
    `${server}/runtime/outbound.ts`,
    "    if (bytes > answerBytesMax) {\n",
    "    if (bytes > answerBytesMax * 1_000_000) {\n",
    `${server}/runtime/outbound.test.ts`,
  ),
  mutant(
    "the deadline ends with the answer's head",
    `${server}/runtime/outbound.ts`,
    "    this.#status = status\n",
    "    this.#status = status\n    clearTimeout(this.#deadline)\n",
    `${server}/runtime/outbound-deadline.test.ts`,
    `${server}/runtime/outbound.test.ts`,
  ),
  mutant(
    "certificates are not checked",
    `${server}/runtime/outbound.ts`,
    "    rejectUnauthorized: true,\n",
    "    rejectUnauthorized: false,\n",
    `${server}/runtime/outbound.test.ts`,
  ),
]

const apart: readonly Mutant[] = [
  mutant(
    "a rule of another app is deleted by its id",
    `${server}/store/embedded/writes.ts`,
    "WHERE app_id = ? AND rules.id = ?",
    "WHERE app_id = app_id + 0 * ? AND rules.id = ?",
    `${server}/store/embedded/embedded-store.test.ts`,
    `${server}/http/other-apps.test.ts`,
  ),
  mutant(
    "a webhook of another app is deleted by its id",
    `${server}/store/embedded/writes.ts`,
    '"DELETE FROM webhooks WHERE app_id = ? AND id = ?"',
    '"DELETE FROM webhooks WHERE app_id = app_id + 0 * ? AND id = ?"',
    `${server}/store/embedded/embedded-store.test.ts`,
    `${server}/http/other-apps.test.ts`,
  ),
  mutant(
    "a webhook of another app is shown by its id",
    `${server}/store/embedded/reads.ts`,
    "WHERE webhooks.app_id = ? AND webhooks.id = ?",
    "WHERE webhooks.app_id = app_id + 0 * ? AND webhooks.id = ?",
    `${server}/store/embedded/embedded-store.test.ts`,
    `${server}/http/other-apps.test.ts`,
  ),
  mutant(
    "a dead letter of another app is sent again by its id",
    `${server}/store/embedded/delivery-writes.ts`,
    "(SELECT link_id FROM dead_letters WHERE id = ?1) AND (?2 IS NULL OR +app_id = ?2)",
    "(SELECT link_id FROM dead_letters WHERE id = ?1) AND (?2 IS NULL OR +app_id = ?2 OR true)",
    `${server}/store/embedded/embedded-store.test.ts`,
    `${server}/http/other-apps.test.ts`,
  ),
  mutant(
    "dead letters of all apps are listed",
    `${server}/store/embedded/delivery-reads.ts`,
    'deadLettersWhere("dead_letters.app_id = ?")',
    'deadLettersWhere("dead_letters.app_id <> 0 * ?")',
    `${server}/store/embedded/embedded-store.test.ts`,
    `${server}/http/other-apps.test.ts`,
  ),
]

const pages: readonly Mutant[] = [
  mutant(
    "page tokens may be forged",
    `${server}/timelines/page-token.ts`,
    "        !timingSafeEqual(seal(scope, bytes.subarray(0, sealAt)), bytes.subarray(sealAt))\n",
    "        !timingSafeEqual(bytes.subarray(sealAt), bytes.subarray(sealAt))\n",
    `${server}/timelines/page-token.test.ts`,
  ),
  mutant(
    "page tokens never expire",
    `${server}/timelines/page-token.ts`,
    "if (lifetimeMs > 0 && ageMs >= lifetimeMs) throw",
    "if (lifetimeMs > 0 && ageMs >= Number.POSITIVE_INFINITY) throw",
    `${server}/timelines/page-token.test.ts`,
  ),
  mutant(
    "page tokens serve requests with other parameters",
    `${server}/timelines/page-token.ts`,
    "      if (!parametersHash(scope).equals(bytes.subarray(parametersAt, sealAt))) throw changed(token)\n",
    "      void changed\n",
    `${server}/timelines/page-token.test.ts`,
  ),
  mutant(
    "page tokens serve other apps",
    `${server}/timelines/page-token.ts`,
    "${scope.endpoint}\\n${scope.appId}\\n",
    "${scope.endpoint}\\n",
    `${server}/timelines/page-token.test.ts`,
  ),
]

const matching: readonly Mutant[] = [
  mutant(
    "posts are matched by rules of a moment ago",
    `${server}/ingest/accept-posts.ts`,
    "    await rules.catchUp()\n",
    "",
    `${server}/ingest/accept-posts.test.ts`,
  ),
  mutant(
    "what a client that is gone left unread is taken in",
    `${server}/ingest/serve-intake.ts`,
    "      bodies.get(request.body)?.waiting.splice(0)\n",
    "",
    `${server}/ingest/serve-intake.test.ts`,
  ),
  mutant(
    "a batch is appended though the one before was not",
    `${server}/ingest/accept-posts.ts`,
    "    await this.#appending\n    this.#appending = ",
    "    await this.#appending.catch(() => undefined)\n    this.#appending = ",
    `${server}/ingest/accept-posts.test.ts`,
  ),
  mutant(
    "every other change of rules is passed over",
    `${server}/matching/rule-index.ts`,
    "        this.#seq = change.seq\n",
    "        this.#seq = change.seq + 1\n",
    `${server}/matching/rule-index.test.ts`,
  ),
  mutant(
    "a negation is dropped",
    `${rules}/expressions.ts`,
    "this.#push(isNegated ? negation(part) : part)",
    "this.#push(part)",
    `${rules}/rule-matcher.test.ts`,
  ),
  mutant(
    "a phrase finds its words in any order",
    `${rules}/phrase.ts`,
    "const [word, token] = [words[index], tokens[at + index]]",
    "const [word, token] = [words[words.length - 1 - index], tokens[at + index]]",
    `${rules}/phrase.test.ts`,
  ),
  mutant(
    "a sample is another each time",
    `${rules}/sample.ts`,
    "let hash = 0x811c9dc5",
    "let hash = Math.trunc(Math.random() * 0xffff)",
    `${rules}/sample.test.ts`,
  ),
]

/** All of them. */
export const mutants: readonly Mutant[] = [
  ...durability,
  ...log,
  ...cursors,
  ...retries,
  ...deadLetters,
  ...retention,
  ...signatures,
  ...challenges,
  ...guard,
  ...apart,
  ...pages,
  ...matching,
]
