/**
 * An examination of everything that a server stands on: settings, store, rules, clock, disk, endpoints; and the proof
 * that nothing acknowledged is lost.
 *
 * It works on the data directory itself, whether a server runs on it or not, and changes nothing there: no lock is
 * taken, no file made, no migration run. The store is seen as it was at one moment. What is found is said by pure
 * functions (`health.ts`, `proof.ts`); this file only gathers.
 */
import { existsSync, statSync } from "node:fs"
import { statfs } from "node:fs/promises"
import { join } from "node:path"
import { parseRule } from "@sluice/rules"
import { ConfigError, loadConfig, type Config, type ConfigSources, type Posture } from "./config.ts"
import { challenge } from "./control/crc-check.ts"
import { masterKey, storeFile } from "./data-directory.ts"
import { counted, fault, good, subjects, warning, type Finding } from "./finding.ts"
import {
  clockFindings,
  deliveryFindings,
  diskFindings,
  endpointFindings,
  postureText,
  settingsFindings,
  versionFindings,
  type ClockStep,
  type EndpointAnswer,
  type LinkStanding,
  type StoredMoment,
} from "./health.ts"
import { embeddingsIn } from "./matching/similarities.ts"
import type { App } from "./model/app.ts"
import {
  beforeFirstMatch,
  type AppId,
  type DeadLetterId,
  type LinkId,
  type MatchSeq,
  type WebhookId,
} from "./model/ids.ts"
import type { LinkTally } from "./model/link.ts"
import type { StoredRule } from "./model/rule.ts"
import type { StoredWebhook } from "./model/webhook.ts"
import { confirmedIn, prove, type AttemptEvidence, type Proof } from "./proof.ts"
import { systemClock as clock } from "./runtime/clock.ts"
import { createOutbound } from "./runtime/outbound.ts"
import { systemRandom as random } from "./runtime/random.ts"
import { createSecretBox, type SecretBox } from "./runtime/secret-box.ts"
import { examineStore } from "./store/embedded/examined-store.ts"
import type { StoreAudit, StoreReads } from "./store/store.ts"

/** What was found. */
export interface Examination {
  /** True without errors; warnings may be there. */
  readonly ok: boolean
  /** In the order of `Subject`. Never empty. */
  readonly findings: readonly Finding[]
  /** Absent when the store could not be read to its end. */
  readonly proof?: Proof
}

/** What to examine. */
export interface ExamineOptions {
  /** Settings as the server would take them. */
  readonly flags: NonNullable<ConfigSources["flags"]>
  readonly env: NonNullable<ConfigSources["env"]>
  /** Leaves the endpoints alone. */
  readonly isOffline: boolean
}

/** Endpoints that are challenged at the same time. Ours. */
const challengesMax = 16

/** Entries of a log that are looked at for steps of the clock. Ours. */
const clockSamplesMax = 200

/** Dead letters read at once. */
const deadLettersPageMax = 1_000

/** Damage that is named one by one. */
const damageNamedMax = 100

const secondMs = 1_000

/** Examines a data directory. Rejects only for faults of its own. */
export async function examine(options: ExamineOptions): Promise<Examination> {
  const { config, findings } = readSettings(options)
  if (!existsSync(config.data)) {
    return examined([
      ...findings,
      fault(
        "store",
        `There is no data directory ${config.data}.`,
        "Name the one that the server uses with --data or SLUICE_DATA.",
      ),
    ])
  }
  const file = storeFile(config.data)
  if (!existsSync(file)) {
    return examined([
      ...findings,
      fault(
        "store",
        `The data directory ${config.data} holds no store (sluice.db).`,
        "Name the one that the server uses with --data or SLUICE_DATA.",
      ),
    ])
  }
  const store = await readStore(file, config)
  const key = readKey(config, store.seen)
  const disk = await readDisk(config.data, file)
  const endpoints = options.isOffline ? [] : await askEndpoints(config, store.seen, key.secretBox)
  return examined([...findings, ...key.findings, ...store.findings, ...disk, ...endpoints], store.proof)
}

