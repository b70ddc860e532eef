/**
 * Forwards a delivery unchanged to a program under test, and returns its response.
 *
 * Source of the headers that are not forwarded: RFC 9110, 7.6.1, "Connection", hop-by-hop fields.
 */
import { messageOf } from "../process/failure.ts"

/** A delivery to forward. */
interface Forwarded {
  readonly headers: Headers
  /** The received text, sent as UTF-8. */
  readonly body: string
}

/** The response of the target, or a substitute. */
export interface TargetResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array<ArrayBuffer>
  /** Why the target did not respond; absent when it did. */
  readonly fault?: string
}

/** Longest wait for the target: less than the server's 10 s, so that the server gets a response. Ours. */
const targetMsMax = 9_000

/** Largest response to return: Sluice reads no more. */
const responseBytesMax = 65_536

const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

/** Sends it to `url`. Never rejects: an unreachable target is a 502, a slow one a 504. */
export async function forward(url: string, { headers, body }: Forwarded, msMax = targetMsMax): Promise<TargetResponse> {
  const signal = AbortSignal.timeout(msMax)
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: passedOn(headers),
      body,
      redirect: "manual",
      signal,
    })
    const bytes = await bytesOf(response)
    if (bytes === undefined) return inPlace(502, `${url} responded with more than ${String(responseBytesMax)} bytes`)
    return { status: response.status, headers: passedBack(response.headers), body: bytes }
  } catch (error) {
    if (signal.aborted) return inPlace(504, `${url} did not respond within ${String(msMax / 1000)} s`)
    const cause = error instanceof Error ? error.cause : undefined
    return inPlace(502, `${url} cannot be reached: ${messageOf(cause ?? error)}`)
  }
}

function inPlace(status: number, fault: string): TargetResponse {
  return { status, headers: {}, body: new Uint8Array(), fault }
}

function passedOn(headers: Headers): [string, string][] {
  const dropped = namedByConnection(headers.get("connection") ?? "")
  return Array.from(headers).filter(([name]) => !hopByHop.has(name) && !dropped.has(name))
}

/** Headers between the server and this listener only. */
function namedByConnection(value: string): ReadonlySet<string> {
  return new Set(value.split(",").map((name) => name.trim().toLowerCase()))
}

/** `fetch` has decoded the body. */
function passedBack(headers: Headers): Record<string, string> {
  const kept = Array.from(headers).filter(([name]) => !hopByHop.has(name) && name !== "content-encoding")
  return Object.fromEntries(kept)
}

/** The body; `undefined` when it is too large. */
async function bytesOf({ body }: Response): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let byteCount = 0
  for await (const chunk of body ?? []) {
    byteCount += chunk.length
    if (byteCount > responseBytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
