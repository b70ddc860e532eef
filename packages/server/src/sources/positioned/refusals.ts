/** Why a source cannot be read, each with what the operator can do. */
import type { Readable } from "node:stream"
import { isDateTime } from "../../model/date-time.ts"
import { AddressRefused, destinationFault, type OutboundPosture } from "../../runtime/outbound/outbound-address.ts"
import { retryAfterMs } from "../../runtime/outbound/retry-after.ts"
import { AdvisedError } from "./positioned-source.ts"

/** A server's answer that holds no records. */
export interface Refusal {
  /** Host and port. */
  readonly host: string
  readonly status: number
  /** The header `retry-after`, or a time as RFC 3339 has it. */
  readonly retryAfter?: string | undefined
  /** The beginning of the body as text, at most 4 KiB. */
  readonly body: string
}

/** Most bytes of a refusing response that are read. Ours. */
const refusalBytesMax = 4_096

/** Longest wait for them. Ours: as long as a connection may take. */
const refusalMsMax = 10_000

/** Longest wait that a `retry-after` header may ask for. Ours. */
const retryAfterMsMax = 3_600_000

/** A server has answered, and not with records. */
export class SourceRefused extends AdvisedError {
  readonly status: number
  readonly #body: string

  constructor({ host, status, retryAfter, body }: Refusal, nowMs: number) {
    const waitMs = retryAfter === undefined ? 0 : waitMsOf(retryAfter, nowMs)
    const wait = waitMs === 0 ? "" : ` It asks to wait ${Math.ceil(waitMs / 1_000)} s.`
    super(`${host} has answered with the status ${status}.${wait}`, adviceOn(status), { waitMs })
    this.status = status
    this.#body = body
  }

  /** The beginning of the body as text, at most 4 KiB. It is no property of its own: a log shows those. */
  get body(): string {
    return this.#body
  }
}

/** The beginning of the body of a refusal as text, as far as it comes in time. Ends the body. Never rejects. */
export async function refusalBody(body: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  const late = setTimeout(() => body.destroy(), refusalMsMax)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length >= refusalBytesMax) break
    }
  } catch {
    // The part that has come tells enough.
  } finally {
    clearTimeout(late)
  }
  return Buffer.concat(chunks).toString("utf8", 0, Math.min(length, refusalBytesMax))
}

/**
 * The header that says when to ask again: `retry-after`, or for too many requests the time in `x-ratelimit-reset`, which some
 * servers write as RFC 3339 does, and others in ways that differ.
 */
export function retryAfterOf(
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): string | undefined {
  const { "retry-after": retryAfter, "x-ratelimit-reset": reset } = headers
  if (typeof retryAfter === "string") return retryAfter
  return status === 429 && typeof reset === "string" && isDateTime(reset) ? reset : undefined
}

/** The wait that is asked for, by `retry-after` or a time of RFC 3339, within its bound; 0 for any other text. */
export function waitMsOf(asked: string, nowMs: number): number {
  const ms = retryAfterMs(asked, nowMs) ?? (isDateTime(asked) ? Date.parse(asked) - nowMs : 0)
  return Math.min(retryAfterMsMax, Math.max(0, ms))
}

const adviceByStatus: Readonly<Record<number, string>> = {
  400: "Compare the address, the headers and the position with the documentation of the source.",
  401: "Check the token in the headers of the source: it is missing, wrong or has expired.",
  403: "Check what the token in the headers of the source may read.",
  404: "Check the address of the source: nothing is there.",
  405: "Check whether the source is to be asked by GET or POST.",
  410: "The source no longer has that position, or is gone for good. Rewind it to a position that it has, or remove it.",
  426: "The address does not speak this kind of connection. Check the type of the source.",
  429: "The source limits how often it may be asked. Raise pollSeconds, or use a token with a higher limit.",
}

function adviceOn(status: number): string {
  const advice = adviceByStatus[status]
  if (advice !== undefined) return advice
  if (status >= 300 && status < 400) return "Redirects are not followed. Write the address that it leads to."
  if (status >= 500) return "The fault is at the source. Sluice tries again by itself."
  return "Compare the address and the headers with the documentation of the source."
}

const allowAdvice = "If the address is meant, name it in SLUICE_SOURCE_ALLOW, such as 10.0.0.0/8 or feed.lan:8080."

/** Refuses a URL, of http or of WebSockets, that may not be connected to. */
export function checkDestination(url: URL, posture: OutboundPosture): void {
  const fault = destinationFault(new URL(url.href.replace(/^ws/, "http")), posture)
  if (fault === undefined) return
  const words = url.protocol.startsWith("ws")
    ? fault.replace(/^begins with http:; only https\b/, "begins with ws:; only wss")
    : fault
  throw new AdvisedError(`The address of the source ${words}.`, allowAdvice)
}

/** The failure of a connection, with advice where the address was the reason. */
export function connectionFailure(host: string, error: unknown): Error {
  if (error instanceof AddressRefused)
    return new AdvisedError(`${host} is not connected to: ${error.message}.`, allowAdvice)
  return error instanceof Error ? error : new Error(String(error))
}
