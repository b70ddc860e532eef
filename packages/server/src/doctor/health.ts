/** Findings about the parts of a server, as functions of what was read there. */
import { instant, minuteMs } from "../model/date-time.ts"
import type { Config } from "../config.ts"
import type { ChallengeResult } from "../control/webhooks/crc-check.ts"
import { counted, fault, good, warning, type Finding } from "./finding.ts"
import type { KnownTime } from "../model/known-time.ts"
import type { AppId, MatchSeq } from "../model/ids.ts"
import type { GapMarker, LinkTally, Retry } from "../model/link.ts"
import type { StoredWebhook } from "../model/webhook.ts"
import { databaseServersIn } from "../runtime/database-url.ts"
import type { DatabaseServer } from "../store/engine.ts"

const mebibyte = 1_048_576
const gibibyte = 1_073_741_824

/** Room on the disk below which the server may stop at any moment. Ours. */
const freeBytesMin = 64 * mebibyte
/** Free space below which a person should act. Ours. */
const freeBytesLow = gibibyte
const freeShareLow = 0.1
/** A write-ahead log that should long have been taken into the store. Ours: SQLite takes it in at a few MiB. */
const logBytesHigh = gibibyte

/** Adds a warning of one subject. */
type Warn = (text: string, advice: string) => void

/** A file of the data directory, and who may do what with it. */
export interface DataFile {
  readonly path: string
  readonly mode: number
}

/** Where most clouds have their metadata service. Source: the manuals of AWS, Google Cloud and Azure. */
const metadataAddress = "169.254.169.254"
const metadataPorts = [80, 443]

/** Settings that were read without complaint: why they are taken as they are, and which are not safe. */
export function settingsFindings(
  config: Config,
  { why, files }: { readonly why: string; readonly files: readonly DataFile[] },
): readonly Finding[] {
  const unsafe: Finding[] = []
  const warn: Warn = (text, advice) => void unsafe.push(warning("settings", text, advice))
  if (config.posture === "dev" && !isLoopback(config.host)) {
    warn(
      `host is ${config.host}: \`sluice dev\` would let everyone who reaches this machine send posts and ` +
        "have it call private addresses.",
      "Leave host at 127.0.0.1, or run `sluice serve`.",
    )
  }
  if (metadataPorts.some((port) => config.webhookAllow?.allowsAddress(metadataAddress, port) === true)) {
    warn(
      `webhookAllow lets every app send requests to ${metadataAddress}, where clouds give out this machine's credentials.`,
      "Name smaller networks, or names.",
    )
  }
  if (config.embeddingsUrl !== undefined && config.embeddingsKey !== undefined) {
    const url = new URL(config.embeddingsUrl)
    if (url.protocol === "http:" && !isLoopback(url.hostname)) {
      warn(`embeddingsKey goes to ${url.host} in the clear.`, "Give embeddingsUrl with https, or leave the key out.")
    }
  }
  if (
    config.database !== undefined &&
    databaseServersIn(config.database).urls.some((url) => isInTheClear(new URL(url)))
  ) {
    warn(
      "database is on another machine, and its URL does not ask for TLS: posts and passwords go there in the clear.",
      "Add sslmode=verify-full (and sslrootcert, for an authority of your own) to the URL.",
    )
  }
  const triedSeconds = secondsTried(config)
  if (triedSeconds < shortScheduleSeconds) {
    warn(
      `deliveryAttemptsMax is ${config.deliveryAttemptsMax}: a match is given up after about ` +
        `${duration(triedSeconds * 1_000)} of failures.`,
      "Raise deliveryAttemptsMax or retrySecondsMax.",
    )
  }
  if (config.crashPoint !== undefined) {
    warn(`SLUICE_CRASH_POINT is set: the server kills itself at ${config.crashPoint}.`, "Unset it: it is for tests.")
  }
  for (const { path, mode } of files) {
    if ((mode & 0o077) !== 0) {
      warn(`Others may read or change ${path}.`, `Make it yours alone: chmod go= ${path}`)
    }
  }
  return [good("settings", `Every setting can be read. ${why}`), ...unsafe]
}

/** A schedule that is spent sooner than people notice. Ours. */
const shortScheduleSeconds = 600

