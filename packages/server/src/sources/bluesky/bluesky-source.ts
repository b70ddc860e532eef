/**
 * Bluesky's Jetstream as a source: events over a WebSocket, read behind a time.
 *
 *     hosts in turn ─► connect 5 s before the position ─► frames ─► sink
 *          ▲                                               │
 *          └── closed, silent, or sent away    ◄─────────────┘
 *
 * The position is the time of the last event in microseconds, which every host of either endpoint understands. Hosts differ
 * by some seconds, and an event may come late, so each connection begins five seconds before it: events that come again are
 * known by their names. Source: bluesky-social/jetstream, docs/README.md.
 */
import { noticeOf, placeOf, positionFrame, type Notice } from "../../conversion/bluesky/frame.ts"
import { rewindUs } from "../../conversion/bluesky/overlap.ts"
import type { ConverterSettings } from "../../conversion/converters.ts"
import { isDid } from "../../conversion/foreign-ids.ts"
import type { Clock } from "../../runtime/clock.ts"
import type { OutboundPosture } from "../../runtime/outbound/outbound-address.ts"
import { AdvisedError, type RecordReader, type RecordSink } from "../positioned/positioned-source.ts"
import { SourceRefused } from "../positioned/refusals.ts"
import { openWebSocket, type ReadableWebSocket, type WebSocketMessage } from "../positioned/web-socket.ts"
import { isLanguage } from "../../conversion/post-language.ts"
import { SettingsReader, type Environment, type SourceMembers } from "../settings.ts"
import type { SourceNotice } from "../source.ts"
import { decompressedFrame, dictionaryOf, type FrameDictionary } from "./frame-dictionary.ts"
import { ProfileLookups } from "./profile-lookups.ts"

/** Collections whose records a source can take. */
const collections = ["app.bsky.feed.post", "app.bsky.feed.repost", "app.bsky.actor.profile"] as const

type Collection = (typeof collections)[number]

/** Settings of a source of Bluesky. */
export interface BlueskySourceSettings {
  /** Endpoints of Jetstream, in the order in which they are tried. */
  readonly urls: readonly string[]
  readonly collections: readonly Collection[]
  /** Authors whose records are taken; all when empty. */
  readonly dids: readonly string[]
  /** Languages of posts; all when empty. */
  readonly languages: readonly string[]
  readonly givesMediaUrls: boolean
  /** Whether hosts compress their frames with a dictionary, which those of `subscribeEvents` can. */
  readonly isCompressed: boolean
  /** Address of an AppView that knows handles and profiles; absent when authors are named by events alone. */
  readonly profilesUrl: string | undefined
}

/** The public hosts. Source: bluesky-social/jetstream, docs/README.md. */
const publicUrls = ["us-east", "us-west"].flatMap((region) =>
  [2, 1].map((number) => `wss://jetstream${number}.${region}.bsky.network/subscribe`),
)

/** Most authors of a subscription. Source: bluesky-social/jetstream, docs/README.md. */
const didsMax = 10_000

/** Most authors that the address of `subscribeEvents` is to hold, which has no other place for them. Ours. */
const didsInUrlMax = 100

/** The settings of an entry. Throws an error whose message continues "The source NAME". */
export function blueskySettings(members: SourceMembers, env: Environment): BlueskySourceSettings {
  const reader = new SettingsReader(members, env)
  reader.name()
  const urls = reader.urls("urls", { protocols: ["wss:", "ws:"], example: publicUrls[0] ?? "" }) ?? publicUrls
  const taken = reader.texts("collections", { example: collections[0], oneOf: collections })
  const dids = reader.texts("dids", { example: "did:plc:z72i7hdynmk6r22z27h6tvur", max: didsMax, test: isDid })
  const languages = reader.texts("languages", { example: "en", test: isLanguage })
  const givesMediaUrls = reader.flag("mediaUrls", true)
  const isCompressed = reader.flag("compression", false)
  const profilesUrl = reader.optionalUrl("profiles", {
    protocols: ["https:", "http:"],
    example: "https://public.api.bsky.app",
  })
  reader.noOthers()
  if (isCompressed && !urls.every(isXrpc)) {
    throw new Error(
      "has compression and an address of /subscribe, which has none: write addresses that end in /xrpc/network.bsky.jetstream.subscribeEvents.",
    )
  }
  if (dids.length > didsInUrlMax && urls.some(isXrpc)) {
    throw new Error(
      `has ${dids.length} dids and an address of subscribeEvents, which takes at most ${didsInUrlMax}: write an address that ends in /subscribe.`,
    )
  }
  return {
    urls,
    collections: taken.length > 0 ? (taken as readonly Collection[]) : ["app.bsky.feed.post"],
    dids,
    languages,
    givesMediaUrls,
    isCompressed,
    profilesUrl,
  }
}

