/** Everything that the doctor reads of the store, and what it finds there. */
import { parseRule } from "@sluice/rules"
import { undeliveredRetentionMsOf, type Config } from "../config.ts"
import { embeddingsIn } from "../matching/similarities.ts"
import type { App } from "../model/app.ts"
import {
  beforeFirstMatch,
  type AppId,
  type DeadLetterId,
  type LinkId,
  type MatchSeq,
  type WebhookId,
} from "../model/ids.ts"
import type { LinkTally } from "../model/link.ts"
import type { StoredRule } from "../model/rule.ts"
import type { StoredWebhook } from "../model/webhook.ts"
import { systemClock as clock } from "../runtime/clock.ts"
import type { StoreEngine } from "../store/engine.ts"
import type { StoreAudit } from "../store/store-audit.ts"
import type { StoreReads } from "../store/store.ts"
import { StoreUnavailable, StoreUnreadable } from "../store/store-faults.ts"
import { counted, fault, good, type Finding } from "./finding.ts"
import { clockFindings, type ClockStep, type StoredMoment } from "./health/clock.ts"
import { deliveryFindings, type LinkStanding } from "./health/deliveries.ts"
import { sourceFindings } from "./health/sources.ts"
import { versionFindings } from "./health/store.ts"
import { confirmedIn, prove, type AttemptEvidence, type Proof } from "./proof.ts"

/** Entries of a log that are checked for steps of the clock. Ours. */
const clockSamplesMax = 200

/** Dead letters read at once. */
const deadLettersPageMax = 1_000

/** Most damage that is named one by one. */
export const damageNamedMax = 100

const secondMs = 1_000

/** Parts of the store that are needed after it is closed. */
export interface SeenStore {
  readonly apps: readonly App[]
  /** The webhooks of apps that are not revoked. */
  readonly webhooks: readonly StoredWebhook[]
}

/** Findings; the rest is absent when the store cannot be read to its end. */
interface StoreReport {
  readonly findings: readonly Finding[]
  readonly seen?: SeenStore
  readonly proof?: Proof
  /** The source of the proof. */
  readonly audit?: StoreAudit
  /** The versions of a store that is older than this program: nothing more is known of it. */
  readonly olderVersion?: { readonly version: number; readonly knownVersion: number }
}

/** Reads the whole store and reports on it. */
export async function readStore(engine: StoreEngine, config: Config): Promise<StoreReport> {
  try {
    const found = await engine.examine((audit, reads) => examineData(audit, reads, config))
    if (found.kind === "read") return found.result
    if (found.version === 0 && engine.files === undefined) return { findings: [noStoreIn(engine)] }
    const findings = [...versionFindings(found.kind, found), ...damageFindings(found.damage)]
    return { findings, ...(found.kind === "older" && { olderVersion: found }) }
  } catch (error) {
    return { findings: [unreadable(error)] }
  }
}

function noStoreIn({ place }: StoreEngine): Finding {
  return fault("store", `The ${place} holds no store.`, "Name the one that the server uses with SLUICE_DATABASE.")
}

/** A store that SQLite gives up on, in its own words: the store's error has advice for those who do not know where. */
function unreadable(error: unknown): Finding {
  // SQLite's errors, the store's and the system's have a code; any other is a fault of ours.
  if (!(error instanceof Error && "code" in error)) throw error
  if (error instanceof StoreUnreadable) return fault("store", error.message, copyReadable)
  const { message } = error.cause instanceof Error ? error.cause : error
  if (error instanceof StoreUnavailable) {
    return fault("store", `The database cannot be used: ${message}.`, "Until then, nothing is known about the store.")
  }
  return fault("store", `The store cannot be read to its end: ${message}.`, restore)
}

/** Advice for a disk that fails. */
const copyReadable =
  "Stop the server, copy the data directory to another disk with zeros for what cannot be read, and run `sluice doctor` on " +
  'the copy: "Bad sectors" in docs/operations.md says how.'

/** Advice for damage. */
export const restore =
  "Stop the server, keep the store as it is, and restore the newest backup to another place (`sluice restore`, or " +
  "PostgreSQL's own tools)."

function damageFindings(damage: readonly string[]): readonly Finding[] {
  // SQLite's own check returns several lines at once, under a title.
  const lines = damage.flatMap((text) => text.split("\n").filter((line) => !line.endsWith(" ***")))
  const named = lines.slice(0, damageNamedMax).map((line) => fault("store", line, restore))
  return lines.length <= damageNamedMax ? named : [...named, fault("store", "There is more damage.")]
}

/** Everything that is seen of the store. Damage that the audit has found may keep the rest from being seen. */
async function examineData(audit: StoreAudit, reads: StoreReads, config: Config): Promise<StoreReport> {
  const whole = storeFindings(audit)
  try {
    const rest = await readAfterAudit(audit, reads, config)
    return { ...rest, findings: [...whole, ...rest.findings] }
  } catch (error) {
    return { findings: [...whole.filter(({ level }) => level !== "ok"), unreadable(error)] }
  }
}