/** How long a match is tried at least before it is given up: half of each doubling wait is chance. */
function secondsTried({ deliveryAttemptsMax, retrySecondsMin, retrySecondsMax }: Config): number {
  let seconds = 0
  for (let failures = 1; failures < deliveryAttemptsMax; failures += 1) {
    seconds += Math.min(retrySecondsMin * 2 ** (failures - 1), retrySecondsMax) / 2
    if (seconds >= shortScheduleSeconds) break
  }
  return seconds
}

/** Whether a connection URI leads to another machine and leaves TLS to chance. Source: PostgreSQL, "SSL Support". */
function isInTheClear({ hostname, searchParams }: URL): boolean {
  const host = searchParams.get("host") ?? hostname
  if (host === "" || host.startsWith("/") || isLoopback(host)) return false
  return ["", "disable", "allow", "prefer"].includes(searchParams.get("sslmode") ?? "")
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || host.startsWith("127.")
}

/** How a link stands, beside its tally. */
export interface LinkStanding {
  readonly tally: LinkTally
  readonly head: MatchSeq
  /** Oldest first. */
  readonly gaps: readonly GapMarker[]
  readonly retries: readonly Retry[]
  /** When the oldest match was appended that is retried or ahead of the cursor; absent when there is none. */
  readonly oldestAtMs?: number
}

/** A match that waits no longer than this is on its way. Ours. */
const waitMsMax = minuteMs

/** Gap markers that are named one by one. */
const namedGapsMax = 3

/** What links have not delivered, of apps that are not revoked. */
export function deliveryFindings(
  links: readonly LinkStanding[],
  { nowMs, deadLetterRetentionDays }: { readonly nowMs: number; readonly deadLetterRetentionDays: number },
): readonly Finding[] {
  const found: Finding[] = []
  const warn: Warn = (text, advice) => void found.push(warning("deliveries", text, advice))
  for (const link of links) {
    warnOfLag(link, nowMs, warn)
    warnOfDeadLetters(link, deadLetterRetentionDays, warn)
    warnOfGaps(link, warn)
  }
  if (found.length > 0) return found
  return [
    good(
      "deliveries",
      links.length === 0
        ? "There are no links, so nothing is to be delivered."
        : `${counted(links.length, "link")}: nothing waits, nothing is given up, nothing was missed.`,
    ),
  ]
}

function warnOfLag({ tally, head, retries, oldestAtMs }: LinkStanding, nowMs: number, warn: Warn): void {
  const lag = head - tally.position
  const failing = retries.filter(({ failures }) => failures > 0)
  const waitedMs = oldestAtMs === undefined ? 0 : nowMs - oldestAtMs
  if (lag > 0 && waitedMs > waitMsMax) {
    warn(
      `The link to webhook ${tally.webhookId} is ${counted(lag, "match", "matches")} behind.` +
        ` The oldest that is not delivered has waited for ${duration(waitedMs)}.`,
      "Is the server running? `sluice links status` shows why, " +
        `\`sluice links attempts ${tally.webhookId}\` what the endpoint answered.`,
    )
  }
  if (failing.length > 0) {
    const most = failing.reduce((max, { failures }) => Math.max(max, failures), 0)
    warn(
      `${counted(failing.length, "match", "matches")} of webhook ${tally.webhookId} failed and ` +
        `${failing.length === 1 ? "is" : "are"} tried again; at most ${counted(most, "failure")} so far.`,
      `\`sluice links attempts ${tally.webhookId}\` shows what went wrong.`,
    )
  }
}

function warnOfDeadLetters({ tally }: LinkStanding, retentionDays: number, warn: Warn): void {
  const { webhookId, deadLetters, expired } = tally
  if (deadLetters > 0) {
    warn(
      `${counted(deadLetters, "dead letter")} of webhook ${webhookId}.`,
      `See them: sluice dead-letters list --webhook ${webhookId}; ` +
        `send them again: sluice dead-letters redeliver --all --webhook ${webhookId}`,
    )
  }
  if (expired > 0) {
    warn(
      `${counted(expired, "dead letter")} of webhook ${webhookId} ${expired === 1 ? "was" : "were"} never sent again ` +
        `and ${expired === 1 ? "is" : "are"} gone.`,
      `deadLetterRetentionDays, now ${retentionDays}, says how long they are kept.`,
    )
  }
}

