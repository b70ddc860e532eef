/**
 * Requests for JSON to an instance, under the guard of webhooks. The token goes into a header, never into an address.
 *
 * Rate limits are obeyed: while the headers of the instance say that no request is left, the next one waits.
 */
import type { Clock } from "../../runtime/clock.ts"
import type { OutboundPosture } from "../../runtime/outbound/outbound-address.ts"
import { retryAfterOf, waitMsOf } from "../positioned/refusals.ts"
import { wholeResponse, type WholeResponse } from "../positioned/whole-response.ts"
import { InstanceRefused } from "./instance-refusals.ts"

/** Most bytes of a response. Ours: 40 statuses of 200 KB. */
const responseBytesMax = 8 * 1024 * 1024

/** Dependencies of the requests. */
export interface InstanceRequestsDeps {
  readonly clock: Clock
  /** Addresses that may be connected to. */
  readonly posture: OutboundPosture
  /** The address of the API, without a slash at the end. */
  readonly url: string
  readonly token: string | undefined
}

/** Requests to one instance, one at a time. */
export class InstanceRequests {
  readonly #deps: InstanceRequestsDeps
  /** When the next request may be made, Unix ms. */
  #allowedAtMs = 0

  constructor(deps: InstanceRequestsDeps) {
    this.#deps = deps
  }

  /**
   * The body of a response, parsed. Waits before it asks while no request is allowed. Throws `InstanceRefused` for another
   * status, and other errors of the network as they are.
   */
  async get(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<unknown> {
    const { clock, posture, url: base, token } = this.#deps
    await clock.sleep(Math.max(0, this.#allowedAtMs - clock.nowMs()), signal)
    signal.throwIfAborted()
    const url = new URL(base + path)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const headers = { accept: "application/json", ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    const response = await wholeResponse(url, { headers, posture, bytesMax: responseBytesMax }, signal)
    const { status } = response
    const text = response.body.toString("utf8")
    this.#heedLimits(response)
    if (status !== 200) {
      const names = ["retry-after", "x-ratelimit-reset"]
      const retryAfter = retryAfterOf(status, Object.fromEntries(names.map((name) => [name, response.header(name)])))
      throw new InstanceRefused({ host: url.host, status, retryAfter, body: text }, clock.nowMs())
    }
    try {
      return JSON.parse(text) as unknown
    } catch (error) {
      throw new Error(`${url.host} has answered ${url.pathname} with a text that is not JSON.`, { cause: error })
    }
  }

  /** Source: mastodon/documentation, "rate limits". */
  #heedLimits(response: WholeResponse): void {
    const reset = response.header("x-ratelimit-reset")
    if (response.header("x-ratelimit-remaining") !== "0" || reset === undefined) return
    const nowMs = this.#deps.clock.nowMs()
    this.#allowedAtMs = nowMs + waitMsOf(reset, nowMs)
  }
}
