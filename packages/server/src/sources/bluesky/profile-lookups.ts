/**
 * Handles and profiles of authors, from an AppView of Bluesky: events of posts name an author by DID alone.
 *
 *     author of a frame ─► asked before? ─► waits ─► 25 in one request, beside the frames ─► records, taken before the next frame
 *
 * No post waits for an answer: the first ones of an author have the DID as `username`. Sluice asks
 * again with an author's next post when the AppView has not answered.
 *
 * Source: the lexicon `app.bsky.actor.getProfiles`.
 */
import type { Clock } from "../../runtime/clock.ts"
import type { OutboundPosture } from "../../runtime/outbound/outbound-address.ts"
import { AdvisedError } from "../positioned/positioned-source.ts"
import { SourceRefused } from "../positioned/refusals.ts"
import { wholeResponse } from "../positioned/whole-response.ts"
import type { SourceNotice } from "../source.ts"

/** Dependencies of the look-ups. */
export interface ProfileLookupsDeps {
  readonly clock: Clock
  /** Addresses that may be connected to. */
  readonly posture: OutboundPosture
  /** Address of the AppView, without a path. */
  readonly url: string
  /** Authors that have been asked for: kept from one connection to the next. */
  readonly asked: Set<string>
  /** Says that the AppView does not answer; without a notice, that it does again. */
  readonly notice: (notice?: SourceNotice) => void
}

/** Authors of one request. Source: the lexicon. */
const didsMax = 25

/** Time between two requests. Ours. */
const betweenMs = 250

/** Time until the next request after one that failed. Ours. */
const failedMs = 30_000

/** Authors that wait, and authors that have been asked for: those above come again with their next post. Ours. */
const waitingMax = 10_000
const askedMax = 100_000

/** Most bytes of a response. Ours: 25 profiles of some KB. */
const responseBytesMax = 2 * 1024 * 1024

/** Bytes of a frame in which its author stands. Ours: hosts write it first. */
const headBytes = 512

/** Looks up the authors of the frames of one connection. Disposing of it gives up what is asked. */
export class ProfileLookups implements AsyncDisposable {
  readonly #deps: ProfileLookupsDeps
  readonly #end = new AbortController()
  readonly #waiting = new Set<string>()
  #found: Uint8Array[] = []
  #asking: Promise<void> | undefined

  constructor(deps: ProfileLookupsDeps) {
    this.#deps = deps
  }

  /** Notes the author of a frame. */
  note(frame: Buffer): void {
    const [, did] = /"did":"(did:[a-z]+:[A-Za-z0-9._:%-]{1,2000})"/.exec(frame.toString("latin1", 0, headBytes)) ?? []
    if (did === undefined || this.#deps.asked.has(did) || this.#waiting.size >= waitingMax) return
    this.#waiting.add(did)
    this.#asking ??= this.#ask()
  }

  /** Records of the authors that were found since the last call. */
  take(): readonly Uint8Array[] {
    return this.#found.splice(0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort()
    await this.#asking
  }

  async #ask(): Promise<void> {
    const { clock, notice } = this.#deps
    const { signal } = this.#end
    while (this.#waiting.size > 0 && !signal.aborted) {
      const dids = [...this.#waiting].slice(0, didsMax)
      for (const did of dids) this.#waiting.delete(did)
      try {
        this.#found.push(...(await this.#request(dids)))
        this.#remember(dids)
        notice()
        await clock.sleep(betweenMs, signal)
      } catch (error) {
        if (signal.aborted) break
        const { waitMs = 0, advice } = error instanceof AdvisedError ? error : {}
        const message = `The handles of authors cannot be looked up: ${(error as Error).message}`
        notice({ message, ...(advice !== undefined && { advice }) })
        await clock.sleep(Math.max(waitMs, failedMs), signal)
      }
    }
    this.#asking = undefined
  }

  async #request(dids: readonly string[]): Promise<readonly Uint8Array[]> {
    const { clock, posture, url: base } = this.#deps
    const url = new URL("/xrpc/app.bsky.actor.getProfiles", base)
    for (const did of dids) url.searchParams.append("actors", did)
    const request = { headers: { accept: "application/json" }, posture, bytesMax: responseBytesMax }
    const { status, header, body } = await wholeResponse(url, request, this.#end.signal)
    if (status === 200) return recordsOf(body, url.host)
    throw new SourceRefused({ host: url.host, status, retryAfter: header("retry-after"), body: "" }, clock.nowMs())
  }

  /** Remembers who was asked for. The oldest go first. */
  #remember(dids: readonly string[]): void {
    const { asked } = this.#deps
    for (const did of dids) asked.add(did)
    for (const did of asked) {
      if (asked.size <= askedMax) break
      asked.delete(did)
    }
  }
}

/** A record of each profile, in the form of an event, for the converter. */
function recordsOf(body: Buffer, host: string): readonly Uint8Array[] {
  let profiles: unknown
  try {
    ;({ profiles } = JSON.parse(body.toString("utf8")) as { profiles?: unknown })
  } catch (error) {
    throw new Error(`${host} has answered with a text that is not JSON.`, { cause: error })
  }
  if (!Array.isArray(profiles)) throw new Error(`${host} has answered without profiles.`)
  return (profiles as readonly unknown[]).map((view) => {
    const { did } = (view ?? {}) as { readonly did?: unknown }
    return Buffer.from(JSON.stringify({ did, kind: "profile", profile: view }))
  })
}
