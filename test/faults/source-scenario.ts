/**
 * A source under full load: a peer gives posts without pause, processes that read from it come and go, and all posts match a
 * rule and go to an endpoint.
 *
 *     peer ─► process, killed and started again ─► store ─► endpoint
 *       └──────────── compared ────────────────────┴──────────┘
 */
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { expect } from "vitest"
import { startPeer, type PeerKind, type SourcePeer } from "../../packages/server/src/sources/source-peers.testing.ts"
import { idsOf } from "../../packages/server/src/sources/stored-ids.testing.ts"
import {
  readStore,
  type StoreContents,
  type StorePlace,
} from "../../packages/server/src/sources/store-contents.testing.ts"
import { createTestDatabase } from "../../packages/server/src/store/cluster/connection/postgres.testing.ts"
import { whyNoPostgres } from "../support/postgres.testing.ts"
import { SluiceProcess } from "../support/sluice-process.testing.ts"
import { TcpProxy } from "../support/tcp-proxy.testing.ts"
import { temporaryDirectory } from "../support/temporary-directory.testing.ts"
import { WebhookReceiver } from "../support/webhook-receiver.testing.ts"
import { AppClient, waitFor } from "./app-client.ts"

/** The store of a scenario. */
export type StoreKind = StorePlace["kind"]

/** The stores that can be tested here. */
export const testedStores: readonly StoreKind[] =
  (await whyNoPostgres()) === undefined ? ["embedded", "postgres"] : ["embedded"]

/** A batch: as many posts may be stored behind a position. Source: ingest/post-batches.ts. */
const batchPosts = 500

/** Messages that a source may hold unacknowledged. Source: sources/flow-bounds.ts. */
const messagesInFlight = 2_000

/** Deliveries that a kill may repeat: those in flight, and those whose outcome is not saved. Source: `deliveriesPerLinkMax`. */
const repeatsPerKill = 64

/** Longest time until everything that was given is delivered. Redis gives what a dead consumer held after half a minute. */
const settleMsMax = 900_000

/** Posts that are given together. */
const burstPosts = 100

/** An instance is read again from ten seconds before, forty posts at a time. */
const mastodonBurstPosts = 30

/** Posts that are given before other work gets its turn. */
const chunkPosts = 50

/** Posts that a process reads before the first fault. */
const firstPosts = 100

/**
 * The gap of a source of Mastodon whose processes were killed for a minute before they knew that they were subscribed, which
 * takes two seconds: edits and deletions of that time are lost, and posts are not.
 */
export const isOfEdits = /Edits and deletions of this time are lost/

/** The parts of a scenario. */
interface Parts {
  readonly kind: PeerKind
  readonly peer: SourcePeer
  readonly place: StorePlace
  readonly directory: string
  readonly env: Readonly<Record<string, string>>
  readonly network: TcpProxy
  readonly resources: AsyncDisposableStack
}

/** Options of a scenario. */
interface ScenarioOptions {
  readonly store: StoreKind
  /** The peer, which the caller disposes of; absent: one of the kind. */
  readonly peer?: SourcePeer
  /** The network buffers without bound; true leaves it out. */
  readonly isDirect?: boolean
}

/** A running scenario. */
export class SourceScenario implements AsyncDisposable {
  readonly peer: SourcePeer
  readonly #parts: Parts
  readonly #delivered = new Set<string>()
  #receiver: WebhookReceiver | undefined
  #webhookId = ""
  #given = 0
  /** The number of the last post up to the position: it never goes back. */
  #reached = 0
  /** Most posts that a store held behind the position, or behind what the broker has acknowledged. */
  behindSeen = 0

  /** Starts a peer, and has a first process make the app, and read some posts. */
  static async start(
    kind: PeerKind,
    { store, peer: givenPeer, isDirect = false }: ScenarioOptions,
  ): Promise<SourceScenario> {
    await using resources = new AsyncDisposableStack()
    const directory = resources.use(await temporaryDirectory())
    const peer = givenPeer ?? resources.use(await startPeer(kind))
    const network = resources.use(await TcpProxy.to(peer.port))
    const { sources, env } = peer.settingsAt(isDirect ? peer.port : network.port)
    const config = join(directory.path, "sluice.json")
    await writeFile(config, JSON.stringify({ sources }))
    const data = join(directory.path, "data")
    await mkdir(data)
    const place: StorePlace =
      store === "embedded" ? { kind: store, data } : { kind: store, url: resources.use(await createTestDatabase()).url }
    const scenario = new SourceScenario({
      kind,
      peer,
      place,
      directory: data,
      env: { SLUICE_CONFIG: config, SLUICE_SEARCH: "off", ...env },
      network,
      resources: resources.move(),
    })
    try {
      await scenario.#begin()
      return scenario
    } catch (error) {
      await scenario[Symbol.asyncDispose]()
      throw error
    }
  }

  private constructor(parts: Parts) {
    this.#parts = parts
    this.peer = parts.peer
  }

  /** Posts that the peer has given. */
  get given(): number {
    return this.#given
  }

  /** The network between processes and the peer. */
  get network(): TcpProxy {
    return this.#parts.network
  }

  /** Posts of a burst. */
  get burst(): number {
    return this.#parts.kind === "mastodon" ? mastodonBurstPosts : burstPosts
  }