function examined(findings: readonly Finding[], proof?: Proof): Examination {
  return {
    ok: findings.every(({ level }) => level !== "error"),
    findings: findings.toSorted((a, b) => subjects.indexOf(a.subject) - subjects.indexOf(b.subject)),
    ...(proof !== undefined && { proof }),
  }
}

/** Data that has `sluice dev`'s credentials beside it is judged by that posture, all other by the stricter one. */
function postureOf(directory: string): { posture: Posture; credentialsFile: string } {
  const credentialsFile = join(directory, "credentials.json")
  return { posture: existsSync(credentialsFile) ? "dev" : "serve", credentialsFile }
}

/** The settings; when they cannot be read, those that tell at least where the store is and how it is opened. */
function readSettings({ flags, env }: ExamineOptions): {
  config: Config
  findings: readonly Finding[]
} {
  let wrong: ConfigError | undefined
  const load = (sources: Omit<ConfigSources, "posture">): Config | undefined => {
    try {
      const { data } = loadConfig({ posture: "serve", ...sources })
      return loadConfig({ posture: postureOf(data).posture, ...sources })
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      wrong ??= error
      return undefined
    }
  }
  const { SLUICE_DATA, SLUICE_MASTER_KEY } = env
  const { data } = flags
  const config =
    load({ flags, env }) ??
    load({ flags: { data }, env: { SLUICE_DATA, SLUICE_MASTER_KEY } }) ??
    load({ flags: { data }, env: { SLUICE_DATA } }) ??
    loadConfig({ posture: "serve", env: {} })
  const { posture, credentialsFile } = postureOf(config.data)
  if (wrong !== undefined) {
    return {
      config,
      findings: [
        fault(
          "settings",
          wrong.message,
          `No server starts like this. The rest is looked at with the defaults, in ${config.data}.`,
        ),
      ],
    }
  }
  const files = [storeFile(config.data), credentialsFile]
    .filter((path) => existsSync(path))
    .map((path) => ({ path, mode: statSync(path).mode }))
  const why = postureText(posture, credentialsFile)
  return { config, findings: settingsFindings(config, { why, files }) }
}

/** What is needed of the store after it is closed. */
interface SeenStore {
  readonly apps: readonly App[]
  /** Of apps that are not revoked. */
  readonly webhooks: readonly StoredWebhook[]
}

/** Reads the whole store, and says what there is to say of it. */
async function readStore(
  file: string,
  config: Config,
): Promise<{ findings: readonly Finding[]; seen?: SeenStore; proof?: Proof }> {
  try {
    const found = await examineStore(file, (audit, reads) => look(audit, reads, config))
    if (found.kind === "read") return found.seen
    return { findings: [...versionFindings(found.kind, found), ...damageFindings(found.damage)] }
  } catch (error) {
    return { findings: [unreadable(error)] }
  }
}

/** A store that SQLite gives up on, in its own words: the store's error has advice for those who do not know where. */
function unreadable(error: unknown): Finding {
  // SQLite's errors, the store's and the system's have a code; any other is a fault of ours.
  if (!(error instanceof Error && "code" in error)) throw error
  const { message } = error.cause instanceof Error ? error.cause : error
  return fault("store", `The store cannot be read to its end: ${message}.`, restore)
}

const restore =
  "Stop the server, keep a copy of the data directory as it is, and go back to the newest backup that passes."

function damageFindings(damage: readonly string[]): readonly Finding[] {
  // SQLite's own check answers several lines at once, under a title.
  const lines = damage.flatMap((text) => text.split("\n").filter((line) => !line.endsWith(" ***")))
  const named = lines.slice(0, damageNamedMax).map((line) => fault("store", line, restore))
  return lines.length <= damageNamedMax ? named : [...named, fault("store", "There is more damage.")]
}

/** Everything that is seen of the store. Damage that the audit has found may keep the rest from being seen. */
async function look(
  audit: StoreAudit,
  reads: StoreReads,
  config: Config,
): Promise<{ findings: readonly Finding[]; seen?: SeenStore; proof?: Proof }> {
  const whole = storeFindings(audit)
  try {
    const rest = await lookOn(audit, reads, config)
    return { ...rest, findings: [...whole, ...rest.findings] }
  } catch (error) {
    return { findings: [...whole.filter(({ level }) => level !== "ok"), unreadable(error)] }
  }
}