/** Everything that is read after the audit, of the same moment. */
async function readAfterAudit(audit: StoreAudit, reads: StoreReads, config: Config): Promise<StoreReport> {
  const [apps, webhooks] = [await reads.apps(), await reads.allWebhooks()]
  const deliverable = new Map((await reads.allLinks()).map((link) => [link.id, link]))
  const moments: StoredMoment[] = [
    ...apps.map(({ id, createdAtMs }) => ({ what: `app ${id}`, atMs: createdAtMs })),
    ...webhooks.map(({ id, checkedAtMs }) => ({
      what: `the last challenge of webhook ${id}`,
      atMs: checkedAtMs,
    })),
  ]
  const sources = await reads.sources()
  moments.push(
    ...sources.flatMap(({ name, savedAtMs }) =>
      savedAtMs === undefined ? [] : [{ what: `the position of source ${name}`, atMs: savedAtMs }],
    ),
  )
  const steps: ClockStep[] = []
  for (const log of audit.logs) {
    const times = await sampledTimes(reads, log)
    moments.push(...times.slice(-1).map(({ atMs }) => ({ what: `the newest match of app ${log.appId}`, atMs })))
    steps.push(...stepsBack(log.appId, times))
  }
  const heads = new Map(audit.logs.map(({ appId, head }) => [appId, head]))
  const attempts = new Map<LinkId, AttemptEvidence>()
  const standings: LinkStanding[] = []
  for (const tally of audit.links) {
    const link = await examineLink(reads, tally, heads.get(tally.appId) ?? beforeFirstMatch, config)
    attempts.set(tally.linkId, link.evidence)
    moments.push(...link.moments)
    const found = deliverable.get(tally.linkId)
    if (found !== undefined) standings.push({ ...link.standing, pausedAtMs: found.pausedAtMs })
  }
  const nowMs = clock.nowMs()
  const { proof, findings } = proveUnlessDamaged(audit, attempts)
  return {
    proof,
    audit,
    seen: { apps, webhooks },
    findings: [
      ...(await ruleFindings(reads, config)),
      ...sourceFindings({
        stored: sources,
        deadLetters: await reads.sourceDeadLetterCounts(),
        listed: config.sources,
        nowMs,
      }),
      ...findings,
      ...deliveryFindings(standings, {
        nowMs,
        undeliveredRetentionMs: undeliveredRetentionMsOf(config),
        deadLetterRetentionDays: config.deadLetterRetentionDays,
      }),
      ...clockFindings({ nowMs, moments, steps, known: await reads.knownTime() }),
    ],
  }
}

/** Numbers out of a damaged store may be those of what is left. */
function proveUnlessDamaged(
  audit: StoreAudit,
  attempts: ReadonlyMap<LinkId, AttemptEvidence>,
): ReturnType<typeof prove> {
  const { proof, findings } = prove({ ...audit, attempts })
  if (audit.damage.length === 0) return { proof, findings }
  const faults = findings.filter(({ level }) => level === "error")
  const nothing = "The numbers that can be read add up, which proves nothing of a damaged store."
  return {
    proof: { ...proof, holds: false },
    findings: faults.length > 0 ? faults : [fault("proof", nothing, restore)],
  }
}

function storeFindings({ damage, posts, logs }: StoreAudit): readonly Finding[] {
  if (damage.length > 0) return damageFindings(damage)
  const matches = logs.reduce((sum, { entries }) => sum + entries, 0)
  return [
    good(
      "store",
      `Whole: ${counted(posts.stored, "post")} and ${counted(matches, "match", "matches")} have what was stored.`,
    ),
  ]
}

async function ruleFindings(reads: StoreReads, config: Config): Promise<readonly Finding[]> {
  const named: Finding[] = []
  let [count, faults] = [0, 0]
  for await (const rule of (await reads.allRules()).rules) {
    count += 1
    const found = ruleFault(rule, config)
    if (found === undefined) continue
    faults += 1
    if (faults <= damageNamedMax) named.push(found)
  }
  if (faults === 0) return [good("rules", `${counted(count, "rule")} can be matched.`)]
  const unnamed = faults - named.length
  return unnamed === 0 ? named : [...named, fault("rules", `The same is true of ${counted(unnamed, "more rule")}.`)]
}