/** How the records become posts. */
export function blueskyConversion(settings: BlueskySourceSettings): ConverterSettings {
  const { languages, givesMediaUrls } = settings
  const takes = (collection: Collection): boolean => settings.collections.includes(collection)
  return {
    type: "bluesky",
    settings: {
      takesReposts: takes("app.bsky.feed.repost"),
      takesProfiles: takes("app.bsky.actor.profile"),
      looksUpProfiles: settings.profilesUrl !== undefined,
      givesMediaUrls,
      languages,
    },
  }
}

/** The position of a time, Unix ms. */
export function blueskyPositionAt(atMs: number): string {
  return String(atMs * 1_000)
}

/** Dependencies of the reader. */
export interface BlueskyReaderDeps {
  readonly clock: Clock
  /** Addresses that may be connected to. */
  readonly posture: OutboundPosture
}

/** Without an event for so long, a stream of all authors is lost. Ours: there are some 50 posts a second. */
const silenceMsMax = 30_000

/** Without a response to pings for so long, a connection is lost. Ours: three pings. */
const lifeMsMax = 45_000

/** Largest frame that is asked for. Ours: posts have a few KB. */
const frameBytesMax = 1_000_000

/** A first event so much later than the place that was asked for is the oldest that the host has. Ours. */
const clampUs = 60_000_000

/** Time between two positions of a stream of some authors when nothing comes. Ours. */
const positionMs = 30_000

/** How far such a position is before the moment: hosts give events some seconds late. Ours. */
const lateMs = 30_000

/** A host replays the time since a position of so late within seconds. Ours. */
const recentMs = 10 * 60_000

/** How long hosts keep events, less an hour. Source: bluesky-social/jetstream, docs/README.md: 36 h. */
const keptUs = 35 * 3_600_000_000

/** The hosts in turn, without those that have asked not to be connected to yet. */
class HostsInTurn {
  readonly #urls: readonly string[]
  readonly #clock: Pick<Clock, "nowMs">
  readonly #notBeforeMs = new Map<string, number>()
  #next = 0

  constructor(urls: readonly string[], clock: Pick<Clock, "nowMs">) {
    this.#urls = urls
    this.#clock = clock
  }