function warnOfGaps({ tally, gaps }: LinkStanding, warn: Warn): void {
  if (tally.missed === 0) return
  const named = gaps.slice(-namedGapsMax).map(({ from, to }) => (from === to ? `${from}` : `${from} to ${to}`))
  const more = gaps.length > named.length ? `, and ${gaps.length - named.length} gaps before` : ""
  warn(
    `Retention took ${counted(tally.missed, "match", "matches")} of webhook ${tally.webhookId} ` +
      `before they were sent: ${named.join(", ")}${more}.`,
    "They cannot be sent any more. undeliveredRetentionHours says how long matches wait for an endpoint.",
  )
}

/** A moment that the store holds, and of what. */
export interface StoredMoment {
  readonly what: string
  readonly atMs: number
}

/** Two entries of a log, one after the other, of which the later one was appended at an earlier time. */
export interface ClockStep {
  readonly appId: AppId
  readonly after: MatchSeq
  readonly before: MatchSeq
  readonly backMs: number
}

/** The machine's clock against what the store holds. */
export function clockFindings(found: {
  readonly nowMs: number
  readonly moments: readonly StoredMoment[]
  readonly steps: readonly ClockStep[]
  /** What retention saw of the time last. */
  readonly known?: KnownTime | undefined
}): readonly Finding[] {
  const { nowMs, moments, steps, known } = found
  const newest = moments.reduce<StoredMoment | undefined>(
    (a, b) => (a === undefined || b.atMs > a.atMs ? b : a),
    undefined,
  )
  const aheadMs = newest === undefined ? 0 : newest.atMs - nowMs
  const jumped = known === undefined ? [] : jumpFindings(known, nowMs)
  const stepped = steps
    .filter(({ backMs }) => backMs > minuteMs)
    .map(({ appId, after, before, backMs }) =>
      warning(
        "clock",
        `The clock was set back by ${duration(backMs)} between the matches ${after} and ${before} of app ${appId}.`,
        "Backfill, replays and retention find matches by time, and may take the wrong ones around there.",
      ),
    )
  if (newest !== undefined && aheadMs > minuteMs) {
    return [
      fault(
        "clock",
        `The clock says ${instant(nowMs)}, and ${newest.what} is from ${instant(newest.atMs)}, ` +
          `${duration(aheadMs)} later.`,
        "Set the clock right, and keep it so with NTP; until then retention and challenges are late.",
      ),
      ...stepped,
    ]
  }
  if (stepped.length > 0 || jumped.length > 0) return [...jumped, ...stepped]
  const latest = newest === undefined ? "" : `; the newest time in the store is ${instant(newest.atMs)}`
  return [good("clock", `The clock says ${instant(nowMs)}${latest}.`)]
}

/** A clock that is further ahead has jumped, as `retention-time.ts` has it. */
const jumpMsMin = 60 * minuteMs

/** No server ran before 2000: a time that is believed and earlier began with a damaged record (`noKnownTime`). */
const beginMs = Date.UTC(2000, 0)

/** Whether retention goes by the clock, judging by what it saw last. */
function jumpFindings({ believedMs, clockMs }: KnownTime, nowMs: number): readonly Finding[] {
  if (believedMs < beginMs) {
    return [
      warning(
        "clock",
        "The store does not know when it was served last, so retention deletes nothing until the clock has been steady " +
          "for an hour.",
        "If the clock is wrong, set it right. If it is right, wait for that hour, or start with clockJump: believe.",
      ),
    ]
  }
  const believed = `Retention deletes by ${instant(believedMs)}`
  if (clockMs - believedMs > jumpMsMin) {
    return [
      warning(
        "clock",
        `${believed}, since the clock jumped ahead by ${duration(clockMs - believedMs)}.`,
        "If the clock is wrong, set it right. If it is right, wait until it has been steady, or start with clockJump: believe.",
      ),
    ]
  }
  if (nowMs - believedMs <= jumpMsMin) return []
  return [
    good(
      "clock",
      `The clock says ${instant(nowMs)}. No server has run since ${instant(believedMs)}: ` +
        "the next one deletes nothing by the clock until that has been steady for an hour.",
    ),
  ]
}

/** The disk under the data directory, in bytes. */
export interface DiskRoom {
  readonly freeBytes: number
  readonly totalBytes: number
  readonly storeBytes: number
  /** Of the write-ahead log beside the store. */
  readonly logBytes: number
}

