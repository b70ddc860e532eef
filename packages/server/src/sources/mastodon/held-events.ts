/**
 * Events that came while timelines were read, in order. They are bounded: beyond the bound posts are dropped as long as
 * timelines are being read, because those have them, and what has no other place is kept. Afterwards nothing is dropped:
 * the connection waits until there is room.
 */
import { compareStatusIds, isOfNewStatus } from "./mastodon-position.ts"
import type { StreamEvent } from "./stream-event.ts"

/** Most events that are held, and most bytes. Ours. */
const eventsMax = 4_000
const bytesMax = 16 * 1024 * 1024

/** Holds events until they are taken. */
export class HeldEvents {
  #events: StreamEvent[] = []
  #bytes = 0
  /** The id of the first held post that was new when it came, by the name of the stream: no later one is in the timeline alone. */
  readonly #first = new Map<string, string>()

  #room = Promise.withResolvers<void>()
  #mayDrop = true

  /** How often posts were dropped. */
  drops = 0

  /** Holds an event. Returns false when there is no room for another one. */
  add(event: StreamEvent): boolean {
    this.#events.push(event)
    this.#bytes += event.bytes
    const { post, receivedMs } = event
    if (post !== undefined && !this.#first.has(post.stream) && isOfNewStatus(post.id, receivedMs)) {
      this.#first.set(post.stream, post.id)
    }
    if (this.#isFull && this.#mayDrop) this.#dropPosts()
    return !this.#isFull
  }

  /** Drops no post from now on: the timelines are read, and nothing reads them again. */
  keepAll(): void {
    this.#mayDrop = false
  }

  /** Resolves when there is room for another event. */
  async room(): Promise<void> {
    while (this.#isFull) await this.#room.promise
  }

  /** True when a new post of the stream is held that has this id or an older one. */
  hasFrom(stream: string, id: string): boolean {
    const first = this.#first.get(stream)
    return first !== undefined && compareStatusIds(id, first) >= 0
  }

  /** The next event, which is no longer held. */
  shift(): StreamEvent | undefined {
    const event = this.#events.shift()
    this.#bytes -= event?.bytes ?? 0
    this.#room.resolve()
    this.#room = Promise.withResolvers()
    return event
  }

  get #isFull(): boolean {
    return this.#events.length >= eventsMax || this.#bytes >= bytesMax
  }

  #dropPosts(): void {
    this.#events = this.#events.filter(({ post }) => post === undefined)
    this.#bytes = this.#events.reduce((sum, { bytes }) => sum + bytes, 0)
    this.#first.clear()
    this.drops += 1
  }
}