  /** The next one; when all are to be waited for, the one that asks for the shortest wait. */
  take(): string {
    const inTurn = this.#urls.map((_, at) => (this.#next + at) % this.#urls.length)
    const [at = 0] = inTurn.toSorted((a, b) => this.#waitMs(a) - this.#waitMs(b))
    this.#next = at + 1
    return this.#urls[at] ?? ""
  }

  /** A host has asked for a wait. Returns how long all are to be waited for. */
  refused(url: string, waitMs: number): number {
    this.#notBeforeMs.set(url, this.#clock.nowMs() + waitMs)
    return Math.min(...this.#urls.map((_, at) => this.#waitMs(at)))
  }

  #waitMs(at: number): number {
    return Math.max(0, (this.#notBeforeMs.get(this.#urls[at] ?? "") ?? 0) - this.#clock.nowMs())
  }
}

/** A reader of Jetstream. Each connection after a failure goes to the next host. */
export function createBlueskyReader(settings: BlueskySourceSettings, deps: BlueskyReaderDeps): RecordReader {
  const hosts = new HostsInTurn(settings.urls, deps.clock)
  const dictionaries = new Map<string, FrameDictionary>()
  const asked = new Set<string>()
  return {
    async read(position, sink, signal) {
      const url = hosts.take()
      const cursorUs = position === undefined ? undefined : Math.max(0, Number(position) - rewindUs)
      const dictionary = settings.isCompressed
        ? (dictionaries.get(url) ?? (await dictionaryOf(url, deps, signal)))
        : undefined
      if (dictionary !== undefined) dictionaries.set(url, dictionary)
      const notice = (said?: SourceNotice): void => sink.notice("profiles", said)
      const { profilesUrl } = settings
      await using profiles =
        profilesUrl === undefined ? undefined : new ProfileLookups({ ...deps, url: profilesUrl, asked, notice })
      try {
        await new Reading(settings, deps, { url, cursorUs, sink, dictionary, profiles }).run(signal)
      } catch (error) {
        // The host may have another dictionary now.
        if (error instanceof SourceRefused) dictionaries.delete(url)
        if (!(error instanceof AdvisedError) || error.waitMs === 0) throw error
        // The other hosts are not to be waited for.
        throw new AdvisedError(error.message, error.advice, { waitMs: hosts.refused(url, error.waitMs), cause: error })
      }
    },
  }
}

/** The connection that is to be made, and where its records go. */
interface Connecting {
  readonly url: string
  readonly cursorUs: number | undefined
  readonly sink: RecordSink
  /** Absent for frames that are not compressed. */
  readonly dictionary: FrameDictionary | undefined
  /** Absent when authors are not looked up. */
  readonly profiles: ProfileLookups | undefined
}

/** One connection. */
class Reading {
  readonly #settings: BlueskySourceSettings
  readonly #deps: BlueskyReaderDeps
  readonly #url: string
  readonly #cursorUs: number | undefined
  readonly #sink: RecordSink
  readonly #dictionary: FrameDictionary | undefined
  readonly #profiles: ProfileLookups | undefined
  /** Until the first event tells whether the host began where it was asked to. */
  #isClampOpen: boolean
  /** The host says that it begins later. */
  #isOutdated = false
  /** The host has nothing left to replay, or little: it began with what comes, or has come to that. */
  #isLive: boolean
  /** When the last frame was taken, or the time of a later position, Unix ms. */
  #takenAtMs: number
  /** The sink takes one record at a time. */
  #isTaking = false
  #positionTaken: Promise<void> | undefined

  constructor(
    settings: BlueskySourceSettings,
    deps: BlueskyReaderDeps,
    { url, cursorUs, sink, dictionary, profiles }: Connecting,
  ) {
    this.#settings = settings
    this.#deps = deps
    this.#url = url
    this.#cursorUs = cursorUs
    this.#sink = sink
    this.#dictionary = dictionary
    this.#profiles = profiles
    this.#isClampOpen = cursorUs !== undefined
    this.#takenAtMs = deps.clock.nowMs()
    this.#isLive = cursorUs === undefined || this.#takenAtMs - cursorUs / 1_000 < recentMs
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, posture } = this.#deps
    const isFiltered = this.#settings.dids.length > 0
    await using socket = await openWebSocket(
      {
        url: subscriptionUrl(this.#url, this.#settings, { cursorUs: this.#cursorUs, dictionary: this.#dictionary }),
        posture,
        clock,
        silenceMsMax: lifeMsMax,
        messageBytesMax: frameBytesMax * 2,
        ...(!isFiltered && { messageSilenceMsMax: silenceMsMax }),
      },
      signal,
    )
    if (saysHello(this.#url, this.#settings)) socket.send(helloOf(this.#settings))
    this.#sink.connected(socket.host)
    const ended = new AbortController()
    const keeping = isFiltered ? this.#keepPosition(socket, AbortSignal.any([signal, ended.signal])) : undefined
    try {
      for await (const message of socket) {
        this.#isTaking = true
        await this.#positionTaken
        await this.#take(this.#textOf(message), socket.host)
        this.#isTaking = false
        this.#takenAtMs = clock.nowMs()
      }
    } finally {
      ended.abort()
      // When the source is driven by another process by now, nothing can be written.
      await keeping?.catch(() => undefined)
    }
  }

  /** Has the position of a live stream of some authors move on while none of them writes, so that it does not grow too old. */
  async #keepPosition(socket: ReadableWebSocket, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps
    while (!signal.aborted) {
      await clock.sleep(positionMs, signal)
      const untilMs = socket.takenUntilMs - lateMs
      // No position may be behind that of a frame.
      if (signal.aborted || !this.#isLive || this.#isTaking || untilMs <= this.#takenAtMs) continue
      this.#takenAtMs = untilMs
      this.#positionTaken = this.#sink.take(positionFrame(untilMs * 1_000))
      await this.#positionTaken
    }
  }

  /** The text of a frame. One that cannot be decompressed is passed on as it came, and becomes a dead letter. */
  #textOf({ bytes, isBinary }: WebSocketMessage): Buffer {
    if (this.#dictionary === undefined || !isBinary) return bytes
    return decompressedFrame(bytes, this.#dictionary, frameBytesMax * 2) ?? bytes
  }

  async #take(bytes: Buffer, host: string): Promise<void> {
    if (isXrpc(this.#url)) {
      const notice = noticeOf(bytes.toString("utf8"))
      if (notice !== undefined) return this.#heed(notice, host)
    }
    const isToBeLive = !this.#isLive && this.#settings.dids.length > 0
    const timeUs = this.#isClampOpen || isToBeLive ? timeUsIn(bytes) : undefined
    if (this.#isClampOpen) await this.#noteClamp(timeUs)
    if (isToBeLive && timeUs !== undefined) this.#isLive = this.#deps.clock.nowMs() - timeUs / 1_000 < lateMs
    this.#profiles?.note(bytes)
    for (const profile of this.#profiles?.take() ?? []) await this.#sink.take(profile)
    await this.#sink.take(bytes)
  }

  async #heed({ kind, name, message }: Notice, host: string): Promise<void> {
    if (kind === "error") throw new AdvisedError(`${host} says ${name}: ${message || "no more"}.`, adviceOn(name))
    if (name === "OutdatedCursor") this.#isOutdated = true
  }

  /**
   * A host that no longer has the events that were asked for begins with the oldest that it has, and not every host says so.
   * Either way the gap ends at the first event: what comes from there on is read.
   */
  async #noteClamp(timeUs: number | undefined): Promise<void> {
    if (timeUs === undefined || this.#cursorUs === undefined) return
    this.#isClampOpen = false
    const isQuiet = this.#settings.dids.length > 0 && this.#deps.clock.nowMs() * 1_000 - this.#cursorUs < keptUs
    if (this.#isOutdated || (timeUs - this.#cursorUs > clampUs && !isQuiet)) await this.#noteGap(timeUs / 1_000)
  }

  async #noteGap(toMs: number): Promise<void> {
    const fromMs = Math.floor((this.#cursorUs ?? 0) / 1_000)
    await this.#sink.gap({
      fromMs,
      toMs: Math.floor(toMs),
      reason: "The host no longer had the events behind the position, and began with the oldest that it had.",
    })
  }
}

function isXrpc(url: string): boolean {
  return new URL(url).pathname.startsWith("/xrpc/")
}

/** Many authors go into a first message of `/subscribe`. */
function saysHello(url: string, { dids }: BlueskySourceSettings): boolean {
  return !isXrpc(url) && dids.length > didsInUrlMax
}

/** The first message. Source: bluesky-social/jetstream, docs/README.md, "Subscriber sourced messages". */
function helloOf({ collections: wantedCollections, dids: wantedDids }: BlueskySourceSettings): string {
  return JSON.stringify({
    type: "options_update",
    payload: { wantedCollections, wantedDids, maxMessageSizeBytes: frameBytesMax },
  })
}

function subscriptionUrl(
  address: string,
  settings: BlueskySourceSettings,
  { cursorUs, dictionary }: Pick<Connecting, "cursorUs" | "dictionary">,
): string {
  const url = new URL(address)
  const { searchParams } = url
  if (isXrpc(address)) {
    for (const kind of ["commit", "identity", "account"]) searchParams.append("kinds", kind)
    for (const collection of settings.collections) searchParams.append("collections", collection)
    for (const did of settings.dids) searchParams.append("dids", did)
  } else if (saysHello(address, settings)) {
    searchParams.set("requireHello", "true")
  } else {
    for (const collection of settings.collections) searchParams.append("wantedCollections", collection)
    for (const did of settings.dids) searchParams.append("wantedDids", did)
  }
  searchParams.set("maxMessageSizeBytes", String(frameBytesMax))
  if (cursorUs !== undefined) searchParams.set("cursor", String(cursorUs))
  if (dictionary !== undefined) searchParams.set("zstdDictionary", String(dictionary.id))
  return url.href
}

/** The time of an event, in microseconds; undefined for what is none. */
function timeUsIn(bytes: Buffer): number | undefined {
  try {
    const { position } = placeOf(JSON.parse(bytes.toString("utf8")) as Parameters<typeof placeOf>[0])
    return position === undefined ? undefined : Number(position)
  } catch {
    return undefined
  }
}

function adviceOn(name: string): string {
  if (name === "ConsumerTooSlow") return "Sluice read too slowly for this host, and goes on behind what it has stored."
  return "Compare the settings of the source with the documentation of the host."
}
