/** Settings that are not safe. */
import type { Config } from "../../config.ts"
import { databaseServersIn } from "../../runtime/database-url.ts"
import { good, warning, type Finding } from "../finding.ts"
import { duration } from "./quantities.ts"

/** A file of the data directory, and who may do what with it. */
export interface DataFile {
  readonly path: string
  readonly mode: number
}

/** Address of most clouds' metadata services. Source: the manuals of AWS, Google Cloud and Azure. */
const metadataAddress = "169.254.169.254"
const metadataPorts = [80, 443]

/** Findings about valid settings: the reason for the posture, and the unsafe ones. */
export function settingsFindings(
  config: Config,
  { why, files }: { readonly why: string; readonly files: readonly DataFile[] },
): readonly Finding[] {
  const unsafe: Finding[] = []
  const warn = (text: string, advice: string) => void unsafe.push(warning("settings", text, advice))
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

/** The shortest time over which a match is tried before it is given up: half of each doubling wait is random. */
function secondsTried({ deliveryAttemptsMax, retrySecondsMin, retrySecondsMax }: Config): number {
  let seconds = 0
  for (let failures = 1; failures < deliveryAttemptsMax; failures += 1) {
    seconds += Math.min(retrySecondsMin * 2 ** (failures - 1), retrySecondsMax) / 2
    if (seconds >= shortScheduleSeconds) break
  }
  return seconds
}

/** True if a connection URI leads to another machine without requiring TLS. Source: PostgreSQL, "SSL Support". */
function isInTheClear({ hostname, searchParams }: URL): boolean {
  const host = searchParams.get("host") ?? hostname
  if (host === "" || host.startsWith("/") || isLoopback(host)) return false
  return ["", "disable", "allow", "prefer"].includes(searchParams.get("sslmode") ?? "")
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" || host.startsWith("127.")
}
