/** Responses that are read whole, under the guard of webhooks. */
import { addAbortSignal } from "node:stream"
import type { OutboundPosture } from "../../runtime/outbound/outbound-address.ts"
import { openStreamedResponse, type StreamedResponse } from "../../runtime/outbound/streamed-response.ts"
import { checkDestination, connectionFailure } from "./refusals.ts"

/** A response, decompressed. */
export interface WholeResponse extends Pick<StreamedResponse, "status" | "header"> {
  readonly body: Buffer
}

/** How a response is asked for. */
export interface WholeRequest {
  /** May hold secrets. */
  readonly headers: Readonly<Record<string, string>>
  /** Addresses that may be connected to. */
  readonly posture: OutboundPosture
  /** Most bytes of the body. */
  readonly bytesMax: number
}

/** Longest time of a request. Ours. */
const requestMsMax = 30_000

/** The response to a GET. Throws an `AdvisedError` for an address, and other errors of the network with the host. */
export async function wholeResponse(url: URL, request: WholeRequest, signal: AbortSignal): Promise<WholeResponse> {
  const { posture, bytesMax } = request
  checkDestination(url, posture)
  const late = AbortSignal.timeout(requestMsMax)
  const either = AbortSignal.any([signal, late])
  const headers = { "accept-encoding": "gzip", ...request.headers }
  try {
    await using response = await openStreamedResponse({ method: "GET", url: url.href, headers, posture }, either)
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of addAbortSignal(either, response.body) as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length > bytesMax) throw new Error(`${url.host} has answered with more than ${bytesMax} bytes.`)
    }
    return { status: response.status, header: (name) => response.header(name), body: Buffer.concat(chunks) }
  } catch (error) {
    if (late.aborted) {
      throw new Error(`${url.host} has not answered within ${requestMsMax / 1_000} s.`, { cause: error })
    }
    throw connectionFailure(url.host, error)
  }
}