  /** Deliveries that arrived, repeats included. */
  get arrived(): number {
    return this.#receiver?.received.length ?? 0
  }

  /** Deliveries of posts, by their texts: the events of each. */
  get received(): readonly { readonly eventId: string; readonly text: string }[] {
    return (this.#receiver?.received ?? []).map(({ eventId, body }) => {
      const { data } = JSON.parse(body) as { data: { text: string } }
      return { eventId, text: data.text }
    })
  }

  /** Starts a process; a store in PostgreSQL is reached at a port. */
  spawn(storePort?: number): SluiceProcess {
    const { place, directory, env } = this.#parts
    if (place.kind === "embedded") return new SluiceProcess(directory, { env })
    const url = new URL(place.url)
    if (storePort !== undefined) url.port = String(storePort)
    return new SluiceProcess(directory, { env, database: url.href })
  }

  /** Has the peer give so many more posts, as fast as it can. */
  async give(posts: number): Promise<void> {
    const to = this.#given + posts
    while (this.#given < to) {
      const next = Math.min(to, this.#given + chunkPosts)
      await this.peer.give(this.#given + 1, next)
      this.#given = next
      await setImmediate()
    }
  }

  /** Resolves when a process is connected to the peer. */
  async connected(): Promise<void> {
    await waitFor(
      () => this.network.open,
      (count) => count > 0,
    )
  }

  /** Resolves when more deliveries than these have arrived. */
  async deliveredMore(than: number): Promise<void> {
    await waitFor(
      () => this.arrived,
      (count) => count > than,
    )
  }

  /** Resolves when every post that was given has arrived at the endpoint. */
  async delivered(): Promise<void> {
    await waitFor(
      () => this.#delivered.size,
      (count) => count >= this.#given,
      settleMsMax,
    )
  }

  /** The store, past the server. */
  contents(): Promise<StoreContents> {
    return readStore(this.#parts.place)
  }

  /**
   * No process runs and nothing is given: the position, or the last acknowledgement, is not ahead of the stored posts, and
   * behind them by what is promised at most.
   */
  async expectPlace(): Promise<void> {
    const { numbers, position } = await this.contents()
    const { progress } = this.peer
    if (progress.kind === "positioned") {
      const reached = progress.reached(position)
      // In order, so without a hole: everything up to the position is there.
      expect(numbers).toEqual(idsOf(1, numbers.length))
      expect(reached).toBeLessThanOrEqual(numbers.length)
      expect(reached).toBeGreaterThanOrEqual(this.#reached)
      this.#reached = reached
      this.#noteBehind(numbers.length - reached, batchPosts)
      return
    }
    const acknowledged = this.given - (await progress.unacknowledged())
    expect(acknowledged).toBeLessThanOrEqual(numbers.length)
    this.#noteBehind(numbers.length - acknowledged, messagesInFlight)
  }

  /**
   * A process runs and nothing more is given: everything arrives, and is stored and matched once. Ends the process. Returns
   * how many deliveries were repeated.
   */
  async expectAll(server: SluiceProcess, kills: number): Promise<number> {
    await this.delivered()
    const { total, gaps } = await new AppClient(await server.mustBeReady()).caughtUp(this.#webhookId)
    expect({ ...total, gaps }).toMatchObject({ delivered: this.given, dead_letters: 0, missed: 0, gaps: [] })
    server.end("SIGTERM")
    expect((await server.ended()).code).toBe(0)
    const { numbers, postIds, matchedIds, gaps: lost, deadLetters } = await this.contents()
    expect(numbers).toEqual(idsOf(1, this.given))
    expect(matchedIds).toEqual(postIds)
    expect(new Set(matchedIds).size).toBe(matchedIds.length)
    expect({ lost: lost.filter((reason) => !isOfEdits.test(reason)), deadLetters }).toEqual({
      lost: [],
      deadLetters: 0,
    })
    const { progress } = this.peer
    if (progress.kind === "acknowledged") expect(await progress.deadLetters()).toBe(0)
    expect([...new Set(this.#receiver?.postIds)].toSorted()).toEqual(postIds)
    expect(this.#delivered.size).toBe(this.given)
    const repeats = this.arrived - this.given
    expect(repeats).toBeLessThanOrEqual(kills * repeatsPerKill)
    return repeats
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.resources.disposeAsync()
  }

  async #begin(): Promise<void> {
    await using server = this.spawn()
    const app = new AppClient(await server.mustBeReady())
    const receiver = this.#parts.resources.use(await WebhookReceiver.start(app.consumerSecret))
    this.#receiver = receiver
    receiver.statusOf = ({ eventId }) => {
      this.#delivered.add(eventId)
      return 200
    }
    expect((await app.addRule("heron")).status).toBe(201)
    this.#webhookId = await app.link(receiver.url)
    await waitFor(
      () => this.peer.isFollowed(),
      (isFollowed) => isFollowed,
    )
    await this.give(firstPosts)
    await this.delivered()
    server.end("SIGTERM")
    expect((await server.ended()).code).toBe(0)
  }

  #noteBehind(behind: number, max: number): void {
    expect(behind).toBeLessThanOrEqual(max)
    this.behindSeen = Math.max(this.behindSeen, behind)
  }
}