/** Whether there is room to go on. */
export function diskFindings(room: DiskRoom): readonly Finding[] {
  const { freeBytes, totalBytes, storeBytes, logBytes } = room
  const text =
    `${size(freeBytes)} of ${size(totalBytes)} are free; ` +
    `the store takes ${size(storeBytes)} and its log ${size(logBytes)}.`
  const makeRoom = "Make room, or lower matchRetentionHours and postRetentionDays: without room posts are refused."
  const found =
    freeBytes < freeBytesMin
      ? fault("disk", text, makeRoom)
      : freeBytes < freeBytesLow || freeBytes < totalBytes * freeShareLow
        ? warning("disk", text, makeRoom)
        : good("disk", text)
  if (logBytes < logBytesHigh) return [found]
  return [
    found,
    warning(
      "disk",
      `The write-ahead log has grown to ${size(logBytes)}: something reads the store and does not end.`,
      "Look for programs that have sluice.db open; a restart of the server takes the log in.",
    ),
  ]
}

/** What came of one webhook's challenge; one that is not valid is not challenged. */
export type EndpointAnswer =
  | { readonly kind: "not-valid"; readonly webhook: StoredWebhook }
  | {
      readonly kind: "challenged"
      readonly webhook: StoredWebhook
      readonly result: ChallengeResult
      readonly durationMs: number
    }

/** One finding for each endpoint. An endpoint belongs to an app, so no fault of it is an error here. */
export function endpointFindings(answers: readonly EndpointAnswer[]): readonly Finding[] {
  if (answers.length === 0) return [good("endpoints", "There are no webhooks.")]
  return answers.map((answer) => {
    const { id, url, invalidReason = "failed its challenge" } = answer.webhook
    const name = `Webhook ${id}`
    // Last, since it may be long.
    const place = `It is at ${url}`
    if (answer.kind === "not-valid") {
      return warning(
        "endpoints",
        `${name} is not valid, so nothing is sent to it: the endpoint ${invalidReason}. ${place}`,
        `When it is mended: sluice webhooks validate ${id}`,
      )
    }
    const { result, durationMs } = answer
    if (result.kind === "valid") {
      return good("endpoints", `${name} answered its challenge within ${duration(durationMs)}. ${place}`)
    }
    return warning(
      "endpoints",
      `${name} failed its challenge: the endpoint ${result.detail}. ${place}`,
      result.kind === "invalid"
        ? "The next challenge that the server sends makes it invalid. Does it have the app's present consumer secret or client secret?"
        : "Matches wait for it. Is it up, and reachable from this machine?",
    )
  })
}

/** The findings about the server of a database, whose name `place` goes behind "the" in a sentence. */
export function databaseFindings(place: string, server: DatabaseServer): readonly Finding[] {
  const { version, synchronousCommit, faults, warnings } = server
  const noServer = "No server starts on it like this."
  const found = [
    ...faults.map((text) => fault("store", `The ${place} ${text}`, noServer)),
    ...warnings.map(({ text, advice }) => warning("store", `The ${place} ${text}`, advice)),
  ]
  const sound = `The ${place} is PostgreSQL ${version}, with page checksums and synchronous_commit = ${synchronousCommit}.`
  return found.length === 0 ? [good("store", sound)] : found
}

/** The findings about a store of another version. */
export function versionFindings(
  kind: "older" | "newer",
  { version, knownVersion }: { readonly version: number; readonly knownVersion: number },
): readonly Finding[] {
  const text = `The store has version ${version}, and this program works with version ${knownVersion}`
  return kind === "newer"
    ? [fault("store", `${text}: it was made by a newer Sluice.`, "Use that one, or another store.")]
    : [
        warning(
          "store",
          `${text}: the next start of the server takes it there. Until then nothing more can be proved.`,
          "Back it up, start the server, and run this again.",
        ),
      ]
}

/** A time span in the two units that matter: `1.2 s`, `3 min`, `2 h 5 min`, `4 days 3 h`. */
export function duration(ms: number): string {
  const seconds = ms / 1_000
  if (seconds < 60) return `${Math.max(Math.round(seconds * 10) / 10, 0.1)} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h ${minutes % 60} min`
  return `${counted(Math.floor(hours / 24), "day")} ${hours % 24} h`
}

/** A number of bytes in the largest unit that leaves at least one. */
export function size(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"] as const
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1)
  const value = bytes / 1_024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}