/** Everything that is read after the audit, of the same moment. */
async function lookOn(
  audit: StoreAudit,
  reads: StoreReads,
  config: Config,
): Promise<{ findings: readonly Finding[]; seen: SeenStore; proof: Proof }> {
  const [apps, webhooks] = [await reads.apps(), await reads.allWebhooks()]
  const deliverable = new Set((await reads.allLinks()).map(({ id }) => id))
  const moments: StoredMoment[] = [
    ...apps.map(({ id, createdAtMs }) => ({ what: `app ${id}`, atMs: createdAtMs })),
    ...webhooks.map(({ id, checkedAtMs }) => ({
      what: `the last challenge of webhook ${id}`,
      atMs: checkedAtMs,
    })),
  ]
  const steps: ClockStep[] = []
  for (const log of audit.logs) {
    const times = await sampledTimes(reads, log)
    moments.push(
      ...times.slice(-1).map(({ atMs }) => ({ what: `the newest match of app ${log.appId}`, atMs })),
    )
    steps.push(...stepsBack(log.appId, times))
  }
  const heads = new Map(audit.logs.map(({ appId, head }) => [appId, head]))
  const attempts = new Map<LinkId, AttemptEvidence>()
  const standings: LinkStanding[] = []
  for (const tally of audit.links) {
    const link = await lookAtLink(reads, tally, heads.get(tally.appId) ?? beforeFirstMatch, config)
    attempts.set(tally.linkId, link.evidence)
    moments.push(...link.moments)
    if (deliverable.has(tally.linkId)) standings.push(link.standing)
  }
  const nowMs = clock.nowMs()
  const { proof, findings } = proveUnlessDamaged(audit, attempts)
  return {
    proof,
    seen: { apps, webhooks },
    findings: [
      ...ruleFindings((await reads.allRules()).rules, config),
      ...findings,
      ...deliveryFindings(standings, { nowMs, deadLetterRetentionDays: config.deadLetterRetentionDays }),
      ...clockFindings({ nowMs, moments, steps }),
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

/** A rule that cannot be matched keeps the server from starting. */
function ruleFindings(rules: readonly StoredRule[], { embeddingsUrl }: Config): readonly Finding[] {
  const found = rules.flatMap(({ id, appId, value }) => {
    const parsed = parseRule(value, { lengthMax: Number.POSITIVE_INFINITY, embeddings: true })
    if (!parsed.ok) {
      const { message } = parsed.problems[0] ?? { message: "no reason" }
      return [
        fault("rules", `Rule ${id} of app ${appId} does not parse, so no server starts: ${message}`, restore),
      ]
    }
    if (embeddingsUrl !== undefined || embeddingsIn(parsed.rule).length === 0) return []
    return [
      fault(
        "rules",
        `Rule ${id} of app ${appId} has embedding:, and there is no endpoint for it, so no server starts.`,
        "Set SLUICE_EMBEDDINGS_URL and SLUICE_EMBEDDINGS_MODEL.",
      ),
    ]
  })
  if (found.length === 0) return [good("rules", `${counted(rules.length, "rule")} can be matched.`)]
  const named = found.slice(0, damageNamedMax)
  return found.length === named.length
    ? named
    : [...named, fault("rules", `So it is with ${counted(found.length - named.length, "more rule")}.`)]
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
    // An entry that is lost has no time; the audit has told of it.
    for (const { seq, atMs } of await reads.matches({ appId, after, limit: 1, shape: "core" }))
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

async function lookAtLink(
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
    position < head ? await reads.matches({ appId, after: position, limit: 1, shape: "core" }) : []
  // An entry that is lost has no time; the audit has told of it.
  const waiting = [...retries.map(({ entry }) => entry), ...ahead]
    .map(({ atMs }) => atMs)
    .filter((atMs) => atMs > 0)
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
      ...attempts
        .slice(0, 1)
        .map(({ atMs }) => ({ what: `the newest attempt of webhook ${webhookId}`, atMs })),
      { what: `a failure of webhook ${webhookId}`, atMs: lastDueAtMs - retrySecondsMax * secondMs },
    ],
  }
}

/** The greatest of some numbers that may be many; 0 without any. */
function greatest(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => Math.max(a, b), 0)
}

async function* deadSeqs(
  reads: StoreReads,
  appId: AppId,
  webhookId: WebhookId,
): AsyncGenerator<MatchSeq, void, void> {
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

/** The key, and whether it opens what the store holds sealed. */
function readKey(
  config: Config,
  seen: SeenStore | undefined,
): { readonly findings: readonly Finding[]; readonly secretBox?: SecretBox } {
  let secretBox: SecretBox
  try {
    secretBox = createSecretBox(masterKey(config.data, config.masterKey, random), random)
  } catch (error) {
    // The file may be there and not be this user's to read.
    return { findings: [fault("settings", error instanceof Error ? error.message : String(error))] }
  }
  const sealed = [
    ...(seen?.apps ?? []).map(({ id, consumerSecretSealed }) => ({
      what: `The consumer secret of app ${id}`,
      bytes: consumerSecretSealed,
    })),
    ...(seen?.webhooks ?? []).map(({ id, signingKeySealed }) => ({
      what: `The signing key of webhook ${id}`,
      bytes: signingKeySealed,
    })),
  ]
  const shut = sealed.filter(({ bytes }) => !opens(secretBox, bytes))
  if (shut.length === 0) return { findings: [], secretBox }
  if (shut.length === sealed.length) {
    return {
      findings: [
        fault(
          "settings",
          "The master key is not the one that this store's secrets are sealed under.",
          "Use the key file that belongs to the store, or set SLUICE_MASTER_KEY to its key.",
        ),
      ],
    }
  }
  const findings = shut.map(({ what }) =>
    fault("store", `${what} does not open under the master key that opens the others.`, restore),
  )
  return { findings: findings.slice(0, damageNamedMax), secretBox }
}

function opens(secretBox: SecretBox, sealed: Uint8Array): boolean {
  try {
    secretBox.open(sealed)
    return true
  } catch {
    // A seal that does not open is the answer, not a fault.
    return false
  }
}

async function readDisk(directory: string, file: string): Promise<readonly Finding[]> {
  try {
    const { bavail, blocks, bsize } = await statfs(directory)
    const log = statSync(`${file}-wal`, { throwIfNoEntry: false })
    return diskFindings({
      freeBytes: bavail * bsize,
      totalBytes: blocks * bsize,
      storeBytes: statSync(file).size,
      logBytes: log?.size ?? 0,
    })
  } catch (error) {
    return [warning("disk", `How much room there is cannot be told: ${(error as Error).message}`)]
  }
}

/** Challenges every endpoint that is valid, as the server would, and keeps nothing of it. */
async function askEndpoints(
  { posture }: Config,
  seen: SeenStore | undefined,
  secretBox: SecretBox | undefined,
): Promise<readonly Finding[]> {
  if (seen === undefined || secretBox === undefined) {
    return [warning("endpoints", "They are not challenged: the store, or the secrets in it, cannot be read.")]
  }
  const { apps, webhooks } = seen
  const outbound = createOutbound({ allowPrivate: posture === "dev" })
  const secrets = new Map(apps.map(({ id, consumerSecretSealed }) => [id, consumerSecretSealed]))
  const ask = async (webhook: StoredWebhook): Promise<readonly EndpointAnswer[]> => {
    const sealed = secrets.get(webhook.appId)
    if (!webhook.valid) return [{ kind: "not-valid", webhook }]
    // Told of already, where the key is looked at.
    if (sealed === undefined || !opens(secretBox, sealed)) return []
    const startedAtMs = clock.monotonicMs()
    const endpoint = { url: webhook.url, consumerSecret: secretBox.open(sealed) }
    const result = await challenge({ outbound, random }, endpoint)
    return [{ kind: "challenged", webhook, result, durationMs: clock.monotonicMs() - startedAtMs }]
  }
  const answers: EndpointAnswer[][] = webhooks.map(() => [])
  const turns = webhooks.entries()
  const worker = async (): Promise<void> => {
    for (const [index, webhook] of turns) answers[index] = [...(await ask(webhook))]
  }
  try {
    await Promise.all(Array.from({ length: challengesMax }, worker))
  } finally {
    await outbound.close()
  }
  return endpointFindings(answers.flat())
}