/** Why a rule cannot be matched, if it cannot. */
function ruleFault({ id, appId, value }: StoredRule, { embeddingsUrl }: Config): Finding | undefined {
  const parsed = parseRule(value, { lengthMax: Number.POSITIVE_INFINITY, embeddings: true })
  if (!parsed.ok) {
    const { message } = parsed.problems[0] ?? { message: "no reason" }
    return fault(
      "rules",
      `Rule ${id} of app ${appId} matches nothing, since this version refuses it: ${message}`,
      "Delete it, and add it in a form that is accepted.",
    )
  }
  if (embeddingsUrl !== undefined || embeddingsIn(parsed.rule).length === 0) return undefined
  return fault(
    "rules",
    `Rule ${id} of app ${appId} has embedding:, and there is no endpoint for it, so no server starts.`,
    "Set SLUICE_EMBEDDINGS_URL and SLUICE_EMBEDDINGS_MODEL.",
  )
}

/** When an entry of a log was appended. */
interface EntryTime {
  readonly seq: MatchSeq
  readonly atMs: number
}

/** Times of some entries of a log, oldest first, the last one among them. */
async function sampledTimes(
  reads: StoreReads,
  { appId, head, trimmedTo }: StoreAudit["logs"][number],
): Promise<readonly EntryTime[]> {
  const samples = Math.min(head - trimmedTo, clockSamplesMax)
  const times = new Map<MatchSeq, number>()
  for (let sample = 1; sample <= samples; sample += 1) {
    const after = (trimmedTo + Math.floor(((head - trimmedTo) * sample) / samples) - 1) as MatchSeq
    // An entry that is lost has no time; the audit has reported it.
    for (const { seq, atMs } of await reads.matches({ appId, after, limit: 1, bytesMax: 1, shape: "core" }))
      if (atMs > 0) times.set(seq, atMs)
  }
  return Array.from(times, ([seq, atMs]) => ({ seq, atMs }))
}

function stepsBack(appId: AppId, times: readonly EntryTime[]): readonly ClockStep[] {
  return times.flatMap(({ seq, atMs }, index) => {
    const earlier = times[index - 1]
    return earlier === undefined || atMs >= earlier.atMs
      ? []
      : [{ appId, after: earlier.seq, before: seq, backMs: earlier.atMs - atMs }]
  })
}

async function examineLink(
  reads: StoreReads,
  tally: LinkTally,
  head: MatchSeq,
  { attemptsKeptPerLink, retrySecondsMax }: Config,
): Promise<{ evidence: AttemptEvidence; standing: LinkStanding; moments: readonly StoredMoment[] }> {
  const { linkId, appId, webhookId, position } = tally
  const attempts = await reads.attempts(linkId, attemptsKeptPerLink)
  const retries = tally.retries === 0 ? [] : await reads.retries(linkId, "core")
  const delivered = new Set(attempts.filter(({ outcome }) => outcome === "delivered").map(({ seq }) => seq))
  const unsettled = new Set(retries.map(({ seq }) => seq).filter((seq) => delivered.has(seq)))
  if (tally.deadLetters > 0) {
    for await (const seq of deadSeqs(reads, appId, webhookId)) if (delivered.has(seq)) unsettled.add(seq)
  }
  const ahead =
    position < head ? await reads.matches({ appId, after: position, limit: 1, bytesMax: 1, shape: "core" }) : []
  // An entry that is lost has no time; the audit has reported it.
  const waiting = [...retries.map(({ entry }) => entry), ...ahead].map(({ atMs }) => atMs).filter((atMs) => atMs > 0)
  const lastDueAtMs = greatest(retries.map(({ dueAtMs }) => dueAtMs))
  return {
    // Positions are not kept: there may be many links with many attempts each.
    evidence: {
      last: greatest(attempts.map(({ seq }) => seq)) as MatchSeq,
      confirmed: confirmedIn(tally, delivered, unsettled),
    },
    standing: {
      tally,
      head,
      gaps: tally.missed === 0 ? [] : await reads.gaps(linkId),
      retries: retries.map(({ seq, failures, dueAtMs }) => ({ seq, failures, dueAtMs })),
      ...(waiting.length > 0 && { oldestAtMs: waiting.reduce((a, b) => Math.min(a, b)) }),
    },
    moments: [
      ...attempts.slice(0, 1).map(({ atMs }) => ({ what: `the newest attempt of webhook ${webhookId}`, atMs })),
      { what: `a failure of webhook ${webhookId}`, atMs: lastDueAtMs - retrySecondsMax * secondMs },
    ],
  }
}

/** The greatest of some numbers that may be many; 0 without any. */
function greatest(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => Math.max(a, b), 0)
}

async function* deadSeqs(reads: StoreReads, appId: AppId, webhookId: WebhookId): AsyncGenerator<MatchSeq, void, void> {
  let from: DeadLetterId | undefined
  do {
    const page = await reads.deadLetters(
      { appId, webhookId },
      { direction: "older", limit: deadLettersPageMax, ...(from !== undefined && { from }) },
    )
    for (const { seq } of page) yield seq
    from = page.length === deadLettersPageMax ? page.at(-1)?.id : undefined
  } while (from !== undefined)
}
